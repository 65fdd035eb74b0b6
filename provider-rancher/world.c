// SPDX-License-Identifier: Apache-2.0
#include "provider-rancher/world.h"

#include "common/backoff.h"
#include "common/clock.h"
#include "common/xalloc.h"
#include "provider-rancher/balancers.h"
#include "provider-rancher/certs.h"
#include "provider-rancher/feed.h"
#include "provider-rancher/image.h"
#include "provider-rancher/query.h"
#include "provider-rancher/log_events.h"
#include "provider-rancher/plan.h"
#include "provider-rancher/stack.h"

enum { LOOKUPS_MAX = 4 /* Services looked up one by one; more of them are worth a list */ };
static const double RELIST_S = 600; /* certificates and Services, as a safety net */

struct world {
	struct controller *controller;
	struct stack *stack;
	struct image *image;
	struct query *balancers;
	struct query *certificates;
	struct query *services;
	struct query *lookup; /* one awaited Service */
	struct arena arena;
	struct backoff lookups;
	size_t next_lookup;
	/* Numbers of questions: the first since we took over, and the last lists that were answered whole. */
	uint64_t took_over;
	uint64_t listed_balancers;
	uint64_t listed_certificates;
};

/* The stack, the image or a list cannot be had now. */
static void on_trouble(void *ctx)
{
	struct world *world = ctx;
	controller_check_ready(world->controller);
	balancers_tell_statuses(world->controller->balancers);
}

/* ---- the stack ---- */

static void on_stack(void *ctx, bool is_new)
{
	struct world *world = ctx;
	/* It was asked for before we took over. */
	if (stack_listed(world->stack) < world->took_over)
		stack_start(world->stack);
	if (is_new)
		query_forget(world->balancers);
	if (stack_id(world->stack) != NULL)
		query_want(world->balancers);
	else
		balancers_on_world(world->controller->balancers);
	controller_check_ready(world->controller);
}

/* Ours has gone, or one that may be ours has come. */
void world_take_stack(struct world *world, const struct json *value)
{
	struct rancher_stack told;
	const char *id = stack_id(world->stack);
	if (api_read_stack(value, &told) != NULL)
		return;
	bool is_gone = told.state == SERVER_STATE_REMOVED;
	if (id != NULL ? is_gone && str_eq_c(told.id, id)
		       : !is_gone && str_eq_c(told.name, world->controller->config->stack))
		stack_invalidate(world->stack);
}

/* ---- load balancers ---- */

static char *balancers_path(void *ctx)
{
	struct world *world = ctx;
	if (stack_id(world->stack) == NULL)
		return NULL;
	return xasprintf("/loadbalancerservices?stackId=%s&removed_null=1&limit=%d",
		stack_id(world->stack), (int)world->controller->config->page_size);
}

struct lb_row *world_take_lb(
	struct world *world, const struct json *value, uint64_t number, unsigned *ret_changes)
{
	struct rancher_lb lb;
	struct lb_row *row = NULL;
	unsigned changes = 0;
	const char *problem = api_read_lb(value, &world->arena, &lb);
	if (problem != NULL)
		log_event(&EV_RESOURCE_UNUSABLE, LOG_STR("type", "loadBalancerService"),
			LOG_STR("reason", problem));
	else if (stack_id(world->stack) != NULL && str_eq_c(lb.stack_id, stack_id(world->stack)))
		row = observed_take(world->controller->observed, &lb, number, clock_monotonic_s(),
			&world->arena, &changes);
	arena_reset(&world->arena);
	if (ret_changes != NULL)
		*ret_changes = changes;
	return row;
}

static void on_balancer(void *ctx, const struct json *item, uint64_t number)
{
	struct world *world = ctx;
	unsigned changes = 0;
	struct lb_row *row = world_take_lb(world, item, number, &changes);
	if (row == NULL)
		return;
	if ((changes & ROW_NEW) == 0 && changes != 0)
		feed_missed(world->controller->feed);
	balancers_on_row(world->controller->balancers, row, changes);
}

static void schedule_poll(struct world *world)
{
	const struct config *config = world->controller->config;
	double interval_s = config->poll_interval;
	if (feed_is_proven(world->controller->feed) &&
		!balancers_are_busy(world->controller->balancers) &&
		config->idle_poll_interval > interval_s)
		interval_s = config->idle_poll_interval;
	query_want_after(world->balancers, interval_s * (0.9 + 0.2 * backoff_random()));
}

static void on_balancers_end(void *ctx, uint64_t number)
{
	struct world *world = ctx;
	struct lb_row *row = observed_first(world->controller->observed);
	struct lb_row *next;
	for (; row != NULL; row = next) {
		next = observed_next(world->controller->observed, row);
		/* Pages are counted, so that a row may slip through between two of them: whoever it belongs to looks. */
		if (row->asked < number)
			balancers_on_unseen(world->controller->balancers, row);
	}
	world->listed_balancers = number;
	balancers_on_world(world->controller->balancers);
	schedule_poll(world);
	if (number < world->took_over)
		query_want(world->balancers);
	controller_check_ready(world->controller);
}

static void on_balancers_failed(void *ctx, const struct api_answer *answer)
{
	struct world *world = ctx;
	/* The stack's id may have become worthless. */
	if (answer->outcome == API_NOT_FOUND || answer->outcome == API_REFUSED)
		world_doubt_stack(world);
	controller_check_ready(world->controller);
}

/* ---- certificates ---- */

static char *certificates_path(void *ctx)
{
	struct world *world = ctx;
	return xasprintf(
		"/certificates?removed_null=1&limit=%d", (int)world->controller->config->page_size);
}

static void on_certificate(void *ctx, const struct json *item, uint64_t number)
{
	struct world *world = ctx;
	certs_take(world->controller->certs, item, number);
}

static void on_certificates_end(void *ctx, uint64_t number)
{
	struct world *world = ctx;
	world->listed_certificates = number;
	certs_end_list(world->controller->certs, number);
	query_want_after(world->certificates, RELIST_S * (1 + backoff_random()));
	/* It was asked for before we took over. */
	if (number < world->took_over)
		query_want(world->certificates);
	balancers_on_world(world->controller->balancers);
	controller_check_ready(world->controller);
}

/* ---- Services ---- */

static char *services_path(void *ctx)
{
	struct world *world = ctx;
	return xasprintf("/kubernetesservices?removed_null=1&limit=%d",
		(int)world->controller->config->page_size);
}

static void on_known(void *ctx, struct balancer *balancer)
{
	(void)ctx;
	balancers_touch(balancer);
}

static void take_service(struct world *world, const struct json *item, uint64_t list)
{
	struct rancher_service service;
	const char *problem = api_read_service(item, &service);
	if (problem != NULL)
		log_event(&EV_RESOURCE_UNUSABLE, LOG_STR("type", "kubernetesService"),
			LOG_STR("reason", problem));
	else
		services_take(world->controller->services, &service, list, on_known, NULL);
}

void world_take_service(struct world *world, const struct json *value)
{
	take_service(world, value, 0);
}

static void on_service(void *ctx, const struct json *item, uint64_t number)
{
	take_service(ctx, item, number);
}

static void schedule_lookup(struct world *world)
{
	if (services_has_waiting(world->controller->services))
		query_want_after(world->lookup, backoff_next(&world->lookups));
	else
		backoff_succeeded(&world->lookups);
}

static void on_services_end(void *ctx, uint64_t number)
{
	struct world *world = ctx;
	services_end_list(world->controller->services, number);
	query_want_after(world->services, RELIST_S * (1 + backoff_random()));
	schedule_lookup(world);
	balancers_on_world(world->controller->balancers);
	controller_check_ready(world->controller);
}

/* A few that are awaited are asked for by uid, one after the other; many by the list of all. */
static char *lookup_path(void *ctx)
{
	struct world *world = ctx;
	struct str uids[LOOKUPS_MAX + 1];
	size_t count = services_awaited(world->controller->services, uids, LOOKUPS_MAX + 1);
	if (count == 0)
		return NULL;
	if (count > LOOKUPS_MAX) {
		query_want(world->services);
		return NULL;
	}
	char *uid = http_escape(uids[world->next_lookup++ % count]);
	char *path = xasprintf("/kubernetesservices?externalId=%s&removed_null=1&limit=%d", uid,
		(int)world->controller->config->page_size);
	free(uid);
	return path;
}

static void on_lookup(void *ctx, const struct json *item, uint64_t number)
{
	(void)number;
	take_service(ctx, item, 0);
}

static void on_lookup_end(void *ctx, uint64_t number)
{
	(void)number;
	schedule_lookup(ctx);
}

/* ---- image ---- */

static void on_image(void *ctx)
{
	struct world *world = ctx;
	balancers_tell_waiting(world->controller->balancers);
}

static void on_failed(void *ctx, const struct api_answer *answer)
{
	(void)answer;
	on_trouble(ctx);
}

/* ---- what others ask for ---- */

bool world_is_known(const struct world *world)
{
	return stack_is_known(world->stack) && query_is_answered(world->certificates) &&
	       query_is_answered(world->services) &&
	       (stack_id(world->stack) == NULL || query_is_answered(world->balancers));
}

static char *describe(const char *name, const char *trouble)
{
	return xasprintf("Rancher's %s%s%s", name, trouble != NULL ? ": " : "",
		trouble != NULL ? trouble : "");
}

char *world_missing_text(const struct world *world)
{
	const struct {
		const char *name;
		const struct query *query;
	} parts[] = {{"certificates", world->certificates}, {"kubernetesServices", world->services},
		{"load balancers", world->balancers}};
	if (world_is_known(world))
		return NULL;
	if (!stack_is_known(world->stack))
		return describe("stack", stack_error(world->stack));
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		if (query_is_answered(parts[i].query))
			continue;
		return describe(parts[i].name, query_error(parts[i].query));
	}
	return xstrdup("Rancher");
}

const char *world_stack_id(const struct world *world)
{
	return stack_id(world->stack);
}

struct str world_image(const struct world *world)
{
	return str_from(image_uuid(world->image));
}

unsigned world_lacks(const struct world *world)
{
	unsigned lacks = 0;
	if (stack_id(world->stack) == NULL)
		lacks |= PLAN_NEED_STACK;
	if (!image_is_fresh(world->image))
		lacks |= PLAN_NEED_IMAGE;
	return lacks;
}

void world_need(struct world *world, unsigned needs)
{
	if ((needs & PLAN_NEED_STACK) != 0)
		stack_need(world->stack);
	if ((needs & PLAN_NEED_IMAGE) != 0)
		image_need(world->image);
	if ((needs & PLAN_NEED_SERVICES) != 0 &&
		services_has_waiting(world->controller->services) &&
		query_is_answered(world->services))
		query_want_after(world->lookup, 0.1);
}

const char *world_trouble(const struct world *world, unsigned needs)
{
	if ((needs & PLAN_NEED_STACK) != 0)
		return stack_error(world->stack);
	return (needs & PLAN_NEED_IMAGE) != 0 ? image_error(world->image) : NULL;
}

void world_doubt_stack(struct world *world)
{
	stack_invalidate(world->stack);
}

void world_doubt_image(struct world *world)
{
	image_invalidate(world->image);
}

void world_doubt_services(struct world *world)
{
	query_invalidate(world->services);
}

void world_doubt_certificates(struct world *world)
{
	query_invalidate(world->certificates);
}

void world_watch(struct world *world)
{
	if (stack_id(world->stack) != NULL)
		query_want_after(world->balancers, world->controller->config->poll_interval);
}

void world_poll(struct world *world)
{
	if (stack_is_known(world->stack) && stack_id(world->stack) != NULL)
		query_want(world->balancers);
}

void world_catch_up(struct world *world)
{
	world_poll(world);
	/* Services are asked for by whoever waits for one. */
	if (query_is_answered(world->certificates))
		query_want(world->certificates);
}

void world_take_over(struct world *world)
{
	world->took_over = api_number(world->controller->api);
	stack_start(world->stack);
	query_want(world->certificates);
	world_poll(world);
}

bool world_is_fresh(const struct world *world)
{
	return world_is_known(world) && stack_listed(world->stack) >= world->took_over &&
	       world->listed_certificates >= world->took_over &&
	       (stack_id(world->stack) == NULL || world->listed_balancers >= world->took_over);
}

/* ---- life ---- */

static const struct query_ops balancers_ops = {
	balancers_path, on_balancer, on_balancers_end, on_balancers_failed};
static const struct query_ops certificates_ops = {
	certificates_path, on_certificate, on_certificates_end, on_failed};
static const struct query_ops services_ops = {
	services_path, on_service, on_services_end, on_failed};
static const struct query_ops lookup_ops = {lookup_path, on_lookup, on_lookup_end, NULL};

static struct query *make(
	struct world *world, const char *name, bool is_secret, const struct query_ops *ops)
{
	struct query_config config = {
		.loop = world->controller->loop,
		.api = world->controller->api,
		.turns = world->controller->turns,
		.name = name,
		.is_list = true,
		.is_secret = is_secret,
		.ops = ops,
		.ctx = world,
	};
	return query_new(&config);
}

struct world *world_new(struct controller *controller)
{
	struct world *world = xcalloc(1, sizeof(*world));
	world->controller = controller;
	arena_init(&world->arena);
	backoff_init(&world->lookups, 0.25, 30);
	world->stack = stack_new(controller, on_stack, on_trouble, world);
	world->image = image_new(controller, on_image, on_trouble, world);
	world->balancers = make(world, "loadBalancerServices", false, &balancers_ops);
	world->certificates = make(world, "certificates", true, &certificates_ops);
	world->services = make(world, "kubernetesServices", false, &services_ops);
	world->lookup = make(world, "kubernetesService", false, &lookup_ops);
	return world;
}

void world_free(struct world *world)
{
	if (world == NULL)
		return;
	stack_free(world->stack);
	image_free(world->image);
	query_free(world->balancers);
	query_free(world->certificates);
	query_free(world->services);
	query_free(world->lookup);
	arena_fini(&world->arena);
	free(world);
}

void world_start(struct world *world)
{
	query_want(world->services);
	query_want(world->certificates);
	stack_start(world->stack);
}
