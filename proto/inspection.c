// SPDX-License-Identifier: Apache-2.0
#include "proto/inspection.h"

#include "common/xalloc.h"
#include "proto/frame.h"

#include <errno.h>
#include <msgpack.h>
#include <stdio.h>

enum {
	NAME_LEN_MAX = 320, /* namespace/name */
	TEXT_LEN_MAX = 16 * 1024,
	ITEMS_MAX = 64 * 1024,
};
#define NUMBER_MAX UINT64_C(0xffffffffff)

#define ROW(type_, struct_, member_, key_, limit_)                                               \
	{                                                                                        \
		SCHEMA_KEY(key_), .type = SCHEMA_##type_,                                        \
				  .offset = offsetof(struct struct_, member_), .limit = (limit_) \
	}
#define WORDS(struct_, member_, key_, words_)                                                    \
	{                                                                                        \
		SCHEMA_KEY(key_), .type = SCHEMA_ENUM,                                           \
				  .offset = offsetof(struct struct_, member_), .words = (words_) \
	}
#define NESTED(struct_, member_, key_, sub_)                                                       \
	{                                                                                          \
		SCHEMA_KEY(key_), .type = SCHEMA_LIST,                                             \
				  .offset = offsetof(struct struct_, member_), .limit = ITEMS_MAX, \
				  .sub = &(sub_)                                                   \
	}
#define SCHEMA(name_, struct_, fields_)                                               \
	{                                                                             \
		.name = (name_), .size = sizeof(struct struct_), .fields = (fields_), \
		.count = sizeof(fields_) / sizeof((fields_)[0])                       \
	}

static const char *const match_words[] = {"implementation-specific", "prefix", "exact", NULL};
static const char *const event_words[] = {"normal", "warning", NULL};

static const struct schema_field peer_fields[] = {
	ROW(STR, inspection_peer, role, "role", NAME_LEN_MAX),
	ROW(STR, inspection_peer, name, "name", NAME_LEN_MAX),
	ROW(STR, inspection_peer, software, "software", TEXT_LEN_MAX),
	ROW(BOOL, inspection_peer, is_up, "up", 0),
	ROW(UINT, inspection_peer, since, "since", NUMBER_MAX),
	ROW(UINT, inspection_peer, waiting, "waiting", NUMBER_MAX),
};
static const struct schema peer_schema = SCHEMA("peer", inspection_peer, peer_fields);

static const struct schema_field count_fields[] = {
	ROW(STR, inspection_count, what, "what", NAME_LEN_MAX),
	ROW(UINT, inspection_count, count, "count", NUMBER_MAX),
};
static const struct schema count_schema = SCHEMA("count", inspection_count, count_fields);

static const struct schema_field status_fields[] = {
	ROW(STR, inspection_status, program, "program", NAME_LEN_MAX),
	ROW(STR, inspection_status, software, "software", TEXT_LEN_MAX),
	ROW(STR, inspection_status, missing, "missing", TEXT_LEN_MAX),
	ROW(UINT, inspection_status, started, "started", NUMBER_MAX),
	NESTED(inspection_status, peers, "peers", peer_schema),
	NESTED(inspection_status, counts, "counts", count_schema),
	ROW(STR, inspection_status, trouble, "trouble", TEXT_LEN_MAX),
};
const struct schema inspection_status_schema = SCHEMA("status", inspection_status, status_fields);

static const struct schema_field endpoint_fields[] = {
	ROW(STR, inspection_endpoint, address, "address", NAME_LEN_MAX),
	ROW(STR, inspection_endpoint, state, "state", NAME_LEN_MAX),
};
static const struct schema endpoint_schema =
	SCHEMA("endpoint", inspection_endpoint, endpoint_fields);

static const struct schema_field route_fields[] = {
	ROW(STR, inspection_route, listener, "listener", NAME_LEN_MAX),
	ROW(STR, inspection_route, host, "host", NAME_LEN_MAX),
	ROW(STR, inspection_route, path, "path", TEXT_LEN_MAX),
	WORDS(inspection_route, match, "match", match_words),
	ROW(BOOL, inspection_route, tls_only, "tls_only", 0),
	ROW(LIST_STR, inspection_route, excluded_hosts, "excluded_hosts",
		INSPECTION_EXCLUDED_HOSTS_MAX),
	ROW(BOOL, inspection_route, has_more_excluded, "more_excluded", 0),
	ROW(STR, inspection_route, service, "service", NAME_LEN_MAX),
	ROW(STR, inspection_route, port, "port", NAME_LEN_MAX),
	NESTED(inspection_route, endpoints, "endpoints", endpoint_schema),
	ROW(BOOL, inspection_route, is_served, "served", 0),
	ROW(STR, inspection_route, reason, "reason", NAME_LEN_MAX),
	ROW(STR, inspection_route, message, "message", TEXT_LEN_MAX),
};
static const struct schema route_schema = SCHEMA("route", inspection_route, route_fields);

static const struct schema_field problem_fields[] = {
	ROW(STR, inspection_problem, reason, "reason", NAME_LEN_MAX),
	ROW(STR, inspection_problem, message, "message", TEXT_LEN_MAX),
};
static const struct schema problem_schema = SCHEMA("problem", inspection_problem, problem_fields);

static const struct schema_field tls_fields[] = {
	ROW(LIST_STR, inspection_tls, hosts, "hosts", ITEMS_MAX),
	ROW(STR, inspection_tls, secret, "secret", NAME_LEN_MAX),
};
static const struct schema tls_schema = SCHEMA("tls", inspection_tls, tls_fields);

static const struct schema_field explanation_fields[] = {
	ROW(STR, inspection_explanation, kind, "kind", NAME_LEN_MAX),
	ROW(STR, inspection_explanation, namespace, "namespace", NAME_LEN_MAX),
	ROW(STR, inspection_explanation, name, "name", NAME_LEN_MAX),
	ROW(BOOL, inspection_explanation, is_ours, "ours", 0),
	ROW(STR, inspection_explanation, class_name, "class", NAME_LEN_MAX),
	ROW(STR, inspection_explanation, load_balancer, "load_balancer", 1024),
	ROW(STR, inspection_explanation, provider, "provider", NAME_LEN_MAX),
	ROW(STR, inspection_explanation, state, "state", NAME_LEN_MAX),
	ROW(STR, inspection_explanation, state_message, "state_message", TEXT_LEN_MAX),
	ROW(LIST_STR, inspection_explanation, addresses, "addresses", ITEMS_MAX),
	ROW(LIST_STR, inspection_explanation, listeners, "listeners", ITEMS_MAX),
	NESTED(inspection_explanation, routes, "routes", route_schema),
	NESTED(inspection_explanation, tls, "tls", tls_schema),
	NESTED(inspection_explanation, problems, "problems", problem_schema),
	ROW(STR, inspection_explanation, missing, "missing", TEXT_LEN_MAX),
};
const struct schema inspection_explanation_schema =
	SCHEMA("explanation", inspection_explanation, explanation_fields);

static const struct schema_field event_fields[] = {
	ROW(UINT, inspection_event, at, "at", NUMBER_MAX),
	WORDS(inspection_event, type, "type", event_words),
	ROW(STR, inspection_event, kind, "kind", NAME_LEN_MAX),
	ROW(STR, inspection_event, namespace, "namespace", NAME_LEN_MAX),
	ROW(STR, inspection_event, name, "name", NAME_LEN_MAX),
	ROW(STR, inspection_event, reason, "reason", NAME_LEN_MAX),
	ROW(STR, inspection_event, message, "message", TEXT_LEN_MAX),
};
const struct schema inspection_event_schema = SCHEMA("event", inspection_event, event_fields);

int inspection_encode(const struct schema *schema, const void *value, struct buf *out)
{
	struct schema_error error = {""};
	size_t before = buf_len(out);
	int err = schema_encode(schema, value, out, &error);
	if (err != 0)
		buf_cut(out, before);
	return err;
}

int inspection_encode_frame(const struct schema *schema, const void *value, struct buf *out)
{
	static const uint8_t none[FRAME_HEAD_LEN];
	size_t before = buf_len(out);
	int err = buf_append(out, none, sizeof(none));
	if (err == 0)
		err = inspection_encode(schema, value, out);
	size_t len = buf_len(out) - before - FRAME_HEAD_LEN;
	if (err == 0 && len > FRAME_LEN_MAX)
		err = -EMSGSIZE;
	if (err != 0) {
		buf_cut(out, before);
		return err;
	}
	uint8_t *head = out->data + out->start + before;
	head[0] = (uint8_t)(len >> 24);
	head[1] = (uint8_t)(len >> 16);
	head[2] = (uint8_t)(len >> 8);
	head[3] = (uint8_t)len;
	return 0;
}

int inspection_decode(const struct schema *schema, struct str bytes, struct arena *arena,
	void *ret_value, struct schema_error *ret_error)
{
	msgpack_unpacked unpacked;
	size_t at = 0;
	const char *problem = bytes.len > FRAME_LEN_MAX ? "too long" : frame_check(bytes);
	if (problem != NULL) {
		snprintf(ret_error->text, sizeof(ret_error->text), "%s", problem);
		return -EBADMSG;
	}
	msgpack_unpacked_init(&unpacked);
	msgpack_unpack_return got = msgpack_unpack_next(&unpacked, bytes.p, bytes.len, &at);
	if (got == MSGPACK_UNPACK_NOMEM_ERROR)
		xalloc_fail();
	int err = got == MSGPACK_UNPACK_SUCCESS
			  ? schema_decode(schema, &unpacked.data, arena, ret_value, ret_error)
			  : -EBADMSG;
	msgpack_unpacked_destroy(&unpacked);
	return err;
}
