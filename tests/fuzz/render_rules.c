// SPDX-License-Identifier: Apache-2.0
#include "render_world.h"

enum { ITEMS_MAX = 4 };

static void *items(struct world *world, size_t size)
{
	return arena_calloc(&world->arena, ITEMS_MAX, size);
}

static bool flip(struct world *world)
{
	return world_pick(world, 2) != 0;
}

static uint64_t number(struct world *world)
{
	static const uint64_t some[] = {
		0, 1, 2, 100, 301, 308, 404, 429, 65535, 1000000, UINT64_MAX};
	return some[world_pick(world, sizeof(some) / sizeof(some[0]))];
}

static struct str_list list_of(struct world *world, const char *good)
{
	struct str_list list = {items(world, sizeof(struct str)), world_pick(world, ITEMS_MAX)};
	for (size_t i = 0; i < list.count; i++)
		list.items[i] = world_text(world, good);
	return list;
}

static struct piece *draw_pieces(struct world *world, size_t *ret_count)
{
	struct piece *pieces = items(world, sizeof(*pieces));
	*ret_count = world_pick(world, ITEMS_MAX);
	for (size_t i = 0; i < *ret_count; i++)
		pieces[i] =
			(struct piece){(enum request_value)world_pick(world, REQUEST_ARGUMENT + 1),
				world_text(world, "x-a"), world_pick(world, 12)};
	return pieces;
}

static struct redirect *draw_redirect(struct world *world)
{
	struct redirect *redirect = items(world, sizeof(*redirect));
	redirect->status = number(world);
	redirect->location.items = draw_pieces(world, &redirect->location.count);
	return redirect;
}

static struct fixed_answer *draw_answer(struct world *world)
{
	struct fixed_answer *answer = items(world, sizeof(*answer));
	*answer = (struct fixed_answer){number(world), world_text(world, "a text")};
	return answer;
}

static void draw_conditions(struct world *world, struct path_rule *rule)
{
	struct condition *conditions = items(world, sizeof(*conditions));
	rule->conditions.items = conditions;
	rule->conditions.count = world_pick(world, ITEMS_MAX);
	for (size_t i = 0; i < rule->conditions.count; i++)
		conditions[i] = (struct condition){(enum condition_subject)world_pick(world, 4),
			world_text(world, "x-a"), (enum condition_match)world_pick(world, 3),
			world_text(world, "1")};
}

static void draw_sessions(struct world *world, struct path_rule *rule)
{
	rule->cookie_path = world_text(world, "/a;b");
	if (!flip(world))
		return;
	rule->canary = items(world, sizeof(*rule->canary));
	*rule->canary =
		(struct rule_canary){world_text(world, "p0"), world_text(world, "p1"), flip(world)};
}

void world_draw_rule(struct world *world, struct path_rule *rule)
{
	struct weighted_pool *pools = items(world, sizeof(*pools));
	static const char *const ids[] = {"p0", "p1", "p2", "p3"};
	if (flip(world))
		draw_conditions(world, rule);
	if (world_pick(world, 4) == 0)
		rule->regex = world_text(world, "^/a");
	if (flip(world))
		rule->policy = world_text(world, "y0");
	if (world_pick(world, 4) == 0)
		draw_sessions(world, rule);
	switch (world_pick(world, 5)) {
	case 0:
		rule->pool = STR_NONE;
		rule->redirect = draw_redirect(world);
		return;
	case 1:
		rule->pool = STR_NONE;
		rule->answer = draw_answer(world);
		return;
	case 2:
		rule->pool = STR_NONE;
		rule->pools.items = pools;
		rule->pools.count = world_pick(world, ITEMS_MAX);
		for (size_t i = 0; i < rule->pools.count; i++)
			pools[i] = (struct weighted_pool){str_from(ids[i]), number(world)};
		return;
	default:
		return;
	}
}

static struct header_change *draw_changes(struct world *world, size_t *ret_count)
{
	struct header_change *changes = items(world, sizeof(*changes));
	*ret_count = world_pick(world, ITEMS_MAX);
	for (size_t i = 0; i < *ret_count; i++) {
		changes[i].name = world_text(world, "X-A");
		changes[i].action = (enum header_action)world_pick(world, 3);
		changes[i].value.items = draw_pieces(world, &changes[i].value.count);
	}
	return changes;
}

static struct cors *draw_cors(struct world *world)
{
	struct cors *cors = items(world, sizeof(*cors));
	*cors = (struct cors){
		.any_origin = flip(world),
		.origins = list_of(world, "https://*.a.test"),
		.credentials = flip(world),
		.methods = world_text(world, "GET, PUT"),
		.headers = world_text(world, "X-A"),
		.expose_headers = world_text(world, "X-B"),
		.max_age_s = number(world),
	};
	return cors;
}

static struct rate_limits *draw_limits(struct world *world)
{
	struct rate_limits *limits = items(world, sizeof(*limits));
	struct rate_limit *requests = items(world, sizeof(*requests));
	size_t count = world_pick(world, ITEMS_MAX);
	for (size_t i = 0; i < count; i++)
		requests[i] = (struct rate_limit){number(world), number(world), number(world)};
	*limits = (struct rate_limits){
		.concurrent = number(world),
		.exempt = list_of(world, "10.0.0.0/9"),
		.status = number(world),
	};
	limits->requests.items = requests;
	limits->requests.count = count;
	return limits;
}

/* Who is asked or told beside the backend, and who is asked again. */
static void draw_others(struct world *world, struct policy *policy)
{
	struct error_pages *pages = items(world, sizeof(*pages));
	struct retries *retries = items(world, sizeof(*retries));
	struct status_code *statuses = items(world, sizeof(*statuses));
	struct mirror *mirrors = items(world, sizeof(*mirrors));
	statuses[0].status = number(world);
	*pages = (struct error_pages){.pool = world_text(world, "p0"), .own_only = flip(world)};
	pages->statuses.items = statuses;
	pages->statuses.count = 1;
	pages->target.items = draw_pieces(world, &pages->target.count);
	pages->request_headers.items = draw_changes(world, &pages->request_headers.count);
	*retries = (struct retries){.on_error = flip(world),
		.on_timeout = flip(world),
		.unsafe = flip(world),
		.tries = number(world),
		.timeout_ms = number(world)};
	mirrors[0] = (struct mirror){.pool = world_text(world, "p0"), .share = number(world)};
	mirrors[0].host.items = draw_pieces(world, &mirrors[0].host.count);
	mirrors[0].target.items = draw_pieces(world, &mirrors[0].target.count);
	policy->error_pages = flip(world) ? pages : NULL;
	policy->retries = flip(world) ? retries : NULL;
	policy->mirrors.items = mirrors;
	policy->mirrors.count = flip(world) ? 1 : 0;
}

void world_draw_policy(struct world *world)
{
	struct hsts hsts = {number(world), flip(world), flip(world)};
	struct source_access access = {list_of(world, "10.0.0.0/9"), list_of(world, "fd00::/7")};
	struct basic_auth auth = {world_text(world, "realm"), world_text(world, "u0")};
	struct timeouts timeouts = {number(world), number(world), number(world)};
	struct policy policy = {
		.key = {.kind = LB_POLICY, .id = world_text(world, "y0")},
		.ingress = world_text(world, "default/web"),
		.body_max_bytes = number(world),
		.cors = flip(world) ? draw_cors(world) : NULL,
		.https_redirect = number(world),
		.https_port = number(world),
		.hsts = flip(world) ? &hsts : NULL,
		.rate_limits = flip(world) ? draw_limits(world) : NULL,
		.source_access = flip(world) ? &access : NULL,
		.basic_auth = world_pick(world, 8) == 7 ? &auth : NULL,
		.satisfy_any = flip(world),
		.timeouts = flip(world) ? &timeouts : NULL,
	};
	policy.rewrite.items = draw_pieces(world, &policy.rewrite.count);
	policy.request_headers.items = draw_changes(world, &policy.request_headers.count);
	policy.response_headers.items = draw_changes(world, &policy.response_headers.count);
	draw_others(world, &policy);
	(void)world_stage(world, &policy);
}
