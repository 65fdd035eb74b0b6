// SPDX-License-Identifier: Apache-2.0
#include "provider-rancher/inventory.h"

#include "common/backoff.h"
#include "common/clock.h"
#include "common/xalloc.h"
#include "provider-rancher/image.h"
#include "provider-rancher/log_events.h"
#include "provider-rancher/plan.h"
#include "provider-rancher/query.h"
#include "provider-rancher/stack.h"

enum { LOOKUPS_MAX = 4 /* Services looked up one by one; for more of them a list is cheaper */ };
static const double RELIST_S = 600; /* certificates and Services, as a safety net */

struct inventory {
	const struct client *client;
	const struct config *options;
	struct observed *observed;
	struct services *service_ids;
	const struct inventory_ops *ops;
	void *ctx;
	struct stack *stack;
	struct image *image;
	struct query *balancers;
	struct query *certificates;
	struct query *services;
	struct query *lookup; /* of one awaited Service */
	struct arena arena;
	struct backoff lookups;
	size_t next_lookup;
	/* Request numbers: the first after we took over, and those of the last complete lists. */
	uint64_t took_over;
	uint64_t listed_balancers;
	uint64_t listed_certificates;
};

/* The stack, the image or a list could not be read. */
static void on_unavailable(void *ctx)
{
	struct inventory *inventory = ctx;
	inventory->ops->on_progress(inventory->ctx);
	inventory->ops->on_unavailable(inventory->ctx);
}

/* ---- the stack ---- */

static void on_stack(void *ctx, bool is_new)
{
	struct inventory *inventory = ctx;
	/* The query was sent before we took over. */
	if (stack_listed(inventory->stack) < inventory->took_over)
		stack_start(inventory->stack);
	if (is_new)
		query_forget(inventory->balancers);
	if (stack_id(inventory->stack) != NULL)
		query_want(inventory->balancers);
	else
		inventory->ops->on_listed(inventory->ctx);
	inventory->ops->on_progress(inventory->ctx);
}

/* Reacts if our stack is removed, or one appears that may be ours. */
void inventory_take_stack(struct inventory *inventory, const struct json *value)
{
	struct rancher_stack told;
	const char *id = stack_id(inventory->stack);
	if (api_read_stack(value, &told) != NULL)
		return;
	bool is_gone = told.state == SERVER_STATE_REMOVED;
	if (id != NULL ? is_gone && str_eq_c(told.id, id)
		       : !is_gone && str_eq_c(told.name, inventory->options->stack))
		stack_invalidate(inventory->stack);
}

/* ---- load balancers ---- */

static char *balancers_path(void *ctx)
{
	struct inventory *inventory = ctx;
	if (stack_id(inventory->stack) == NULL)
		return NULL;
	return xasprintf("/loadbalancerservices?stackId=%s&removed_null=1&limit=%d",
		stack_id(inventory->stack), (int)inventory->options->page_size);
}

struct lb_row *inventory_take_lb(struct inventory *inventory, const struct json *value,
	uint64_t number, unsigned *ret_changes)
{
	struct rancher_lb lb;
	struct lb_row *row = NULL;
	unsigned changes = 0;
	const char *problem = api_read_lb(value, &inventory->arena, &lb);
	if (problem != NULL)
		log_event(&EV_RESOURCE_UNUSABLE, LOG_STR("type", "loadBalancerService"),
			LOG_STR("reason", problem));
	else if (stack_id(inventory->stack) != NULL &&
		 str_eq_c(lb.stack_id, stack_id(inventory->stack)))
		row = observed_take(inventory->observed, &lb, number, clock_monotonic_s(),
			&inventory->arena, &changes);
	arena_reset(&inventory->arena);
	if (ret_changes != NULL)
		*ret_changes = changes;
	return row;
}

void inventory_tell_row(struct inventory *inventory, struct lb_row *row, unsigned changes)
{
	inventory->ops->on_row(inventory->ctx, row, changes);
}

static void on_balancer(void *ctx, const struct json *item, uint64_t number)
{
	struct inventory *inventory = ctx;
	unsigned changes = 0;
	struct lb_row *row = inventory_take_lb(inventory, item, number, &changes);
	if (row == NULL)
		return;
	if ((changes & ROW_NEW) == 0 && changes != 0)
		inventory->ops->on_event_missed(inventory->ctx);
	inventory_tell_row(inventory, row, changes);
}

static void schedule_poll(struct inventory *inventory)
{
	const struct config *config = inventory->options;
	double interval_s = config->poll_interval;
	if (config->idle_poll_interval > interval_s && inventory->ops->is_quiet(inventory->ctx))
		interval_s = config->idle_poll_interval;
	query_want_after(inventory->balancers, interval_s * (0.9 + 0.2 * backoff_random()));
}

static void on_balancers_end(void *ctx, uint64_t number)
{
	struct inventory *inventory = ctx;
	struct lb_row *row = observed_first(inventory->observed);
	struct lb_row *next;
	for (; row != NULL; row = next) {
		next = observed_next(inventory->observed, row);
		/* Pages are cut by offset, so a row may be missed between two of them: its owner reads it by itself. */
		if (row->asked < number)
			inventory->ops->on_row_unseen(inventory->ctx, row);
	}
	inventory->listed_balancers = number;
	inventory->ops->on_listed(inventory->ctx);
	schedule_poll(inventory);
	if (number < inventory->took_over)
		query_want(inventory->balancers);
	inventory->ops->on_progress(inventory->ctx);
}

static void on_balancers_failed(void *ctx, const struct api_answer *answer)
{
	struct inventory *inventory = ctx;
	/* The stack may have been deleted. */
	if (answer->outcome == API_NOT_FOUND || answer->outcome == API_REFUSED)
		inventory_invalidate_stack(inventory);
	inventory->ops->on_progress(inventory->ctx);
}

/* ---- certificates ---- */

static char *certificates_path(void *ctx)
{
	struct inventory *inventory = ctx;
	return xasprintf(
		"/certificates?removed_null=1&limit=%d", (int)inventory->options->page_size);
}

static void on_certificate(void *ctx, const struct json *item, uint64_t number)
{
	struct inventory *inventory = ctx;
	inventory->ops->on_certificate(inventory->ctx, item, number);
}

static void on_certificates_end(void *ctx, uint64_t number)
{
	struct inventory *inventory = ctx;
	inventory->listed_certificates = number;
	inventory->ops->on_certificates_end(inventory->ctx, number);
	query_want_after(inventory->certificates, RELIST_S * (1 + backoff_random()));
	/* The list was requested before we took over. */
	if (number < inventory->took_over)
		query_want(inventory->certificates);
	inventory->ops->on_listed(inventory->ctx);
	inventory->ops->on_progress(inventory->ctx);
}

/* ---- Services ---- */

static char *services_path(void *ctx)
{
	struct inventory *inventory = ctx;
	return xasprintf(
		"/kubernetesservices?removed_null=1&limit=%d", (int)inventory->options->page_size);
}

static void take_service(struct inventory *inventory, const struct json *item, uint64_t list)
{
	struct rancher_service service;
	const char *problem = api_read_service(item, &service);
	if (problem != NULL)
		log_event(&EV_RESOURCE_UNUSABLE, LOG_STR("type", "kubernetesService"),
			LOG_STR("reason", problem));
	else
		services_take(inventory->service_ids, &service, list,
			inventory->ops->on_service_known, inventory->ctx);
}

void inventory_take_service(struct inventory *inventory, const struct json *value)
{
	take_service(inventory, value, 0);
}

static void on_service(void *ctx, const struct json *item, uint64_t number)
{
	take_service(ctx, item, number);
}

static void schedule_lookup(struct inventory *inventory)
{
	if (services_has_waiting(inventory->service_ids))
		query_want_after(inventory->lookup, backoff_next(&inventory->lookups));
	else
		backoff_succeeded(&inventory->lookups);
}

static void on_services_end(void *ctx, uint64_t number)
{
	struct inventory *inventory = ctx;
	services_end_list(inventory->service_ids, number);
	query_want_after(inventory->services, RELIST_S * (1 + backoff_random()));
	schedule_lookup(inventory);
	inventory->ops->on_listed(inventory->ctx);
	inventory->ops->on_progress(inventory->ctx);
}

/* A few awaited Services are looked up by uid, one after the other; many by listing all. */
static char *lookup_path(void *ctx)
{
	struct inventory *inventory = ctx;
	struct str uids[LOOKUPS_MAX + 1];
	size_t count = services_awaited(inventory->service_ids, uids, LOOKUPS_MAX + 1);
	if (count == 0)
		return NULL;
	if (count > LOOKUPS_MAX) {
		query_want(inventory->services);
		return NULL;
	}
	char *uid = http_escape(uids[inventory->next_lookup++ % count]);
	char *path = xasprintf("/kubernetesservices?externalId=%s&removed_null=1&limit=%d", uid,
		(int)inventory->options->page_size);
	free(uid);
	return path;
}

static void on_lookup(void *ctx, const struct json *item, uint64_t number)
{
	take_service(ctx, item, 0);
}

static void on_lookup_end(void *ctx, uint64_t number)
{
	schedule_lookup(ctx);
}

/* ---- image ---- */

static void on_image(void *ctx)
{
	struct inventory *inventory = ctx;
	inventory->ops->on_image(inventory->ctx);
}

static void on_failed(void *ctx, const struct api_answer *answer)
{
	on_unavailable(ctx);
}

/* ---- completeness ---- */

bool inventory_is_known(const struct inventory *inventory)
{
	return stack_is_known(inventory->stack) && query_is_answered(inventory->certificates) &&
	       query_is_answered(inventory->services) &&
	       (stack_id(inventory->stack) == NULL || query_is_answered(inventory->balancers));
}

static char *describe(const char *name, const char *error)
{
	return xasprintf(
		"Rancher's %s%s%s", name, error != NULL ? ": " : "", error != NULL ? error : "");
}

char *inventory_missing_text(const struct inventory *inventory)
{
	const struct {
		const char *name;
		const struct query *query;
	} parts[] = {{"certificates", inventory->certificates},
		{"kubernetesServices", inventory->services},
		{"load balancers", inventory->balancers}};
	if (inventory_is_known(inventory))
		return NULL;
	if (!stack_is_known(inventory->stack))
		return describe("stack", stack_error(inventory->stack));
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		if (query_is_answered(parts[i].query))
			continue;
		return describe(parts[i].name, query_error(parts[i].query));
	}
	return xstrdup("Rancher");
}

const char *inventory_stack_id(const struct inventory *inventory)
{
	return stack_id(inventory->stack);
}

struct str inventory_image(const struct inventory *inventory)
{
	return str_from(image_uuid(inventory->image));
}

unsigned inventory_lacks(const struct inventory *inventory)
{
	unsigned lacks = 0;
	if (stack_id(inventory->stack) == NULL)
		lacks |= PLAN_NEED_STACK;
	if (!image_is_fresh(inventory->image))
		lacks |= PLAN_NEED_IMAGE;
	return lacks;
}

void inventory_need(struct inventory *inventory, unsigned needs)
{
	if ((needs & PLAN_NEED_STACK) != 0)
		stack_need(inventory->stack);
	if ((needs & PLAN_NEED_IMAGE) != 0)
		image_need(inventory->image);
	if ((needs & PLAN_NEED_SERVICES) != 0 && services_has_waiting(inventory->service_ids) &&
		query_is_answered(inventory->services))
		query_want_after(inventory->lookup, 0.1);
}

const char *inventory_error(const struct inventory *inventory, unsigned needs)
{
	if ((needs & PLAN_NEED_STACK) != 0)
		return stack_error(inventory->stack);
	return (needs & PLAN_NEED_IMAGE) != 0 ? image_error(inventory->image) : NULL;
}

void inventory_invalidate_stack(struct inventory *inventory)
{
	stack_invalidate(inventory->stack);
}

void inventory_invalidate_image(struct inventory *inventory)
{
	image_invalidate(inventory->image);
}

void inventory_invalidate_services(struct inventory *inventory)
{
	query_invalidate(inventory->services);
}

void inventory_invalidate_certificates(struct inventory *inventory)
{
	query_invalidate(inventory->certificates);
}

void inventory_list_soon(struct inventory *inventory)
{
	if (stack_id(inventory->stack) != NULL)
		query_want_after(inventory->balancers, inventory->options->poll_interval);
}

void inventory_list_now(struct inventory *inventory)
{
	if (stack_is_known(inventory->stack) && stack_id(inventory->stack) != NULL)
		query_want(inventory->balancers);
}

void inventory_resync(struct inventory *inventory)
{
	inventory_list_now(inventory);
	/* Services are looked up when a balancer needs one. */
	if (query_is_answered(inventory->certificates))
		query_want(inventory->certificates);
}

void inventory_take_over(struct inventory *inventory)
{
	inventory->took_over = api_number(inventory->client->api);
	stack_start(inventory->stack);
	query_want(inventory->certificates);
	inventory_list_now(inventory);
}

bool inventory_is_fresh(const struct inventory *inventory)
{
	return inventory_is_known(inventory) &&
	       stack_listed(inventory->stack) >= inventory->took_over &&
	       inventory->listed_certificates >= inventory->took_over &&
	       (stack_id(inventory->stack) == NULL ||
		       inventory->listed_balancers >= inventory->took_over);
}

/* ---- lifecycle ---- */

static const struct query_ops balancers_ops = {
	balancers_path, on_balancer, on_balancers_end, on_balancers_failed};
static const struct query_ops certificates_ops = {
	certificates_path, on_certificate, on_certificates_end, on_failed};
static const struct query_ops services_ops = {
	services_path, on_service, on_services_end, on_failed};
static const struct query_ops lookup_ops = {lookup_path, on_lookup, on_lookup_end, NULL};

static struct query *make(
	struct inventory *inventory, const char *name, bool is_secret, const struct query_ops *ops)
{
	struct query_config config = {
		.client = inventory->client,
		.name = name,
		.is_list = true,
		.is_secret = is_secret,
		.ops = ops,
		.ctx = inventory,
	};
	return query_new(&config);
}

struct inventory *inventory_new(const struct inventory_config *config)
{
	struct inventory *inventory = xcalloc(1, sizeof(*inventory));
	inventory->client = config->client;
	inventory->options = config->options;
	inventory->observed = config->observed;
	inventory->service_ids = config->services;
	inventory->ops = config->ops;
	inventory->ctx = config->ctx;
	arena_init(&inventory->arena);
	backoff_init(&inventory->lookups, 0.25, 30);
	inventory->stack = stack_new(config->client, config->options, config->external_id, on_stack,
		on_unavailable, inventory);
	inventory->image =
		image_new(config->client, config->options, on_image, on_unavailable, inventory);
	inventory->balancers = make(inventory, "loadBalancerServices", false, &balancers_ops);
	inventory->certificates = make(inventory, "certificates", true, &certificates_ops);
	inventory->services = make(inventory, "kubernetesServices", false, &services_ops);
	inventory->lookup = make(inventory, "kubernetesService", false, &lookup_ops);
	return inventory;
}

void inventory_free(struct inventory *inventory)
{
	if (inventory == NULL)
		return;
	stack_free(inventory->stack);
	image_free(inventory->image);
	query_free(inventory->balancers);
	query_free(inventory->certificates);
	query_free(inventory->services);
	query_free(inventory->lookup);
	arena_fini(&inventory->arena);
	free(inventory);
}

void inventory_start(struct inventory *inventory)
{
	query_want(inventory->services);
	query_want(inventory->certificates);
	stack_start(inventory->stack);
}
