// SPDX-License-Identifier: Apache-2.0
/* Small objects for the tests of provider-common, and their messages as a translator would send
 * them. */
#pragma once

#include "proto/frame.h"
#include "proto/message.h"

static inline struct load_balancer make_load_balancer(const char *id, const char *name)
{
	return (struct load_balancer){
		.key = {.kind = LB_LOAD_BALANCER, .id = str_from(id)},
		.namespace = STR("default"),
		.name = str_from(name),
	};
}

static inline struct virtual_host make_host(
	const char *id, const char *lb, struct path_rule *rules, size_t count)
{
	return (struct virtual_host){
		.key = {.kind = LB_VIRTUAL_HOST, .id = str_from(id)},
		.load_balancer = str_from(lb),
		.host = STR("foo.bar.com"),
		.match = HOST_EXACT,
		.rules = {.items = rules, .count = count},
	};
}

static inline struct pool make_pool(const char *id, uint64_t target_port)
{
	return (struct pool){
		.key = {.kind = LB_POOL, .id = str_from(id)},
		.service = {.name = STR("web")},
		.target_port = target_port,
	};
}

static inline struct certificate make_certificate(const char *id, const char *key)
{
	return (struct certificate){
		.key = {.kind = LB_CERTIFICATE, .id = str_from(id)},
		.name = STR("web-tls"),
		.chain = STR("chain"),
		.private_key = str_from(key),
	};
}

/* One whole upsert; the payload is in the buffer. */
static inline struct str encode_upsert(struct buf *buf, const void *object)
{
	struct schema_error error = {""};
	uint64_t rev;
	buf_clear(buf);
	if (message_encode_object(object, buf, &rev, &error) != 0)
		return STR_NONE;
	return str_skip(buf_str(buf), FRAME_HEAD_LEN);
}
