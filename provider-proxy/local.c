// SPDX-License-Identifier: Apache-2.0
#include "provider-proxy/local.h"

#include "common/xalloc.h"
#include "provider-proxy/confine.h"
#include "common/files.h"
#include "provider-proxy/log_events.h"
#include "provider-proxy/metrics.h"
#include "provider-proxy/shown.h"
#include "provider-proxy/supervisor.h"
#include "provider-proxy/usable.h"
#include "provider-proxy/verdict.h"

#include <errno.h>
#include <unistd.h>

struct local {
	struct daemon *daemon;
	const struct local_options *options;
	const struct local_ops *ops;
	void *ctx;
	struct provider *provider;
	struct rows *rows;
	struct notices *notices;
	struct routes *routes;
	struct destinations *destinations;
	struct publish *publish;
	struct unserved *unserved;
	struct usable *usable;
	struct ports *next_unserved; /* fewer, once what is wanted is in force; NULL: the same */
	struct verdict verdict;
	char *supervisor;
	char *missing;
	mode_t folder_mode;
	bool has_new_folder;
	bool has_kept_proxies; /* networks of load balancers do not count */
	bool is_linked;
	bool knows_ports; /* whether the ports wanted now are available is known */
	bool has_settled; /* the first snapshot was applied, or has failed: what could be applied serves */
};

/* ---- readiness and statuses ---- */

static void check_ready(struct local *local)
{
	const char *missing = local->missing;
	if (missing == NULL && !state_is_complete(provider_state(local->provider)))
		missing = local->is_linked ? "the translator's first snapshot" : "the translator";
	if (missing == NULL && !local->has_settled)
		missing = "the first snapshot to be applied";
	if (missing == NULL)
		missing = unserved_missing(local->unserved);
	daemon_set_missing(local->daemon, missing);
}

static void tell_all(void *ctx)
{
	struct local *local = ctx;
	if (local->provider == NULL)
		return;
	struct object *object = state_first(provider_state(local->provider), LB_LOAD_BALANCER);
	for (; object != NULL; object = state_next(provider_state(local->provider), object))
		provider_status_changed(local->provider, object);
}

/* As tell_all(), when each status says the same as the one before. */
static void tell_same(struct local *local)
{
	struct object *object = state_first(provider_state(local->provider), LB_LOAD_BALANCER);
	for (; object != NULL; object = state_next(provider_state(local->provider), object))
		provider_status_same(local->provider, object);
}

static void set_state(struct local *local, enum lb_state state, const char *message)
{
	enum verdict_news news = verdict_set(&local->verdict, state, message);
	if (state != LB_STATE_PENDING && !local->has_settled &&
		state_is_complete(local_state(local))) {
		local->has_settled = true;
		check_ready(local);
	}
	/* Revisions may differ under the same message; duplicates are not sent. */
	if (news == VERDICT_NEW)
		tell_all(local);
	else if (news == VERDICT_SAME)
		tell_same(local);
}

static void take_next_unserved(struct local *local)
{
	if (local->next_unserved == NULL)
		return;
	unserved_set(local->unserved, local->next_unserved);
	ports_free(local->next_unserved);
	local->next_unserved = NULL;
	verdict_set_stale(&local->verdict);
	check_ready(local);
}

void local_applied(struct local *local)
{
	take_next_unserved(local);
	set_state(local, LB_STATE_APPLIED, NULL);
}

void local_pending(struct local *local, const char *why)
{
	set_state(local, LB_STATE_PENDING, why);
}

void local_failed(struct local *local, const char *why)
{
	set_state(local, LB_STATE_FAILED, why);
}

void local_set_served(struct local *local, bool is_served)
{
	provider_set_applied(local->provider, is_served && local->has_settled);
}

void local_set_missing(struct local *local, const char *missing)
{
	char *copy = missing != NULL ? xstrdup(missing) : NULL;
	free(local->missing);
	local->missing = copy;
	if (local->provider != NULL)
		check_ready(local);
}

/* ---- the translator ---- */

static bool amend(
	void *ctx, const struct object *old, enum lb_kind kind, void *value, struct arena *arena)
{
	struct local *local = ctx;
	return kind == LB_CERTIFICATE && usable_admit(local->usable, local_state(local), old, value,
						 local->ops->drops_unusable, arena);
}

static void on_commit(void *ctx, const struct state_commit *commit)
{
	struct local *local = ctx;
	bool has_balancer = commit->is_snapshot;
	usable_on_commit(local->usable, commit);
	for (size_t i = 0; i < commit->change_count; i++) {
		bool is_one = object_kind(commit->changes[i].object) == LB_LOAD_BALANCER;
		local->knows_ports = local->knows_ports && !is_one;
		has_balancer = has_balancer || is_one;
	}
	if (has_balancer)
		verdict_set_stale(&local->verdict);
	bool is_elsewhere = destinations_on_commit(local->destinations, commit);
	routes_on_commit(local->routes, provider_state(local->provider), commit);
	/* What was found to be served until now was without this commit. */
	provider_set_applied(local->provider, false);
	local->ops->on_commit(local->ctx, commit);
	if (is_elsewhere)
		destinations_settle(local->destinations);
	if (has_balancer)
		tell_all(local);
	check_ready(local);
}

static bool fill_status(
	void *ctx, struct object *load_balancer, struct arena *arena, struct lb_status *status)
{
	struct local *local = ctx;
	struct load_balancer value;
	if (!verdict_tell(&local->verdict))
		return false;
	provider_decode(local->provider, load_balancer, arena, &value);
	status->state = local->verdict.state;
	status->message = str_from(local->verdict.message);
	if (value.absent || value.keep)
		return status->state == LB_STATE_APPLIED;
	shown_fill(&(struct shown){local->publish, local->unserved}, &value, arena, status);
	status->addresses_known = status->addresses_known && local->knows_ports;
	status->notices.count =
		notices_list(local->notices, value.key.id, arena, &status->notices.items);
	return true;
}

static void on_link(void *ctx, bool is_up)
{
	struct local *local = ctx;
	local->is_linked = is_up;
	check_ready(local);
	if (local->ops->on_link != NULL)
		local->ops->on_link(local->ctx, is_up);
}

static void make_provider(struct local *local, const struct local_config *config)
{
	static const struct provider_ops ops = {
		.amend = amend,
		.on_commit = on_commit,
		.fill_status = fill_status,
		.on_link = on_link,
	};
	char *path = daemon_runtime_path(&config->options->common, "provider.sock");
	struct provider_config provider_config = {
		.loop = daemon_loop(config->daemon),
		.socket_path = path,
		.name = str_from(config->name),
		.software = str_from(config->software),
		.capabilities = config->capabilities,
		.ops = &ops,
		.ctx = local,
	};
	local->provider = provider_new(&provider_config);
	free(path);
}

static char *make_destinations(struct local *local)
{
	char *problem = NULL;
	char *file = local_path(local, "externals");
	struct destinations_config config = {
		.loop = daemon_loop(local->daemon),
		.dns_servers = &local->options->dns_servers,
		.egress = &local->options->egress,
		.publish = local->publish,
		.notices = local->notices,
		.state = provider_state(local->provider),
		.file = file,
		.on_pool = local->ops->on_pool,
		.ctx = local->ctx,
		.on_look = tell_all,
		.look_ctx = local,
	};
	local->destinations = destinations_new(&config, &problem);
	free(file);
	return problem;
}

/* ---- lifecycle ---- */

static char *confine(const struct local *local, const struct local_config *config)
{
	const struct confine_paths paths = {
		.state_dir = config->options->state_dir,
		.proxy_dir = local_proxy_dir(config->options),
		.runtime_dir = config->options->common.runtime_dir,
		.access_log = access_log_file(
			config->options->access_log, config->options->access_log_to),
		.supervisor = local->supervisor,
		.proxy = {config->proxy[0], config->proxy[1], config->proxy[2], config->proxy[3]},
	};
	return daemon_confine(config->daemon, confine_local(&paths));
}

static char *make_folder(const char *what, const char *path, mode_t mode)
{
	int err = files_make_dir(path, mode);
	/* A read-only folder is acceptable: the proxy may start from it. */
	return err == 0 || files_exist(path) ? NULL
					     : xasprintf("the %s %.400s cannot be made: %s", what,
						       path, files_problem(err));
}

/* The administrator of the provider goes before whoever has written the load balancer. */
static void tell_kept_proxies(struct local *local, const struct ports *ports)
{
	bool are_kept = local->options->trusted_proxies.count != 0 && ports_name_fronts(ports);
	if (are_kept && !local->has_kept_proxies)
		log_event(&EV_TRUSTED_PROXIES_KEPT);
	local->has_kept_proxies = are_kept;
}

void local_set_ports(struct local *local, const struct ports *ports)
{
	tell_kept_proxies(local, ports);
	local->knows_ports = true;
	verdict_set_stale(&local->verdict);
	ports_free(local->next_unserved);
	local->next_unserved = ports_copy(ports);
	if (ports->unserved_count < unserved_total(local->unserved))
		return;
	take_next_unserved(local);
	tell_all(local);
}

struct local *local_start(const struct local_config *config, char **ret_problem, bool *ret_usage)
{
	const struct local_options *options = config->options;
	struct local *local = xcalloc(1, sizeof(*local));
	local->daemon = config->daemon;
	local->options = options;
	local->folder_mode = config->folder_mode;
	local->ops = config->ops;
	local->ctx = config->ctx;
	verdict_init(&local->verdict, daemon_loop(config->daemon), tell_all, local);
	local->publish =
		publish_new(&options->publish_addresses, &options->bind_addresses, ret_problem);
	if (local->publish == NULL) {
		*ret_usage = true;
		free(local);
		return NULL;
	}
	local->rows = rows_new();
	local->notices = notices_new(tell_all, local);
	/* Before the sandbox, because OpenSSL reads its configuration file. */
	local->usable = usable_new(local->notices);
	local->unserved = unserved_new(local->notices);
	local->routes = routes_new(local->rows, local->notices, config->routes, config->writer);
	routes_name_owners(local->routes,
		options->access_log != ACCESS_LOG_OFF || options->metrics_ingresses != 0);
	local->supervisor =
		options->supervisor != NULL ? xstrdup(options->supervisor) : supervisor_find();
	make_provider(local, config);
	*ret_problem = make_destinations(local);
	if (*ret_problem != NULL) {
		*ret_usage = true;
		local_free(local);
		return NULL;
	}
	proxy_metrics_start(local->rows);
	local->has_new_folder = !files_exist(options->state_dir);
	*ret_problem = make_folder("state folder", options->state_dir, config->folder_mode);
	if (*ret_problem == NULL)
		*ret_problem = make_folder(
			"folder of the proxy", local_proxy_dir(options), config->folder_mode);
	if (*ret_problem == NULL)
		*ret_problem = confine(local, config);
	if (*ret_problem != NULL) {
		local_free(local);
		return NULL;
	}
	check_ready(local);
	return local;
}

void local_free(struct local *local)
{
	if (local == NULL)
		return;
	proxy_metrics_stop(local->rows);
	routes_free(local->routes, provider_state(local->provider));
	struct provider *provider = local->provider;
	local->provider = NULL;
	provider_free(provider, "shutting down");
	destinations_free(local->destinations);
	unserved_free(local->unserved);
	ports_free(local->next_unserved);
	notices_free(local->notices);
	rows_free(local->rows);
	publish_free(local->publish);
	usable_free(local->usable);
	free(local->supervisor);
	verdict_fini(&local->verdict);
	free(local->missing);
	free(local);
}

bool local_has_new_folder(const struct local *local)
{
	return local->has_new_folder;
}

static void end_without_folder(struct local *local, const char *folder)
{
	if (daemon_has_failed(local->daemon))
		return;
	log_event(&EV_FOLDER_LOST, LOG_STR("folder", folder));
	daemon_fail(local->daemon);
}

void local_end_without_folder(struct local *local)
{
	end_without_folder(local, local->options->state_dir);
}

bool local_keep_proxy_folder(struct local *local)
{
	const char *folder = local_proxy_dir(local->options);
	int err = files_exist(folder) ? 0 : files_make_dir(folder, local->folder_mode);
	if (err == -EACCES)
		end_without_folder(local, folder);
	return err == 0;
}

void local_yield(struct local *local, double seconds)
{
	provider_pause(local->provider, seconds);
}

void local_be_taken(struct local *local, const char *by)
{
	log_event(&EV_PROXY_TAKEN, LOG_STR("by", by));
	ev_break(daemon_loop(local->daemon), EVBREAK_ALL);
}

struct state *local_state(struct local *local)
{
	return provider_state(local->provider);
}

struct rows *local_rows(struct local *local)
{
	return local->rows;
}

struct routes *local_routes(struct local *local)
{
	return local->routes;
}

struct externals *local_externals(struct local *local)
{
	return destinations_externals(local->destinations);
}

struct notices *local_notices(struct local *local)
{
	return local->notices;
}

const struct publish *local_publish(struct local *local)
{
	return local->publish;
}

struct ev_loop *local_loop(struct local *local)
{
	return daemon_loop(local->daemon);
}

char *local_path(const struct local *local, const char *name)
{
	return xasprintf("%s/%s", local->options->state_dir, name);
}

const char *local_proxy_dir(const struct local_options *options)
{
	return options->proxy_dir != NULL ? options->proxy_dir : options->state_dir;
}

const char *local_supervisor(const struct local *local)
{
	return local->options->start_supervisor ? local->supervisor : NULL;
}

char *local_proxy_path(const struct local *local, const char *name)
{
	return xasprintf("%s/%s", local_proxy_dir(local->options), name);
}
