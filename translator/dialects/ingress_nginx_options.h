// SPDX-License-Identifier: Apache-2.0
/*
 * The global options of kubernetes/ingress-nginx: what its ConfigMap says for all Ingresses of the dialect (ingress_nginx_options.def). Checked once, in
 * ingress_nginx_configmap.h, when the ConfigMap changes; here they are handed out. Pure.
 */
#pragma once

#include "translator/dialects/ingress_nginx_values.h"

enum nginx_own {
#define NGINX_OWN(member_, ...) NGINX_OWN_##member_,
#include "translator/dialects/ingress_nginx_options.def"
	NGINX_OWN_COUNT,
};

struct nginx_options {
	struct str map;                               /* NAMESPACE/NAME of the ConfigMap */
	struct nginx_value defaults[NGINX_ROW_COUNT]; /* of annotations */
	struct nginx_value own[NGINX_OWN_COUNT];
	LIST_OF(struct config_entry) add_headers; /* of answers */
	LIST_OF(struct config_entry) set_headers; /* of requests; values with nginx's variables */
	struct str_list hidden;                   /* headers of answers */
	struct str_list blocked;                  /* networks that nobody serves */
	struct str_list trusted;                  /* networks of proxies in front */
	bool trusts_nobody;                       /* that list cannot be used */
	/* The field of an option that protects, and cannot be used; NULL: none. */
	const char *closed_by;
	const char *auth_closed_by; /* likewise, of the authentication for all */
};

enum nginx_option_type { NGINX_TYPE_DEFAULT, NGINX_TYPE_AUTH, NGINX_TYPE_OWN, NGINX_TYPE_UNHEEDED };

struct nginx_option_spec {
	const char *key;
	const char *usual; /* NULL: none */
	enum nginx_option_type type;
	int index; /* enum nginx_row or enum nginx_own, by the type */
	enum nginx_verdict on_nginx;
	enum nginx_verdict on_haproxy;
	const char *note; /* NULL: none */
};
/* The rows of the table, in its order. */
extern const struct nginx_option_spec nginx_option_specs[];
extern const size_t nginx_option_spec_count;
/* NULL: the original has no such option. */
const struct nginx_option_spec *nginx_option_find(struct str key);
/* How a value of it has to look; NULL for what is not heeded. */
const struct nginx_spec *nginx_option_form(const struct nginx_option_spec *spec);

/* What the Ingress does not say is what the options say. `options` NULL: nothing changes. The owner is told when an option that protects cannot be used. */
void nginx_options_apply(const struct nginx_options *options, const struct nginx_teller *teller,
	struct nginx_values *values);

/* `options` may be NULL. */
bool nginx_option_is_on(const struct nginx_options *options, enum nginx_own own, bool otherwise);
int64_t nginx_option_number(
	const struct nginx_options *options, enum nginx_own own, int64_t otherwise);
struct str nginx_option_text(
	const struct nginx_options *options, enum nginx_own own, const char *otherwise);
/* The field that names the option in diagnostics of an Ingress. */
const char *nginx_option_field(
	const struct nginx_options *options, struct str key, struct arena *arena);
