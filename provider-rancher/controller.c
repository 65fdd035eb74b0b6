// SPDX-License-Identifier: Apache-2.0
#include "provider-rancher/controller.h"

#include "common/version.h"
#include "common/xalloc.h"
#include "provider-rancher/address_hold.h"
#include "provider-rancher/balancer_reconcile.h"
#include "provider-rancher/balancer_status.h"
#include "provider-rancher/balancers.h"
#include "provider-rancher/capabilities.h"
#include "provider-rancher/certs.h"
#include "provider-rancher/feed.h"
#include "provider-rancher/inventory.h"
#include "provider-rancher/labels.h"
#include "provider-rancher/log_events.h"
#include "provider-rancher/metrics.h"
#include "provider-rancher/rancher_url.h"
#include "provider-rancher/registry.h"

struct controller {
	struct daemon *daemon;
	const struct config *options;
	struct credentials keys;
	struct http_peer *peer;
	struct client client;
	struct observed *observed;
	struct services *services;
	struct certs *certs;
	struct inventory *inventory;
	struct registry *registry;
	struct balancers *balancers;
	struct address_hold *hold;
	struct feed *feed;
	struct provider *provider;
	char *external_id_prefix;
	bool is_linked; /* the translator is connected */
	bool follows; /* another line is active, or was until just now: see inventory_take_over() */
};

/* Reports what readiness waits for, and enables writes once they are allowed. Cheap. */
static void check_ready(struct controller *c)
{
	if (c->inventory == NULL || c->provider == NULL)
		return;
	char *missing = inventory_missing_text(c->inventory);
	if (missing == NULL && !state_is_complete(provider_state(c->provider)))
		missing = xstrdup(
			c->is_linked ? "the translator's first snapshot" : "the translator");
	daemon_set_missing(c->daemon, missing);
	free(missing);
	/* Everything the other line has done is known by now: become active. */
	if (c->follows && provider_may_act(c->provider) && inventory_is_fresh(c->inventory))
		c->follows = false;
	request_queue_wake(c->client.queue);
}

/* ---- keys ---- */

static void read_keys_again(struct controller *c)
{
	bool changed = false;
	char *problem = config_read_keys(c->options, &c->keys, &changed);
	if (problem != NULL)
		log_event(&EV_KEYS_UNREADABLE, LOG_STR("reason", problem));
	else if (changed)
		log_event(&EV_KEYS_CHANGED);
	free(problem);
	if (changed)
		request_queue_retry_now(c->client.queue);
}

static void read_peer_again(struct controller *c)
{
	char *problem = NULL;
	struct http_peer *fresh = config_read_peer(c->options, &problem);
	if (fresh == NULL) {
		log_event(&EV_TLS_UNREADABLE, LOG_STR("reason", problem));
		free(problem);
		return;
	}
	if (http_peer_is_same(fresh, c->peer)) {
		http_peer_release(fresh);
		return;
	}
	http_peer_release(c->peer);
	c->peer = fresh;
	api_peer_changed(c->client.api);
	log_event(&EV_TLS_CHANGED);
	request_queue_retry_now(c->client.queue);
}

void controller_reload(struct controller *c)
{
	read_keys_again(c);
	read_peer_again(c);
}

static void on_outage(void *ctx, const char *reason)
{
	struct controller *c = ctx;
	if (reason != NULL) {
		log_event(&EV_OUTAGE, LOG_STR("reason", reason));
		/* The keys or CA files may have been replaced. */
		controller_reload(c);
	} else {
		log_event(&EV_OUTAGE_OVER);
	}
	balancers_tell_statuses(c->balancers);
	check_ready(c);
}

/* ---- observations from lists ---- */

static void on_row(void *ctx, struct lb_row *row, unsigned changes)
{
	balancers_on_row(((struct controller *)ctx)->balancers, row, changes);
}

static void on_row_unseen(void *ctx, struct lb_row *row)
{
	balancers_on_unseen(((struct controller *)ctx)->balancers, row);
}

static void on_event_missed(void *ctx)
{
	feed_missed(((struct controller *)ctx)->feed);
}

static void on_certificate(void *ctx, const struct json *item, uint64_t number)
{
	certs_take(((struct controller *)ctx)->certs, item, number);
}

static void on_certificates_end(void *ctx, uint64_t number)
{
	certs_end_list(((struct controller *)ctx)->certs, number);
}

static void on_service_known(void *ctx, struct balancer *balancer)
{
	balancer_touch(balancer);
}

/* Resumes all balancers once the inventory is complete. */
static void on_listed(void *ctx)
{
	struct controller *c = ctx;
	if (!inventory_is_known(c->inventory))
		return;
	balancers_on_listed(c->balancers, c->follows);
	certs_on_listed(c->certs);
}

static void on_image(void *ctx)
{
	balancers_on_image(((struct controller *)ctx)->balancers);
}

static void on_unavailable(void *ctx)
{
	balancers_tell_statuses(((struct controller *)ctx)->balancers);
}

static void on_progress(void *ctx)
{
	check_ready(ctx);
}

static bool is_quiet(void *ctx)
{
	const struct controller *c = ctx;
	return feed_is_proven(c->feed) && !balancers_are_busy(c->balancers);
}

static const struct inventory_ops inventory_ops = {
	.on_row = on_row,
	.on_row_unseen = on_row_unseen,
	.on_event_missed = on_event_missed,
	.on_certificate = on_certificate,
	.on_certificates_end = on_certificates_end,
	.on_service_known = on_service_known,
	.on_listed = on_listed,
	.on_image = on_image,
	.on_unavailable = on_unavailable,
	.on_progress = on_progress,
	.is_quiet = is_quiet,
};

/* ---- observations from events ---- */

static void on_feed_open(void *ctx)
{
	inventory_resync(((struct controller *)ctx)->inventory);
}

static void on_feed_closed(void *ctx)
{
	/* The next list may be far away. */
	inventory_list_soon(((struct controller *)ctx)->inventory);
}

/* An event shows a past state. While a request of ours is in flight, its response is more reliable. */
static void on_lb_change(struct controller *c, const struct json *resource)
{
	struct lb_row *row = observed_find(c->observed, json_text(json_get(resource, "id")));
	unsigned changes = 0;
	if (row == NULL || (row->owner != NULL && balancer_overtake(row->owner)))
		return;
	/* An abridged resource is only a hint. */
	if (!json_is_object(json_get(resource, "lbConfig")) ||
		!json_is_object(json_get(resource, "launchConfig"))) {
		inventory_list_now(c->inventory);
		return;
	}
	row = inventory_take_lb(c->inventory, resource, api_number(c->client.api), &changes);
	if (row != NULL)
		balancers_on_row(c->balancers, row, changes);
}

static void on_feed_change(void *ctx, struct str type, const struct json *resource)
{
	struct controller *c = ctx;
	if (str_eq_c(type, "loadBalancerService"))
		on_lb_change(c, resource);
	else if (str_eq_c(type, "kubernetesService"))
		inventory_take_service(c->inventory, resource);
	else if (str_eq_c(type, "certificate"))
		certs_take(c->certs, resource, api_number(c->client.api));
	else if (str_eq_c(type, "stack"))
		inventory_take_stack(c->inventory, resource);
}

static const struct feed_ops feed_ops = {on_feed_open, on_feed_change, on_feed_closed};

/* ---- the translator ---- */

static void on_commit(void *ctx, const struct state_commit *commit)
{
	struct controller *c = ctx;
	certs_on_commit(c->certs, commit);
	balancers_on_commit(c->balancers, commit);
	if (commit->is_snapshot)
		on_listed(c);
	check_ready(c);
}

static bool fill_status(
	void *ctx, struct object *load_balancer, struct arena *arena, struct lb_status *status)
{
	return balancers_fill_status(
		((struct controller *)ctx)->balancers, load_balancer, arena, status);
}

static void on_link(void *ctx, bool is_up)
{
	struct controller *c = ctx;
	c->is_linked = is_up;
	check_ready(c);
}

static bool may_write(void *ctx)
{
	const struct controller *c = ctx;
	return !c->follows && provider_may_act(c->provider);
}

static void on_lead(void *ctx, bool may_act)
{
	struct controller *c = ctx;
	c->follows = true;
	if (may_act)
		inventory_take_over(c->inventory);
}

static const struct provider_ops provider_ops = {
	.reduce = rancher_reduce,
	.on_commit = on_commit,
	.fill_status = fill_status,
	.on_lead = on_lead,
	.on_link = on_link,
};

static void on_certificate_use(void *ctx, struct str id, int change)
{
	certs_on_use(((struct controller *)ctx)->certs, id, change);
}

static void on_certificate_change(void *ctx, struct object *user)
{
	balancers_touch_object(user);
}

static void on_hold_over(void *ctx, struct shown *shown, bool warn)
{
	balancer_on_hold_over(shown, warn);
}

static void make_provider(struct controller *c)
{
	char *path = daemon_runtime_path(&c->options->common, "provider.sock");
	struct provider_config provider_config = {
		.loop = c->client.loop,
		.socket_path = path,
		.name = STR("rancher"),
		.software = STR("sluice-provider-rancher " SLUICE_VERSION),
		.capabilities = rancher_capabilities(),
		.want_touched = true,
		.ops = &provider_ops,
		.ctx = c,
	};
	c->provider = provider_new(&provider_config);
	free(path);
}

/* ---- lifecycle ---- */

static void make_inventory(struct controller *c)
{
	struct inventory_config config = {
		.client = &c->client,
		.options = c->options,
		.external_id = c->external_id_prefix,
		.observed = c->observed,
		.services = c->services,
		.ops = &inventory_ops,
		.ctx = c,
	};
	c->inventory = inventory_new(&config);
}

static void make_certs(struct controller *c)
{
	struct certs_config config = {
		.client = &c->client,
		.options = c->options,
		.provider = c->provider,
		.inventory = c->inventory,
		.on_change = on_certificate_change,
		.ctx = c,
	};
	c->certs = certs_new(&config);
}

static void make_balancers(struct controller *c)
{
	struct balancer_context context = {
		.client = &c->client,
		.options = c->options,
		.external_id = c->external_id_prefix,
		.provider = c->provider,
		.observed = c->observed,
		.services = c->services,
		.inventory = c->inventory,
		.certs = c->certs,
		.hold = c->hold,
		.registry = c->registry,
	};
	c->balancers = balancers_new(&context);
}

static void make_feed(struct controller *c)
{
	struct feed_config config = {
		.client = &c->client,
		.options = c->options,
		.keys = &c->keys,
		.peer = &c->peer,
		.ops = &feed_ops,
		.ctx = c,
	};
	c->feed = feed_new(&config);
}

static void make_parts(struct controller *c)
{
	const char *problem = NULL;
	char *base = rancher_url_base(str_from(c->options->url), &problem);
	unsigned connections = (unsigned)c->options->parallel + 1;
	c->external_id_prefix = xasprintf("%s://", c->options->stack);
	c->client.api = api_new(
		c->client.loop, base, &c->peer, &c->keys, c->options->client_timeout, connections);
	c->client.queue =
		request_queue_new(c->client.loop, (size_t)c->options->parallel, on_outage, c);
	make_provider(c);
	c->observed = observed_new(c->external_id_prefix, on_certificate_use, c);
	c->services = services_new();
	make_inventory(c);
	make_certs(c);
	c->hold = address_hold_new(c->client.loop, c->options->endpoint_grace, on_hold_over, c);
	c->registry = registry_new(c->observed, c->options);
	make_balancers(c);
	make_feed(c);
	request_queue_set_gate(c->client.queue, may_write, c);
	free(base);
}

static void collect(void *ctx)
{
	const struct controller *c = ctx;
	metric_set(&rancher_metrics[RANCHER_OUTAGE], 0,
		request_queue_outage_reason(c->client.queue) != NULL);
	metric_set(&rancher_metrics[RANCHER_WAITING], 0,
		(double)request_queue_waiting(c->client.queue));
}

static void start_metrics(struct controller *c)
{
	metrics_add(rancher_metrics, RANCHER_METRIC_COUNT);
	metrics_collect_with(collect, c);
	for (unsigned i = API_OK; i <= API_OUTAGE; i++)
		metric_add(&rancher_metrics[RANCHER_REQUESTS], i, 0);
}

struct controller *controller_new(const struct config *options, char **ret_problem)
{
	struct controller *c = xcalloc(1, sizeof(*c));
	bool changed = false;
	c->options = options;
	char *problem = config_read_keys(options, &c->keys, &changed);
	if (problem == NULL)
		c->peer = config_read_peer(options, &problem);
	if (problem == NULL)
		return c;
	controller_free(c);
	*ret_problem = problem;
	return NULL;
}

void controller_start(struct controller *c, struct daemon *daemon)
{
	c->daemon = daemon;
	c->client.loop = daemon_loop(daemon);
	make_parts(c);
	start_metrics(c);
	check_ready(c);
	inventory_start(c->inventory);
	feed_start(c->feed);
}

void controller_free(struct controller *c)
{
	if (c == NULL)
		return;
	feed_free(c->feed);
	balancers_free(c->balancers);
	registry_free(c->registry);
	address_hold_free(c->hold);
	certs_free(c->certs);
	inventory_free(c->inventory);
	provider_free(c->provider, "shutting down");
	services_free(c->services);
	observed_free(c->observed);
	request_queue_free(c->client.queue);
	api_free(c->client.api);
	free(c->external_id_prefix);
	http_peer_release(c->peer);
	credentials_fini(&c->keys);
	free(c);
}
