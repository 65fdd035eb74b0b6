// SPDX-License-Identifier: Apache-2.0
/*
 * sluice-watcher: the only process with Kubernetes credentials. It lists and watches Ingresses, IngressClasses, Services, endpoints and TLS
 * Secrets, turns them into records, and sends these to the translator over source.sock. To Kubernetes it writes statuses of Ingresses and
 * of Services of type LoadBalancer, the finalizers that hold those Services, and Events.
 *
 * Trusted with: the API server's token or client certificate, the private keys in TLS Secrets, and the users in those that Ingresses name; it holds
 * them in memory (wiped when freed) and passes them to the translator. It may open files that its configuration names, run the exec plugin that a kubeconfig names, and
 * connect to the API server (or its proxy) and to one Unix socket. It listens only on its admin server, and never writes a file.
 *
 * When a neighbour dies:
 * - API server gone, slow, or refusing: the last known state stays, here and down the line. Each watch resumes where it was, with
 *   jittered back-off; only a revision that the server no longer has costs a list.
 * - translator gone: changes coalesce in the store, nothing queues; when it is back it gets a snapshot.
 * - this process killed: nothing is removed anywhere. After a restart it lists, sends a snapshot, and writes no status that is right
 * already.
 * - SIGTERM: statuses stay as they are; addresses are removed only when the translator says so.
 * - out of memory or descriptors: it exits with a log line that says so, and its supervisor restarts it.
 *
 * With --manifests it is a filter: it contacts no server and has no neighbours (manifest_filter.h).
 *
 * Read next: cluster.h (what is watched), reflector_fsm.def (how), project.h (what is kept), outlet.h (what is sent), status_plan.h.
 */
#include "common/xalloc.h"
#include "watcher/cluster.h"
#include "watcher/config.h"
#include "watcher/confine.h"
#include "watcher/events.h"
#include "watcher/lease.h"
#include "watcher/log_events.h"
#include "watcher/manifest_filter.h"
#include "watcher/metrics.h"
#include "watcher/named_objects.h"
#include "watcher/rights.h"
#include "watcher/source.h"
#include "watcher/status.h"
#include "watcher/target_find.h"

#include <stdio.h>

enum {
	WRITER_COUNT = 2,
	PART_COUNT = 4 + WRITER_COUNT,
	WORD_MAX = 253,
	MISSING_LEN = 4096,
	CONNECTIONS_BESIDE_WATCHES = 16
};

static struct {
	struct daemon *daemon;
	const struct config *config;
	struct target target;
	struct reflector_options reflectors;
	struct api *api;
	struct store store;
	struct source *source;
	struct status_writer *writers[WRITER_COUNT]; /* of writer_kinds */
	struct events *events;
	struct rights *rights;
	struct cluster *cluster;
	struct lease *lease; /* NULL: no election */
	int kinds[RECORD_KIND_COUNT];
	size_t kind_count;
	/* Why the process is not ready, for each module; NULL: it is. */
	char *cluster_missing;
	char *lease_problem;
	char *events_problem;
	char *rights_missing;
	char *writer_problems[WRITER_COUNT];
} watcher;

static const double RELEASE_LIMIT_S = 2;
static const enum record_kind writer_kinds[WRITER_COUNT] = {RECORD_INGRESS, RECORD_SERVICE};

/* ---- readiness ---- */

static void set_text(char **text, const char *to)
{
	free(*text);
	*text = to != NULL ? xstrdup(to) : NULL;
}

static void tell_readiness(void)
{
	const char *parts[PART_COUNT] = {watcher.cluster_missing, watcher.rights_missing,
		watcher.lease_problem, watcher.events_problem};
	char text[MISSING_LEN] = "";
	size_t used = 0;
	memcpy(parts + PART_COUNT - WRITER_COUNT, watcher.writer_problems,
		sizeof(watcher.writer_problems));
	for (size_t i = 0; i < PART_COUNT; i++) {
		if (parts[i] == NULL || used >= sizeof(text))
			continue;
		used += (size_t)snprintf(
			text + used, sizeof(text) - used, "%s%s", used != 0 ? "\n" : "", parts[i]);
	}
	daemon_set_missing(watcher.daemon, used != 0 ? text : NULL);
}

static void on_missing(void *ctx, const char *missing)
{
	set_text(&watcher.cluster_missing, missing);
	tell_readiness();
}

static void on_writer_problem(void *ctx, const char *problem)
{
	set_text(ctx, problem);
	tell_readiness();
}

/* ---- to the translator ---- */

static void on_kinds(void *ctx, const int *kinds, size_t count)
{
	bool is_first = watcher.kind_count == 0;
	memcpy(watcher.kinds, kinds, count * sizeof(kinds[0]));
	watcher.kind_count = count;
	struct source_settings settings = {
		.kinds = {watcher.kinds, count},
		.ingress_class = str_from(watcher.config->ingress_class),
		.controller_name = str_from(watcher.config->controller_name),
		.without_class = watcher.config->without_class,
		.load_balancer_class = watcher.reflectors.ours.load_balancer_class,
		.without_load_balancer_class = watcher.reflectors.ours.without_class,
		.nginx_options = str_from(watcher.config->ingress_nginx_configmap),
		.tcp_services = str_from(watcher.config->tcp_services_configmap),
		.udp_services = str_from(watcher.config->udp_services_configmap),
	};
	if (!is_first) {
		/* Settings are sent once per connection, so a changed set of kinds needs a new one. */
		log_event(&EV_KINDS_CHANGED);
		source_restart(watcher.source, "another kind is watched now");
	}
	outlet_set_settings(source_outlet(watcher.source), &settings);
}

static void on_version(void *ctx, const struct kind_version *version)
{
	events_set_version(watcher.events, version);
	rights_set_version(watcher.rights, version);
	for (size_t i = 0; i < WRITER_COUNT; i++) {
		if (version->kind == writer_kinds[i])
			status_set_version(watcher.writers[i], version);
		/* Servers that have only beta Ingresses predate `ports` in their status. */
		if (version->kind == RECORD_INGRESS)
			status_set_ports_dropped(watcher.writers[i],
				strcmp(version->group_version, "networking.k8s.io/v1") != 0);
	}
}

static void on_whole(void *ctx)
{
	outlet_set_whole(source_outlet(watcher.source));
}

static void on_changed(void *ctx)
{
	outlet_flush(source_outlet(watcher.source));
}

static void on_snapshot(void *ctx)
{
	log_event(&EV_SNAPSHOT_SENT);
}

/* ---- from the translator ---- */

static void on_status(void *ctx, const struct status_update *update)
{
	/* Those of Ingresses may be another controller's to write. */
	if (update->key.kind == RECORD_INGRESS && !watcher.config->update_status)
		return;
	for (size_t i = 0; i < WRITER_COUNT; i++) {
		if (update->key.kind == writer_kinds[i])
			status_wish(watcher.writers[i], update);
	}
}

static void on_event(void *ctx, const struct event_note *note)
{
	events_note(watcher.events, note);
}

/* Tells the owner why an object cannot be used. */
static void on_refused(
	void *ctx, enum record_kind kind, const struct project_meta *meta, const char *why)
{
	char message[SCHEMA_ERROR_LEN + 128];
	snprintf(message, sizeof(message),
		"this object cannot be read: %s; what was known of it before stays in use", why);
	events_note(watcher.events, &(struct event_note){
					    .key = {kind, meta->namespace, meta->name, meta->uid},
					    .type = EVENT_WARNING,
					    .reason = STR("Unusable"),
					    .message = str_from(message),
					    .standing = true,
				    });
}

static void on_fight(void *ctx, const struct store_object *object, const char *manager)
{
	char message[EVENT_MESSAGE_MAX];
	snprintf(message, sizeof(message),
		"another controller (%s) keeps replacing the addresses in the status; they are "
		"written again later",
		manager != NULL ? manager : "not named");
	events_note(watcher.events, &(struct event_note){
					    .key = {object->kind, store_namespace(object),
						    store_name(object), store_uid(object)},
					    .type = EVENT_WARNING,
					    .reason = STR("StatusConflict"),
					    .message = str_from(message),
				    });
}

/* ---- election ---- */

static void on_lead(void *ctx, uint64_t until_ms)
{
	for (size_t i = 0; i < WRITER_COUNT; i++)
		status_set_active(watcher.writers[i], until_ms != 0);
	events_set_active(watcher.events, until_ms != 0);
	source_set_lead(watcher.source, until_ms);
}

static void join_election(const struct config *config)
{
	char *namespace = config->lease_namespace != NULL ? xstrdup(config->lease_namespace)
							  : lease_default_namespace();
	watcher.lease = lease_new(&(struct lease_config){
		.loop = daemon_loop(watcher.daemon),
		.api = watcher.api,
		.namespace = namespace,
		.name = config->lease_name,
		.duration_s = config->lease_duration,
		.deadline_s = config->lease_renew_deadline,
		.retry_s = config->lease_retry,
		.on_lead = on_lead,
		.on_problem = on_writer_problem,
		.ctx = &watcher.lease_problem,
	});
	free(namespace);
	/* Nobody writes before a leader is elected. */
	on_lead(NULL, 0);
}

/* ---- lifecycle ---- */

static const struct source_ops source_ops = {
	.on_status = on_status,
	.on_event = on_event,
	.on_snapshot = on_snapshot,
};

static const struct cluster_ops cluster_ops = {
	.on_kinds = on_kinds,
	.on_version = on_version,
	.on_whole = on_whole,
	.on_changed = on_changed,
	.on_missing = on_missing,
	.on_refused = on_refused,
};

static struct reflector_options reflector_options_of(const struct config *config)
{
	return (struct reflector_options){
		.limits =
			{
				.page_size = (unsigned)config->page_size,
				.backoff_first_s = config->backoff_first,
				.backoff_max_s = config->backoff_max,
				.silence_min_s = config->watch_silence,
			},
		.watch_timeout_s = config->watch_timeout,
		.watch_margin_s = config->watch_margin,
		.answer_timeout_s = config->request_timeout,
		.stream_timeout_s = config->stream_timeout,
		.resync_s = config->resync,
	};
}

static struct target_options target_options_of(const struct config *config)
{
	return (struct target_options){
		.url = config->kubernetes_url,
		.kubeconfig = config->kubeconfig,
		.context = config->context,
		.token_file = config->token_file,
		.ca_file = config->ca_file,
	};
}

static char *open_api(const struct config *config)
{
	struct target_options options = target_options_of(config);
	char *problem = target_find(&options, getenv, &watcher.target);
	if (problem != NULL)
		return problem;
	size_t scopes = config->namespaces.count != 0 ? config->namespaces.count : 1;
	struct api_options api = {
		.connect_timeout_s = config->connect_timeout,
		.request_timeout_s = config->request_timeout,
		.exec_timeout_s = config->exec_timeout,
		/* While it is verified, each watch has a second one beside it. Those by name are many, and are verified by what is left. */
		.connections_max = (unsigned)(2 * RECORD_KIND_COUNT * scopes) + NAMED_OBJECTS_MAX +
				   CONNECTIONS_BESIDE_WATCHES,
	};
	watcher.api = api_new(daemon_loop(watcher.daemon), &watcher.target, &api, &problem);
	if (watcher.api != NULL)
		log_event(&EV_API_SERVER, LOG_STR("server", watcher.target.server),
			LOG_STR("source", watcher.target.source));
	return problem;
}

static void collect(void *ctx)
{
	metric_set(&watcher_metrics[WATCHER_QUEUE], 0,
		(double)source_outlet(watcher.source)->queue_len);
}

/* Metrics of what has not happened yet show 0 instead of being absent. */
static void start_metrics(void)
{
	metrics_add(watcher_metrics, WATCHER_METRIC_COUNT);
	metrics_collect_with(collect, NULL);
	for (unsigned i = 0; i < 4; i++)
		metric_add(&watcher_metrics[WATCHER_STATUS], i, 0);
	for (unsigned i = 0; i < 4; i++)
		metric_add(&watcher_metrics[WATCHER_EVENTS], i, 0);
}

static void describe(void *ctx, struct buf *out)
{
	cluster_describe(watcher.cluster, out);
}

static void open_parts(const struct config *config)
{
	struct ev_loop *loop = daemon_loop(watcher.daemon);
	char *path = daemon_runtime_path(&config->common, "source.sock");
	watcher.source = source_new(&(struct source_config){
		.loop = loop, .path = path, .store = &watcher.store, .ops = &source_ops});
	free(path);
	for (size_t i = 0; i < WRITER_COUNT; i++) {
		watcher.writers[i] = status_new(&(struct status_config){
			.loop = loop,
			.api = watcher.api,
			.store = &watcher.store,
			.kind = writer_kinds[i],
			.finalizer_manager = watcher.reflectors.ours.manager,
			.on_fight = on_fight,
			.on_problem = on_writer_problem,
			.ctx = &watcher.writer_problems[i],
		});
	}
	watcher.events = events_new(loop, watcher.api, on_writer_problem, &watcher.events_problem);
	watcher.rights = rights_new(&(struct rights_config){
		.loop = loop,
		.api = watcher.api,
		.namespaces = config->namespaces,
		.options = config_named(config),
		.pods_namespace = config_replicas(config).namespace,
		.again_s = 2. * config->backoff_max, /* a minute, unless told otherwise */
		.on_missing = on_writer_problem,
		.ctx = &watcher.rights_missing,
	});
	watcher.cluster = cluster_new(&(struct cluster_config){
		.loop = loop,
		.api = watcher.api,
		.store = &watcher.store,
		.options = &watcher.reflectors,
		.namespaces = config->namespaces,
		.named = config_named(config),
		.replicas = config_replicas(config),
		.wants_streams = config->streaming_lists,
		.wants_classes = config->ingress_classes,
		.ops = &cluster_ops,
	});
	daemon_describe_with(watcher.daemon, describe, NULL);
}

static char *start(struct daemon *daemon, void *ctx, bool *ret_usage)
{
	watcher.daemon = daemon;
	watcher.config = ctx;
	char *problem = config_check(watcher.config);
	if (problem != NULL) {
		*ret_usage = true;
		return problem;
	}
	watcher.reflectors = reflector_options_of(watcher.config);
	project_ours_init(&watcher.reflectors.ours, str_from(watcher.config->load_balancer_class),
		watcher.config->default_load_balancer_class);
	store_init(&watcher.store);
	problem = open_api(watcher.config);
	if (problem != NULL) {
		target_fini(&watcher.target);
		return problem;
	}
	problem = daemon_confine(daemon, confine_watcher(&watcher.target));
	if (problem != NULL)
		return problem;
	open_parts(watcher.config);
	if (watcher.config->leader_elect)
		join_election(watcher.config);
	start_metrics();
	return NULL;
}

static void stop(void)
{
	/* Our own line goes on without us, so it is told first; then the other replicas. */
	if (watcher.lease != NULL && lease_leads(watcher.lease))
		on_lead(NULL, 0);
	lease_release(watcher.lease, RELEASE_LIMIT_S);
	lease_free(watcher.lease);
	cluster_free(watcher.cluster);
	for (size_t i = 0; i < WRITER_COUNT; i++)
		status_free(watcher.writers[i]);
	events_free(watcher.events);
	rights_free(watcher.rights);
	source_free(watcher.source, "the watcher was asked to stop");
	store_fini(&watcher.store);
	api_free(watcher.api);
	target_fini(&watcher.target);
	free(watcher.cluster_missing);
	free(watcher.lease_problem);
	free(watcher.events_problem);
	free(watcher.rights_missing);
	for (size_t i = 0; i < WRITER_COUNT; i++)
		free(watcher.writer_problems[i]);
}

static void read_kubeconfig_again(void)
{
	struct target_options options = target_options_of(watcher.config);
	struct target fresh = {0};
	struct target old = watcher.target;
	options.kubeconfig = watcher.target.kubeconfig;
	char *problem = target_find(&options, getenv, &fresh);
	if (problem == NULL)
		problem = target_obstacle(&watcher.target, &fresh);
	if (problem == NULL) {
		watcher.target = fresh;
		if (api_retarget(watcher.api))
			fresh = old;
		else
			watcher.target = old;
	} else {
		log_event(&EV_CREDENTIALS_PROBLEM, LOG_STR("file", watcher.target.kubeconfig),
			LOG_STR("reason", problem));
	}
	target_fini(&fresh);
	free(problem);
}

static void reload(void)
{
	if (watcher.target.kubeconfig != NULL)
		read_kubeconfig_again();
	api_reload(watcher.api);
	cluster_hurry(watcher.cluster);
}

static bool is_filter(const void *ctx, const void *configuration)
{
	const struct config *config = configuration;
	return config->manifests.count != 0 || config->records != NULL;
}

static char *filter(const void *ctx, void *configuration, bool *ret_usage)
{
	return manifest_filter(configuration, ret_usage);
}

int main(int argc, char **argv)
{
	static const struct daemon_spec spec = {
		.options = &config_table,
		.common_offset = offsetof(struct config, common),
		.admin_port = ADMIN_PORT,
		.start = start,
		.stop = stop,
		.reload = reload,
		.is_filter = is_filter,
		.filter = filter,
	};
	struct config config;
	return daemon_main(&spec, &config, argc, argv);
}
