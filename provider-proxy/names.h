// SPDX-License-Identifier: Apache-2.0
/*
 * Names used in a proxy's configuration instead of anything that a tenant wrote: one letter and 80 bits of the SHA-256 digest of the
 * object's id in base 32. The same id gives the same name on every machine and after every restart, without a file to remember it; to
 * get the name of somebody else's object one would have to find a second preimage.
 */
#pragma once

#include "common/str.h"

enum { NAME_LEN = 17 };

/* The letters in use. */
enum {
	NAME_LOAD_BALANCER = 'l',
	NAME_HOST = 'h',
	NAME_DECODED_HOST = 'd', /* its paths are decoded */
	NAME_DECODED_PATHS =
		'e', /* with ROUTES_DIRECT, in place of that letter in the keys of its paths */
	NAME_ROUTE = 'r',
	NAME_POLICY = 'y',
	NAME_USERS = 'u',
	NAME_LISTS = 'k',
	NAME_POOL = 'p',
	NAME_CERTIFICATE = 'c',
	/* made from contents, see trust.h */
	NAME_AUTHORITY = 'a',
	NAME_CLIENT = 'i',
	NAME_TRUST = 't',
	NAME_TERMS = 'm',
};

struct name {
	char text[NAME_LEN + 1]; /* [a-z][a-z2-7]{16} */
};

struct name name_of(char letter, struct str id);
/* Whether the text has the form of such a name. */
bool name_is_one(char letter, struct str text);
/* 64 bits of the digest of several texts; absent and empty texts differ. For telling contents apart, on disk too. */
uint64_t name_digest(const struct str *texts, size_t count);

static inline struct str name_str(const struct name *name)
{
	return (struct str){name->text, NAME_LEN};
}
