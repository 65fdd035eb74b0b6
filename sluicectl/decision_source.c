// SPDX-License-Identifier: Apache-2.0
#include "sluicectl/decision_source.h"

#include "common/xalloc.h"

#include <stdlib.h>
#include <string.h>

struct decision_source {
	struct state *state;
	struct arena arena;
	struct decision_objects objects;
	const struct virtual_host **hosts; /* sorted as compare_hosts() says */
	size_t host_count;
};

static size_t size_of(enum lb_kind kind)
{
	switch (kind) {
	case LB_LOAD_BALANCER:
		return sizeof(struct load_balancer);
	case LB_VIRTUAL_HOST:
		return sizeof(struct virtual_host);
	case LB_POOL:
		return sizeof(struct pool);
	case LB_POLICY:
		return sizeof(struct policy);
	case LB_USERS:
		return sizeof(struct users);
	case LB_CERTIFICATE:
	case LB_NONE:
	case LB_KIND_COUNT:
		break;
	}
	return 0;
}

static void *decode(struct decision_source *source, struct object *object)
{
	void *value = object_user(object);
	size_t size = size_of(object_kind(object));
	if (value != NULL || size == 0)
		return value;
	value = arena_alloc(&source->arena, size);
	state_decode(source->state, object, &source->arena, value);
	object_set_user(object, value);
	return value;
}

static const void *find(void *ctx, enum lb_kind kind, struct str id)
{
	struct decision_source *source = ctx;
	struct object *object = state_find(source->state, kind, id);
	return object != NULL ? decode(source, object) : NULL;
}

/* ---- virtual hosts ---- */

static int compare_keys(const struct virtual_host *host, struct str load_balancer, struct str name,
	bool is_passthrough)
{
	int order = str_cmp(host->load_balancer, load_balancer);
	if (order == 0)
		order = str_cmp(host->host, name);
	return order != 0 ? order : (int)host->passthrough - (int)is_passthrough;
}

static int compare_hosts(const void *a, const void *b)
{
	const struct virtual_host *other = *(const struct virtual_host *const *)b;
	return compare_keys(*(const struct virtual_host *const *)a, other->load_balancer,
		other->host, other->passthrough);
}

static const struct virtual_host *find_host(
	void *ctx, struct str load_balancer, struct str name, bool is_passthrough)
{
	const struct decision_source *source = ctx;
	size_t low = 0;
	size_t high = source->host_count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		int order =
			compare_keys(source->hosts[middle], load_balancer, name, is_passthrough);
		if (order == 0)
			return source->hosts[middle];
		if (order < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return NULL;
}

static void collect_hosts(struct decision_source *source)
{
	struct object *object = state_first(source->state, LB_VIRTUAL_HOST);
	source->hosts = xcalloc(state_count(source->state, LB_VIRTUAL_HOST) + 1,
		sizeof(const struct virtual_host *));
	for (; object != NULL; object = state_next(source->state, object))
		source->hosts[source->host_count++] = decode(source, object);
	if (source->host_count != 0)
		qsort(source->hosts, source->host_count, sizeof(const struct virtual_host *),
			compare_hosts);
}

/* ---- load balancers ---- */

static bool has_listener(const struct load_balancer *balancer,
	const struct decision_request *request, uint64_t *ret_port)
{
	for (size_t i = 0; i < balancer->listeners.count; i++) {
		const struct listener *listener = &balancer->listeners.items[i];
		bool fits = request->is_tls ? listener->protocol == LISTENER_HTTPS ||
						      listener->protocol == LISTENER_TLS_PASSTHROUGH
					    : listener->protocol == LISTENER_HTTP;
		if (!fits || (request->port != 0 && request->port != listener->port))
			continue;
		*ret_port = listener->port;
		return true;
	}
	return false;
}

/* The more specific, the greater; 0: it has no virtual host for the request. */
static int rank(struct decision_source *source, const struct load_balancer *balancer,
	const struct decision_request *request)
{
	struct decision decision;
	struct arena arena;
	arena_init(&arena);
	decision_make(&source->objects, balancer, request, &arena, &decision);
	int found = decision.host != NULL ? (int)decision.host->match + 1 : 0;
	arena_fini(&arena);
	return found;
}

const struct load_balancer *decision_source_balancer(
	struct decision_source *source, const struct decision_request *request, uint64_t *ret_port)
{
	const struct load_balancer *best = NULL;
	int best_rank = -1;
	struct object *object = state_first(source->state, LB_LOAD_BALANCER);
	for (; object != NULL; object = state_next(source->state, object)) {
		const struct load_balancer *balancer = decode(source, object);
		uint64_t port = 0;
		if (!has_listener(balancer, request, &port))
			continue;
		int found = rank(source, balancer, request);
		if (found <= best_rank)
			continue;
		best = balancer;
		best_rank = found;
		*ret_port = port;
	}
	return best;
}

/* ---- life ---- */

struct decision_source *decision_source_new(struct state *state)
{
	struct decision_source *source = xcalloc(1, sizeof(*source));
	source->state = state;
	arena_init(&source->arena);
	source->objects =
		(struct decision_objects){.ctx = source, .find = find, .find_host = find_host};
	collect_hosts(source);
	return source;
}

void decision_source_free(struct decision_source *source)
{
	if (source == NULL)
		return;
	for (int kind = LB_NONE + 1; kind < LB_KIND_COUNT; kind++) {
		struct object *object = state_first(source->state, (enum lb_kind)kind);
		for (; object != NULL; object = state_next(source->state, object))
			object_set_user(object, NULL);
	}
	free(source->hosts);
	arena_fini(&source->arena);
	free(source);
}

const struct decision_objects *decision_source_objects(const struct decision_source *source)
{
	return &source->objects;
}
