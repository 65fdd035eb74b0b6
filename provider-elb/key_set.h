// SPDX-License-Identifier: Apache-2.0
/*
 * A set of credentials as the sources of credentials.h give it, and when it has to be renewed. No I/O.
 */
#pragma once

#include "common/json.h"
#include "common/secret.h"
#include "provider-elb/xml.h"

enum { KEY_SET_ID_LEN_MAX = 128 }; /* of the id of an access key */

struct key_set {
	char *access_key; /* NULL: none */
	struct secret secret_key;
	struct secret session_token; /* not set: none */
	int64_t expires_at_s;        /* Unix time; 0: never */
};

/* Wipes it. */
void key_set_fini(struct key_set *set);
bool key_set_is_same(const struct key_set *a, const struct key_set *b);

/* NULL, or what is wrong (static): a text is absent, empty, too long, or cannot stand in a header. `token` may be absent. *ret_set is unchanged on failure. */
const char *key_set_make(struct str access_key, struct str secret_key, struct str token,
	int64_t expires_at_s, struct key_set *ret_set);
/* The answer of instance metadata and of container credentials. NULL, or what is wrong (allocated); it may say what the server says. */
char *key_set_read_json(const struct json *document, struct key_set *ret_set);
/* The answer of sts:AssumeRoleWithWebIdentity. NULL, or what is wrong (static). */
const char *key_set_read_xml(const struct xml *answer, struct key_set *ret_set);
/* "2026-11-21T09:00:00Z", perhaps with a fraction, which is dropped, or with +00:00 in place of the Z. */
bool key_set_parse_time(struct str text, int64_t *ret_unix_s);

/* Seconds until it should be renewed: a quarter of an hour before its end, or after half of what is left when that is less. < 0: never. */
double key_set_renewal_s(const struct key_set *set, int64_t now_s);
bool key_set_has_expired(const struct key_set *set, int64_t now_s);
