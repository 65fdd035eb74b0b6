// SPDX-License-Identifier: Apache-2.0
#include "sluicectl/replay_requests.h"

#include "common/ascii.h"
#include "common/hash.h"
#include "common/must.h"
#include "common/xalloc.h"

#include <stdlib.h>
#include <string.h>

enum { HOST_LEN_MAX = 253 };

#define LABEL   "sluice-compare" /* stands for the star of a wildcard */
#define NOWHERE "/sluice-compare-nowhere"

void replay_requests_init(struct replay_requests *requests, size_t count_max)
{
	*requests = (struct replay_requests){.count_max = count_max};
	arena_init(&requests->arena);
	requests->slot_count = 4 * count_max + 1;
	requests->slots = xcalloc(requests->slot_count, sizeof(*requests->slots));
}

void replay_requests_free(struct replay_requests *requests)
{
	arena_fini(&requests->arena);
	free(requests->slots);
}

bool replay_is_safe(struct str method)
{
	return str_eq_c(method, "GET") || str_eq_c(method, "HEAD") || str_eq_c(method, "OPTIONS");
}

bool replay_is_target(struct str target)
{
	for (size_t i = 0; i < target.len; i++) {
		unsigned char c = (unsigned char)target.p[i];
		if (c <= 0x20 || c >= 0x7f || c == '\\' || c == '#')
			return false;
	}
	return target.len != 0 && target.len <= REPLAY_TARGET_MAX && target.p[0] == '/';
}

bool replay_is_host(struct str host)
{
	return host.len != 0 && host.len <= HOST_LEN_MAX && ascii_is_made_of(host, "-._");
}

static uint64_t digest(const struct replay_request *request)
{
	struct hash hash;
	hash_begin(&hash);
	hash_add_str(&hash, request->method);
	hash_add_str(&hash, request->host);
	hash_add_str(&hash, request->target);
	hash_add_str(&hash, request->origin);
	return hash_end(&hash);
}

static bool is_same(const struct replay_request *a, const struct replay_request *b)
{
	return str_eq(a->method, b->method) && str_eq(a->host, b->host) &&
	       str_eq(a->target, b->target) && str_eq(a->origin, b->origin);
}

void replay_requests_add(struct replay_requests *requests, const struct replay_request *request)
{
	size_t at = digest(request) % requests->slot_count;
	while (requests->slots[at] != 0) {
		if (is_same(&requests->items[requests->slots[at] - 1], request))
			return;
		at = (at + 1) % requests->slot_count;
	}
	if (requests->count >= requests->count_max) {
		requests->left_out++;
		return;
	}
	void *items = requests->items;
	struct replay_request *place =
		arena_push(&requests->arena, &items, &requests->count, sizeof(*place));
	requests->items = items;
	requests->slots[at] = requests->count;
	*place = (struct replay_request){
		.method = arena_str(&requests->arena, request->method),
		.host = arena_str(&requests->arena, request->host),
		.target = arena_str(&requests->arena, request->target),
		.origin = arena_str(&requests->arena, request->origin),
		.is_of_log = request->is_of_log,
	};
}

/* ---- of Ingresses ---- */

/* The part of a path that is no regular expression, whatever the host's mode. */
static struct str literal_part(struct str path)
{
	size_t len = 0;
	while (len < path.len && strchr("^$.*+?()[]{}|\\", path.p[len]) == NULL)
		len++;
	/* A character that may be missing is none. */
	if (len < path.len && len > 1 && strchr("*?{", path.p[len]) != NULL)
		len--;
	return (struct str){path.p, len};
}

static void add_target(
	struct replay_requests *requests, struct replay_request *request, struct str target)
{
	request->target = target;
	if (replay_is_target(target) && replay_is_host(request->host))
		replay_requests_add(requests, request);
	else
		requests->unusable++;
}

static void add_near(struct replay_requests *requests, struct str host, struct str path)
{
	struct arena scratch;
	struct replay_request request = {.method = STR("GET"), .host = host};
	struct str literal = literal_part(path);
	struct str trimmed = literal;
	arena_init(&scratch);
	while (trimmed.len != 0 && trimmed.p[trimmed.len - 1] == '/')
		trimmed.len--;
	if (str_eq(literal, path))
		add_target(requests, &request, path);
	add_target(requests, &request, arena_printf(&scratch, "%.*s/", STR_FMT(trimmed)));
	add_target(requests, &request, arena_printf(&scratch, "%.*s/x", STR_FMT(trimmed)));
	add_target(requests, &request, arena_printf(&scratch, "%.*s/x?q=1", STR_FMT(trimmed)));
	if (trimmed.len != 0) {
		add_target(requests, &request, trimmed);
		add_target(requests, &request, arena_printf(&scratch, "%.*sx", STR_FMT(trimmed)));
		add_target(requests, &request, arena_printf(&scratch, "/%.*s", STR_FMT(trimmed)));
	}
	add_target(requests, &request, STR("/"));
	add_target(requests, &request, STR(NOWHERE));
	arena_fini(&scratch);
}

/* A preflight of the first origin that is no wildcard. */
static void add_preflight(
	struct replay_requests *requests, struct str host, struct str path, struct str origins)
{
	struct str first = str_trim(str_before(origins, ','));
	if (first.len == 0 || str_find(first, '*') != NULL || str_find(first, ' ') != NULL ||
		first.len > HOST_LEN_MAX || !str_eq(literal_part(path), path))
		first = STR("https://origin.example");
	struct replay_request request = {.method = STR("OPTIONS"), .host = host, .origin = first};
	add_target(requests, &request, literal_part(path));
	request.method = STR("GET");
	add_target(requests, &request, literal_part(path));
}

static struct str host_of(struct arena *arena, struct str host)
{
	if (str_starts_with(host, STR("*.")))
		return arena_printf(arena, LABEL "%.*s", STR_FMT(str_skip(host, 1)));
	return host.len != 0 ? host : STR(LABEL ".invalid");
}

static bool has_original(const struct migrate_objects *objects)
{
	for (size_t i = 0; i < objects->ingress_count; i++) {
		if (objects->ingresses[i].is_original)
			return true;
	}
	return false;
}

void replay_requests_derive(
	struct replay_requests *requests, const struct migrate_objects *objects, struct str prefix)
{
	bool is_limited = has_original(objects);
	for (size_t i = 0; i < objects->ingress_count; i++) {
		const struct migrate_ingress *ingress = &objects->ingresses[i];
		bool has_cors =
			str_eq_c(migrate_annotation(ingress, prefix, "enable-cors"), "true");
		struct str origins = migrate_annotation(ingress, prefix, "cors-allow-origin");
		for (size_t k = 0; k < ingress->path_count; k++) {
			const struct migrate_path *path = &ingress->paths[k];
			struct str host = host_of(&requests->arena, path->host);
			if (is_limited && !ingress->is_original)
				continue;
			add_near(requests, host, path->path);
			if (has_cors)
				add_preflight(requests, host, path->path, origins);
		}
	}
}
