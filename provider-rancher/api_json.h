// SPDX-License-Identifier: Apache-2.0
/*
 * JSON of Rancher's API to structs, and structs to request bodies. What comes in is foreign: members of a
 * wrong type count as absent, identifiers that could not stand in a URL make the resource
 * unusable, and nothing longer than its limit is taken. Texts point into the document. No I/O.
 */
#pragma once

#include "common/json.h"
#include "provider-rancher/addresses.h"
#include "provider-rancher/spec.h"

enum {
	API_ID_LEN_MAX = 32,
	API_NAME_LEN_MAX = 255,
	API_TEXT_LEN_MAX = 2048, /* messages for people */
	API_RULES_MAX = 64 * 1024,
};

/* Where the digest of the certificates' contents stands in the metadata of a load balancer. */
#define API_CONTENTS_KEY "sluice.certificates"

enum server_state {
#define SERVER_STATE(id, word, put, lasts) SERVER_STATE_##id,
#include "provider-rancher/server_states.def"
#undef SERVER_STATE
	SERVER_STATE_COUNT,
};

enum server_put { SERVER_PUT_TAKES, SERVER_PUT_REFUSES, SERVER_PUT_GOING, SERVER_PUT_GONE };

const char *server_state_word(enum server_state state);
enum server_put server_state_put(enum server_state state);
bool server_state_lasts(enum server_state state);

/* Of any resource. */
enum transitioning { TRANSITIONING_NO, TRANSITIONING_YES, TRANSITIONING_ERROR };

struct rancher_lb {
	struct str id;
	struct str name;
	struct str stack_id;
	struct str external_id;
	enum server_state state;
	enum transitioning transitioning;
	struct str message; /* of the transition */
	bool is_whole; /* lbConfig, launchConfig and the rest are there: not an abridged copy */
	struct lb_spec spec;
	bool has_foreign_metadata;
	struct str image;
	struct str fqdn;
	struct endpoint *endpoints;
	size_t endpoint_count;
};

struct rancher_stack {
	struct str id;
	struct str name;
	struct str external_id;
	enum server_state state;
	struct str state_word;
};

struct rancher_certificate {
	struct str id;
	struct str name;
	struct str description;
	struct str chain; /* PEM */
	bool is_gone;     /* removed, or about to be */
};

struct rancher_service {
	struct str id;
	struct str uid; /* of the Kubernetes Service */
	bool is_gone;
};

struct rancher_error {
	struct str code;
	struct str field;
	struct str message;
};

/* NULL, or a static text that says why the resource cannot be used. Lists live in the arena. */
const char *api_read_lb(const struct json *value, struct arena *arena, struct rancher_lb *ret_lb);
const char *api_read_stack(const struct json *value, struct rancher_stack *ret_stack);
const char *api_read_certificate(const struct json *value, struct rancher_certificate *ret);
const char *api_read_service(const struct json *value, struct rancher_service *ret_service);
/* Whatever can be had from an error body; all may be absent. */
void api_read_error(const struct json *value, struct rancher_error *ret_error);
/* The value of a setting; absent when it is missing or empty. */
struct str api_read_setting(const struct json *value);
/* The items of a list, NULL when it is none, and pagination.next (absent: the last page). */
const struct json *api_read_page(const struct json *value, struct str *ret_next);

/* A published port, [ip:]public[:private][/protocol]; which address it is bound to is not our business. */
bool api_read_published(struct str text, struct published_port *ret_port);

/* The body of a request that makes a load balancer. */
struct api_creation {
	struct str name;
	struct str stack_id;
	const char *external_id_prefix;
	struct str image;
};
void api_write_creation(struct json *body, const struct api_creation *creation,
	const struct lb_spec *spec, struct arena *arena);

/* Members of request bodies. */
void api_write_lb_config(struct json *body, const struct lb_spec *spec);
/* For a new load balancer; public for tests only. */
void api_write_launch_config(struct json *body, const struct lb_spec *spec, struct str image);
/* For one that exists: `there` is the launchConfig just read, all of which is sent back. */
void api_change_launch_config(
	struct json *body, const struct json *there, const struct lb_spec *spec);
/* `there` is the metadata just read; NULL: there is none. */
void api_write_metadata(struct json *body, const struct json *there, const struct lb_spec *spec);
