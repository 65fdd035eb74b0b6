// SPDX-License-Identifier: Apache-2.0
#include "provider-elb/controller.h"

#include "common/version.h"
#include "common/xalloc.h"
#include "provider-elb/balancers.h"
#include "provider-elb/capabilities.h"
#include "provider-elb/dns.h"
#include "provider-elb/gauges.h"
#include "provider-elb/log_events.h"
#include "provider-elb/region.h"

#include <stdlib.h>

/* Below what an account has: at a rate that is as high as its own, nothing else takes in how unevenly calls arrive. Route 53 allows five calls in each second: with the two of
 * --dns-rate a burst of three is as much. */
enum { TARGET_BURST = 10, WRITE_BURST = 10, READ_BURST = 30, OTHER_BURST = 10, DNS_BURST = 3 };
enum { LIST_SUBNETS, LIST_SECURITY_GROUPS, LIST_INBOUND, LIST_ZONES, LIST_COUNT };

struct controller {
	struct daemon *daemon;
	const struct config *options;
	struct settings settings;
	struct aws_environment environment;
	struct endpoints endpoints;
	struct region *region;
	struct credentials *credentials;
	struct call_context calls;
	struct observed *observed;
	struct inventory *inventory;
	struct metadata *metadata;
	struct network *network;
	struct str *lists[LIST_COUNT]; /* views of the options */
	struct certs *certs;
	struct dns *dns; /* NULL: records are not kept */
	struct balancer_context context;
	struct balancers *balancers;
	struct gauges gauges;
	struct provider *provider;
	ev_timer sweep;
	char *no_credentials; /* why there are none; NULL: there are some */
	bool is_linked;       /* the translator is connected */
	bool follows; /* another replica is active, or was until just now: what it did has to be read first */
};

/* Reports what readiness waits for, and enables writes once they are allowed. Cheap. */
static void check_ready(struct controller *c)
{
	const char *missing = NULL;
	if (c->balancers == NULL)
		return;
	if (region_missing_text(c->region) != NULL)
		missing = region_missing_text(c->region);
	else if (c->no_credentials != NULL)
		missing = c->no_credentials;
	else if (inventory_missing_text(c->inventory) != NULL)
		missing = inventory_missing_text(c->inventory);
	else if (!c->is_linked)
		missing = "the translator";
	else if (!state_is_complete(provider_state(c->provider)))
		missing = "the translator's first snapshot";
	daemon_set_missing(c->daemon, missing);
	call_queue_wake(c->calls.queue);
}

/* ---- credentials, calls ---- */

static void on_credentials(void *ctx, const char *problem)
{
	struct controller *c = ctx;
	free(c->no_credentials);
	c->no_credentials = problem != NULL ? xstrdup(problem) : NULL;
	if (problem != NULL)
		log_event(&EV_CREDENTIALS_MISSING, LOG_STR("reason", problem));
	else
		log_event(&EV_CREDENTIALS, LOG_STR("source", credentials_source(c->credentials)));
	if (problem == NULL)
		call_queue_retry_now(c->calls.queue);
	check_ready(c);
}

void controller_reload(struct controller *c)
{
	if (!region_read_authorities(c->region))
		return;
	client_peer_changed(c->calls.client);
	credentials_peer_changed(c->credentials);
	call_queue_retry_now(c->calls.queue);
}

static void on_outage(void *ctx, const char *reason)
{
	struct controller *c = ctx;
	if (reason != NULL) {
		log_event(&EV_OUTAGE, LOG_STR("reason", reason));
		/* The authorities may have been replaced. */
		controller_reload(c);
	} else {
		log_event(&EV_OUTAGE_OVER);
	}
	if (c->balancers != NULL)
		balancers_tell_statuses(c->balancers);
	check_ready(c);
}

/* ---- what AWS has ---- */

static void on_certificate_row(void *ctx, struct str arn, struct str identity, struct str applied)
{
	certs_take_row(((struct controller *)ctx)->certs, arn, identity, applied);
}

static void on_certificates_end(void *ctx)
{
	certs_listed(((struct controller *)ctx)->certs);
}

static void on_listed(void *ctx)
{
	struct controller *c = ctx;
	/* This pass began after the other replica had to stop, so everything that it has done is known by now. */
	if (c->follows && provider_may_act(c->provider))
		c->follows = false;
	balancers_on_listed(c->balancers);
	dns_wake(c->dns);
	check_ready(c);
}

static void on_changed(void *ctx, struct str lb)
{
	struct controller *c = ctx;
	balancers_on_changed(c->balancers, lb);
	dns_wake(c->dns);
}

static void on_progress(void *ctx)
{
	struct controller *c = ctx;
	if (c->balancers != NULL && !inventory_is_known(c->inventory))
		balancers_tell_statuses(c->balancers);
	check_ready(c);
}

static const struct inventory_ops inventory_ops = {
	.on_certificate = on_certificate_row,
	.on_certificates_end = on_certificates_end,
	.on_listed = on_listed,
	.on_changed = on_changed,
	.on_progress = on_progress,
};

static void on_network(void *ctx)
{
	struct controller *c = ctx;
	if (c->balancers != NULL)
		balancers_on_network(c->balancers);
}

static void on_certificate(void *ctx, struct str id)
{
	struct controller *c = ctx;
	if (c->balancers != NULL)
		balancers_on_certificate(c->balancers, id);
}

static void on_certificates_known(void *ctx)
{
	struct controller *c = ctx;
	if (c->balancers != NULL)
		balancers_wake(c->balancers);
}

static void on_sweep(struct ev_loop *loop, ev_timer *timer, int events)
{
	struct controller *c = timer->data;
	balancers_sweep_next(c->balancers);
}

/* ---- DNS records ---- */

static bool may_write(void *ctx)
{
	const struct controller *c = ctx;
	return !c->follows && c->provider != NULL && provider_may_act(c->provider);
}

static bool may_start_dns(void *ctx)
{
	const struct controller *c = ctx;
	return may_write(ctx) && state_is_complete(provider_state(c->provider)) &&
	       inventory_is_known(c->inventory);
}

static void list_hosts(void *ctx, struct arena *arena, struct records_wishes *wishes)
{
	balancers_list_hosts(((struct controller *)ctx)->balancers, arena, wishes);
}

static void on_dns_told(void *ctx)
{
	balancers_on_dns(((struct controller *)ctx)->balancers);
}

/* ---- the translator ---- */

static void on_commit(void *ctx, const struct state_commit *commit)
{
	struct controller *c = ctx;
	certs_on_commit(c->certs, commit);
	balancers_on_commit(c->balancers, commit);
	if (commit->is_snapshot && inventory_is_known(c->inventory))
		balancers_on_listed(c->balancers);
	dns_on_commit(c->dns, commit);
	check_ready(c);
}

static bool fill_status(
	void *ctx, struct object *load_balancer, struct arena *arena, struct lb_status *status)
{
	struct controller *c = ctx;
	/* What serves may be another one now. */
	dns_wake(c->dns);
	return balancers_fill_status(c->balancers, load_balancer, arena, status);
}

static void on_link(void *ctx, bool is_up)
{
	struct controller *c = ctx;
	c->is_linked = is_up;
	check_ready(c);
}

static void on_lead(void *ctx, bool may_act)
{
	struct controller *c = ctx;
	c->follows = true;
	dns_restart(c->dns);
	if (!may_act)
		return;
	certs_take_over(c->certs);
	inventory_start_over(c->inventory);
	balancers_start_over(c->balancers);
}

static const struct provider_ops provider_ops = {
	.on_commit = on_commit,
	.fill_status = fill_status,
	.on_lead = on_lead,
	.on_link = on_link,
};

static void make_provider(struct controller *c)
{
	char *path = daemon_runtime_path(&c->options->common, "provider.sock");
	struct provider_config provider_config = {
		.loop = c->calls.loop,
		.socket_path = path,
		.name = STR("elb"),
		.software = STR("sluice-provider-elb " SLUICE_VERSION),
		.capabilities = elb_capabilities(),
		.want_touched = true,
		.ops = &provider_ops,
		.ctx = c,
	};
	c->provider = provider_new(&provider_config);
	free(path);
}

/* ---- lifecycle ---- */

static void make_queue(struct controller *c)
{
	const struct config *options = c->options;
	struct call_queue_config config = {
		.loop = c->calls.loop,
		.rates = {[CALL_TARGETS] = {options->target_rate, TARGET_BURST},
			[CALL_WRITE] = {options->write_rate, WRITE_BURST},
			[CALL_READ] = {options->read_rate, READ_BURST},
			[CALL_OTHER] = {options->other_rate, OTHER_BURST},
			[CALL_DNS] = {options->dns_rate, DNS_BURST}},
		.parallel_max = (size_t)options->parallel,
		.on_outage = on_outage,
		.ctx = c,
	};
	c->calls.queue = call_queue_new(&config);
	c->calls.client =
		client_new(c->calls.loop, c->credentials, &c->endpoints, options->client_timeout);
}

static void make_inventory(struct controller *c)
{
	struct inventory_config config = {
		.calls = &c->calls,
		.options = c->options,
		.observed = c->observed,
		.ops = &inventory_ops,
		.ctx = c,
	};
	c->inventory = inventory_new(&config);
}

static void make_network(struct controller *c)
{
	const struct config *options = c->options;
	struct network_config config = {
		.context = &c->calls,
		.metadata = c->metadata,
		.vpc = str_from(options->vpc),
		.subnets = config_list(&options->subnets, &c->lists[LIST_SUBNETS]),
		.security_groups =
			config_list(&options->security_groups, &c->lists[LIST_SECURITY_GROUPS]),
		.backend_security_group = str_from(options->backend_security_group),
		.inbound = config_list(&options->inbound, &c->lists[LIST_INBOUND]),
		.settings = &c->settings,
		.on_change = on_network,
		.ctx = c,
	};
	c->network = network_new(&config);
}

static void make_certs(struct controller *c)
{
	struct certs_config config = {
		.loop = c->calls.loop,
		.client = c->calls.client,
		.queue = c->calls.queue,
		.state = provider_state(c->provider),
		.settings = &c->settings,
		.remove_delay_s = c->options->orphan_grace,
		.on_change = on_certificate,
		.on_known = on_certificates_known,
		.ctx = c,
	};
	c->certs = certs_new(&config);
}

static void make_dns(struct controller *c)
{
	struct dns_config config = {
		.calls = &c->calls,
		.zones = config_list(&c->options->zones, &c->lists[LIST_ZONES]),
		.cluster = c->settings.cluster,
		.interval_s = c->options->list_interval,
		.may_start = may_start_dns,
		.list_hosts = list_hosts,
		.on_told = on_dns_told,
		.ctx = c,
	};
	if (config.zones.count != 0)
		c->dns = dns_new(&config);
}

static void make_balancers(struct controller *c)
{
	c->context = (struct balancer_context){
		.calls = &c->calls,
		.options = c->options,
		.settings = &c->settings,
		.provider = c->provider,
		.observed = c->observed,
		.network = c->network,
		.certs = c->certs,
		.inventory = c->inventory,
		.dns = c->dns,
	};
	c->balancers = balancers_new(&c->context);
}

/* The region is known: calls can be made. */
static void begin_calls(void *ctx)
{
	struct controller *c = ctx;
	credentials_start(c->credentials);
	network_start(c->network);
	inventory_start(c->inventory);
}

static void on_region(void *ctx)
{
	check_ready(ctx);
}

static char *read_environment(struct controller *c)
{
	struct region_config region_config = {
		.loop = c->calls.loop,
		.options = c->options,
		.environment = &c->environment,
		.endpoints = &c->endpoints,
		.on_found = begin_calls,
		.on_change = on_region,
		.ctx = c,
	};
	struct credentials_config config = {
		.loop = c->calls.loop,
		.environment = &c->environment,
		.endpoints = &c->endpoints,
		.on_change = on_credentials,
		.ctx = c,
	};
	char *problem = NULL;
	c->environment.get = aws_environment_getenv;
	c->region = region_new(&region_config, &problem);
	if (problem == NULL)
		c->credentials = credentials_new(&config, &problem);
	return problem;
}

struct controller *controller_new(
	const struct config *options, struct ev_loop *loop, char **ret_problem)
{
	struct controller *c = xcalloc(1, sizeof(*c));
	c->options = options;
	c->calls.loop = loop;
	ev_init(&c->sweep, on_sweep);
	c->sweep.data = c;
	config_settings(options, &c->settings);
	*ret_problem = read_environment(c);
	if (*ret_problem == NULL)
		return c;
	controller_free(c);
	return NULL;
}

static void start_sweep(struct controller *c)
{
	if (c->options->sweep_interval <= 0)
		return;
	ev_timer_set(&c->sweep, c->options->sweep_interval, c->options->sweep_interval);
	ev_timer_start(c->calls.loop, &c->sweep);
}

void controller_start(struct controller *c, struct daemon *daemon)
{
	c->daemon = daemon;
	if (!metadata_is_disabled(&c->environment))
		c->metadata = metadata_new(c->calls.loop, &c->environment);
	make_queue(c);
	make_provider(c);
	c->observed = observed_new();
	make_inventory(c);
	make_network(c);
	make_certs(c);
	make_dns(c);
	make_balancers(c);
	c->gauges = (struct gauges){c->calls.queue, c->observed};
	call_queue_set_gate(c->calls.queue, may_write, c);
	gauges_start(&c->gauges);
	start_sweep(c);
	region_start(c->region, c->metadata);
	check_ready(c);
}

void controller_free(struct controller *c)
{
	if (c == NULL)
		return;
	ev_timer_stop(c->calls.loop, &c->sweep);
	balancers_free(c->balancers);
	dns_free(c->dns);
	certs_free(c->certs);
	network_free(c->network);
	inventory_free(c->inventory);
	observed_free(c->observed);
	provider_free(c->provider, "shutting down");
	client_free(c->calls.client);
	call_queue_free(c->calls.queue);
	credentials_free(c->credentials);
	region_free(c->region);
	metadata_free(c->metadata);
	endpoints_fini(&c->endpoints);
	for (size_t i = 0; i < LIST_COUNT; i++)
		free(c->lists[i]);
	free(c->no_credentials);
	free(c);
}
