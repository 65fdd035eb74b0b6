// SPDX-License-Identifier: Apache-2.0
/*
 * What an Ingress asks for its requests, in whichever dialect it was written: the policy of its rules, and what else its rules do or need. A dialect
 * (dialects/) fills it in from annotations, plan_rules.c puts it into the claims of paths, and the engine makes a policy object of it. Pure data: views of
 * the record, or in the arena of the plan.
 */
#pragma once

#include "proto/model.h"

/* Which requests go to the pools of this Ingress instead of those that another one has for the same host and path. */
struct canary_settings {
	struct str header; /* lower case; empty: none */
	/* Both empty: the words "always" and "never" decide. */
	struct str header_value;
	struct str header_regex;
	struct str cookie;     /* "always" and "never" decide; empty: none */
	uint64_t weight;       /* of `weight_total`; not greater than that */
	uint64_t weight_total; /* at least 1 */
	bool keeps_sessions;   /* see struct rule_canary */
	bool is_loose;         /* likewise */
};

/* Which certificates of clients the hosts of an Ingress want. */
struct client_wish {
	struct str secret; /* with the authorities; in the namespace of the Ingress */
	enum client_verify verify;
	uint64_t depth;     /* as in struct client_tls */
	struct str subject; /* regular expression; empty: any */
	LIST_OF(struct piece) error_location;
	struct str error_path; /* in its place: of the host; empty: none */
	bool is_passed;
	bool is_unasked; /* none, but their backends hear so */
};

/* Where requests over plain HTTP go if another Ingress has a certificate for the host. */
struct tls_redirect {
	uint64_t status; /* 0: nowhere else */
	uint64_t port;   /* 0: it is not said */
	bool without_slash;
};

/* What all claims of paths of an Ingress have in common, or all but those whose paths are not rewritten. */
struct claim_route {
	struct str policy;               /* id; empty: none */
	const struct redirect *app_root; /* of the host, see route_settings */
	struct tls_redirect tls_redirect;
	bool has_tls;                           /* its Ingress has certificates for its hosts */
	const struct redirect *redirect;        /* NULL: none */
	const struct fixed_answer *answer;      /* likewise */
	const struct canary_settings *canary;   /* NULL: the claims are its own */
	const struct client_wish *client;       /* of their hosts; NULL: none */
	const struct host_handshake *handshake; /* likewise */
	bool is_regex;                          /* paths are regular expressions */
	bool is_decoded;
	bool is_closed;
	bool is_unlogged;
	bool has_cookie_path; /* see struct path_rule */
};

/* Which annotation asked for a word, for messages. */
struct route_asked {
	uint64_t word; /* one bit of enum policy_bit */
	const char *
		field; /* NULL: nobody, the dialect does it by itself; such as "metadata.annotations[sluice.io/redirect]" */
};

/* Ports as in struct plan_pool: of a Service of which only the name is said, and behind those of one that is spoken to over TLS, whoever it is. */
#define ROUTE_FIRST_PORT "first:"
#define ROUTE_HTTPS      "+https"
/* Behind the port of a host outside the cluster, which stands where the name of a Service does; of these none has a dot. */
#define ROUTE_FOREIGN "+foreign"

/* A Service that a policy names. */
struct route_pool {
	struct str id;        /* as the policy has it */
	struct str namespace; /* of the Service */
	struct str service;
	struct str port; /* as in struct plan_pool */
	bool is_https;   /* by ROUTE_HTTPS; otherwise as its port says */
	bool is_foreign; /* a host outside the cluster, which has to prove that it is it */
};

/* By what endpoints are chosen. */
struct route_hash {
	LIST_OF(struct piece) key;
	uint64_t subset; /* so many endpoints for each value; 0: one */
};

struct route_settings {
	/* Words that a provider must have for what is asked for here: dialect_ask() adds to both. */
	uint64_t needs; /* bits of enum policy_bit */
	LIST_OF(struct route_asked) asked;
	struct policy
		policy; /* without key and `ingress`; basic_auth->users is the id of the object */
	const struct route_hash *hash; /* NULL: they take turns */
	bool prefers_fastest;          /* see struct pool */
	/* Among them those that the policy names; dialect_add_pool() adds to them. */
	LIST_OF(struct route_pool) pools;
	struct str
		users_secret; /* name of the Secret that basic_auth->users is made of; empty: none */
	bool users_are_keys; /* each key of it is a user, its value the hash; otherwise its key `auth` has lines NAME:HASH */
	const struct redirect *redirect;        /* takes the place of the pools; NULL: none */
	const struct fixed_answer *answer;      /* likewise */
	const struct canary_settings *canary;   /* NULL: its rules are its own */
	const struct client_wish *client;       /* of its hosts; NULL: none */
	const struct host_handshake *handshake; /* likewise */
	bool has_regex; /* its paths are regular expressions; makes those of all Ingresses on the host such */
	struct str
		kept_path; /* of a rewrite, which is not done for it; empty: it is done for all */
	struct str
		rewrite_header; /* of policy.request_headers, which belongs to the rewrite; empty: none */
	bool kept_is_two;       /* what is below such a path is rewritten to it */
	bool is_decoded;        /* paths are compared decoded */
	bool is_unlogged;       /* the access log has no lines for its requests */
	/* What belongs to its hosts, for dialects that have it. The rules are made by plan_rules.c. */
	/* What the path "/" itself is answered with; NULL: nothing else. Of several for a host that of the longest path counts. */
	const struct redirect *app_root;
	struct tls_redirect tls_redirect;
	bool has_tls;
	struct str_list aliases; /* more names of its first host; checked */
	uint64_t www_status;     /* of the redirect that follows, if there is one */
	bool has_www_redirect;   /* its hosts with "www." before them, or without, lead to them */
	/* The path of a rule that ends in a slash is where requests for the same without it are sent to: to the origin, or to a path where there is none. */
	bool has_slash_redirects;
	LIST_OF(struct piece) slash_origin;
	bool default_is_of_hosts; /* spec.defaultBackend takes requests for hosts of its rules only, where there are rules */
	bool is_closed; /* a guard has a value that cannot be used: all of its rules answer 503 */
};
