// SPDX-License-Identifier: Apache-2.0
/*
 * The certificates of an Ingress. Each entry of spec.tls brings the certificate of its Secret;
 * clients choose among them by server name. A missing or unusable Secret is reported, and
 * everything else is served. Pure: the Secrets have been parsed before.
 */
#pragma once

#include "translator/plan.h"

/* How far the clock of an issuer may be ahead of ours: a certificate that has only just become valid there is not
 * reported. */
enum { TLS_SKEW_S = 5 * 60 };

struct tls_secret {
	const char *problem; /* NULL: usable; "": the Secret is missing */
	const struct str *names;
	size_t name_count;
	int64_t not_before; /* seconds since 1970 */
	int64_t not_after;
};

struct tls_context {
	/* Never NULL. */
	const struct tls_secret *(*find)(void *ctx, struct str namespace, struct str name);
	void *ctx;
	bool secrets_are_synced;      /* otherwise the watcher may not read Secrets */
	struct str default_namespace; /* of the administrator's default certificate */
	struct str default_name;      /* empty: none */
	bool default_is_made;         /* nobody trusts it */
	int64_t now_s;
	int64_t warn_s; /* how long before its expiry a certificate is reported */
};

/* The id of a certificate: "namespace/secret". */
struct str tls_certificate_id(struct arena *arena, struct str namespace, struct str name);
/* The administrator's default certificate if it is usable, otherwise empty. */
struct str tls_default_id(const struct tls_context *context, struct arena *arena);

struct tls_list {
	struct arena *arena;
	struct str *ids;
	size_t count;
	struct str first; /* of those that were added */
};

/* Adds the usable certificates of the plan. */
void tls_collect(const struct plan *plan, const struct tls_context *context, struct tls_list *list);
/* Reports what is wrong with the Secrets of the plan. */
void tls_check(const struct plan *plan, const struct tls_context *context, struct diag_list *diags);
/* The time from which it counts as valid. */
int64_t tls_valid_from(const struct tls_secret *secret);
/* When the result of tls_check() next changes with time alone: seconds since 1970, INT64_MAX for
 * never. */
int64_t tls_next_change(const struct tls_secret *secret, const struct tls_context *context);
