// SPDX-License-Identifier: Apache-2.0
/*
 * sluice-translator: between a watcher, which reports what exists in Kubernetes, and a provider, which it tells what load balancers
 * there should be.
 *
 * In:       records on source.sock; statuses of load balancers on provider.sock.
 * Out:      load balancer objects on provider.sock; statuses and Events for Ingresses on source.sock.
 * Trusted:  with the private keys of TLS Secrets, which pass through its memory on their way to the provider. It has no other
 *           credentials and no network socket (its admin server is a Unix socket, which `sluicectl serve` exposes over TCP), opens no
 *           file after the start, and runs no program.
 * Hostile:  everything that an owner of an Ingress, Service, EndpointSlice or Secret may write.
 *
 * When a neighbour dies:
 *   watcher     the state stays in force, and a provider is served from it. The next watcher sends everything again; until
 *               then nothing is sent to the provider and nothing removed.
 *   provider    diagnostics go on. The next one is sent everything; revisions tell it what it already has.
 *   ourselves   both reconnect. Nothing is sent to the provider before the watcher has sent everything.
 *   the folder  of the sockets: we exit, and create them again at the next start.
 * A neighbour that stops reading makes changes coalesce, and is disconnected if it is silent for too long.
 *
 * With --once it is a filter, without neighbours (filter.h).
 *
 * Read next: engine.h.
 */
#include "common/cert.h"
#include "common/cert_make.h"
#include "common/clock.h"
#include "common/daemon.h"
#include "common/users.h"
#include "common/version.h"
#include "common/xalloc.h"
#include "proto/leadership.h"
#include "proto/link.h"
#include "translator/config.h"
#include "translator/confine.h"
#include "translator/engine.h"
#include "translator/filter.h"
#include "translator/inspect_server.h"
#include "translator/metrics.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* The longest delay in noticing that a date has passed, if nothing else happens. */
enum { CLOCK_PERIOD_S = 60 };

static struct {
	struct daemon *daemon;
	struct egress *egress; /* used by the engine */
	struct engine *engine;
	struct inspect_server *server;
	struct link *source;
	struct link *provider;
	struct leadership lead;
	bool provider_obeys; /* it drives something that several lines share, so it follows the leader */
	ev_timer clock;
	ev_idle again;
} self;

/* ---- turns ---- */

static void work(void)
{
	struct ev_loop *loop = daemon_loop(self.daemon);
	engine_set_time(self.engine, clock_wall_s());
	if (engine_work(self.engine))
		ev_idle_start(loop, &self.again);
	else
		ev_idle_stop(loop, &self.again);
	daemon_set_missing(self.daemon, engine_missing(self.engine));
}

static void on_again(struct ev_loop *loop, ev_idle *watcher, int events)
{
	work();
}

static void on_clock(struct ev_loop *loop, ev_timer *watcher, int events)
{
	work();
}

/* ---- output of the engine ---- */

static struct buf *out_of(struct link *link)
{
	bool ready = link != NULL && link_is_up(link) && !link_is_full(link);
	return ready ? link_out(link) : NULL;
}

static struct buf *source_out(void *ctx)
{
	return out_of(self.source);
}

static void source_flush(void *ctx)
{
	link_flush(self.source);
}

static struct buf *provider_out(void *ctx)
{
	return out_of(self.provider);
}

static void provider_flush(void *ctx)
{
	link_flush(self.provider);
}

static void on_event(void *ctx, const struct event_note *note)
{
	inspect_server_event(self.server, note);
}

static const struct engine_ops engine_ops = {
	.on_event = on_event,
	.source_out = source_out,
	.source_flush = source_flush,
	.provider_out = provider_out,
	.provider_flush = provider_flush,
};

/* ---- leadership ---- */

static void tell_lead(uint64_t until_ms)
{
	const struct lead lead = {.until_ms = until_ms};
	if (self.provider_obeys && self.provider != NULL && link_is_up(self.provider))
		(void)link_send(self.provider, MESSAGE_LEAD, &lead);
}

static int take_lead(struct link *link, const struct message *message)
{
	struct arena arena;
	struct lead lead;
	uint64_t now_ms = leadership_clock_ms();
	bool held = leadership_holds(&self.lead, now_ms);
	arena_init(&arena);
	int err = link_decode(link, message, &arena, &lead);
	arena_fini(&arena);
	if (err != 0)
		return err;
	leadership_take(&self.lead, &lead);
	tell_lead(lead.until_ms);
	/* Conditions that arose while another line was active were reported by it, unless it died first. */
	if (!held && leadership_holds(&self.lead, now_ms))
		engine_repeat(self.engine);
	return 0;
}

/* ---- links ---- */

static const char *on_source_up(void *ctx, struct link *link, const struct hello *peer)
{
	leadership_connected(&self.lead);
	inspect_server_up(self.server, INSPECT_WATCHER, peer);
	engine_source_up(self.engine);
	return NULL;
}

static int complain(
	struct link *link, const struct message *message, int err, const struct schema_error *error)
{
	if (err == -EBADMSG)
		link_complain(link, "%s: %s", message_word(message->type), error->text);
	else if (err != 0 && error->text[0] != '\0')
		link_complain(link, "%s", error->text);
	return err;
}

static int on_source_message(void *ctx, struct link *link, const struct message *message)
{
	struct schema_error error;
	if (message->type == MESSAGE_LEAD)
		return take_lead(link, message);
	if (message->type == MESSAGE_SETTINGS && leadership_settle(&self.lead))
		tell_lead(UINT64_MAX);
	return complain(link, message, engine_source_message(self.engine, message, &error), &error);
}

static void on_source_down(void *ctx, struct link *link)
{
	inspect_server_down(self.server, INSPECT_WATCHER);
	engine_source_down(self.engine);
	work();
}

static bool has_feature(const struct capabilities *capabilities, const char *name)
{
	for (size_t i = 0; i < capabilities->features.count; i++) {
		if (str_eq_c(capabilities->features.items[i], name))
			return true;
	}
	return false;
}

static const char *on_provider_up(void *ctx, struct link *link, const struct hello *peer)
{
	if (peer->capabilities == NULL)
		return "a provider must say its capabilities";
	self.provider_obeys = has_feature(peer->capabilities, "lead");
	if (self.lead.is_elected)
		tell_lead(self.lead.until_ms);
	inspect_server_up(self.server, INSPECT_PROVIDER, peer);
	engine_provider_up(self.engine, peer);
	return NULL;
}

static int on_provider_message(void *ctx, struct link *link, const struct message *message)
{
	struct schema_error error;
	return complain(
		link, message, engine_provider_message(self.engine, message, &error), &error);
}

static void on_provider_down(void *ctx, struct link *link)
{
	inspect_server_down(self.server, INSPECT_PROVIDER);
	engine_provider_down(self.engine);
	work();
}

static void on_turn(void *ctx, struct link *link)
{
	work();
}

/* The sandbox allows no new sockets; the next start creates them. */
static void on_socket_gone(void *ctx)
{
	daemon_fail(self.daemon);
}

static const struct link_ops source_ops = {
	.on_up = on_source_up,
	.on_message = on_source_message,
	.on_dry = on_turn,
	.on_room = on_turn,
	.on_down = on_source_down,
};

static const struct link_ops provider_ops = {
	.on_up = on_provider_up,
	.on_message = on_provider_message,
	.on_dry = on_turn,
	.on_room = on_turn,
	.on_down = on_provider_down,
};

/* Who may connect in which role: the users of one link are not admitted to the other. */
struct entrance {
	const char *socket_name;
	enum peer_role role;
	const char *option;
	uid_t uids[LINK_UIDS_MAX];
	size_t uid_count;
	const struct link_ops *ops;
};

static char *read_users(const struct option_list *list, struct entrance *entrance)
{
	entrance->uid_count = list->count;
	return users_read(entrance->option, list, LINK_UIDS_MAX, entrance->uids);
}

static struct link *listen_on(
	const struct translator_config *config, const struct entrance *entrance, char **ret_problem)
{
	const char *name = entrance->socket_name;
	int err = 0;
	char *path = daemon_runtime_path(&config->common, name);
	const struct link_config link_config = {
		.loop = daemon_loop(self.daemon),
		.path = path,
		.socket_name = name,
		.hello = {.version_min = PROTO_VERSION_MIN,
			.version_max = PROTO_VERSION_MAX,
			.role = ROLE_TRANSLATOR,
			.name = STR("translator"),
			.software = STR("sluice-translator " SLUICE_VERSION)},
		.peer_role = entrance->role,
		.allowed_uids = entrance->uids,
		.allowed_count = entrance->uid_count,
		.allow_option = entrance->option,
		.on_socket_gone = on_socket_gone,
		.ops = entrance->ops,
	};
	struct link *link = link_listen(&link_config, &err);
	if (link == NULL)
		*ret_problem = xasprintf("%s: %s", path, strerror(-err));
	free(path);
	return link;
}

/* ---- lifecycle ---- */

static void measure(void *ctx)
{
	engine_measure(self.engine);
}

static void start_timers(void)
{
	struct ev_loop *loop = daemon_loop(self.daemon);
	ev_idle_init(&self.again, on_again);
	ev_timer_init(&self.clock, on_clock, CLOCK_PERIOD_S, CLOCK_PERIOD_S);
	ev_timer_start(loop, &self.clock);
}

/* True: the default certificate is one of our own making. */
static bool names_made_certificate(
	const struct translator_config *config, struct engine_config *engine_config)
{
	bool is_made = config->ingress_nginx && config->make_certificate &&
		       str_is_empty(engine_config->default_name);
	if (is_made) {
		engine_config->default_namespace = STR(ENGINE_MADE_NAMESPACE);
		engine_config->default_name = STR(ENGINE_MADE_NAME);
	}
	return is_made;
}

/* NULL, or what is wrong (allocated). */
static char *make_certificate(struct engine *engine)
{
	enum { PEM_LEN_MAX = 16 * 1024 };
	struct buf chain;
	struct buf key;
	buf_init(&chain, PEM_LEN_MAX);
	buf_init(&key, PEM_LEN_MAX);
	int err = cert_make(&chain, &key);
	if (err == 0)
		engine_make_default(engine, buf_str(&chain), buf_str(&key));
	buf_fini(&chain);
	buf_wipe_fini(&key);
	return err == 0 ? NULL
			: xasprintf("the default certificate cannot be made: %s",
				  strerrordesc_np(-err));
}

static char *start(struct daemon *daemon, void *ctx, bool *ret_usage)
{
	const struct translator_config *config = ctx;
	struct engine_config engine_config = {0};
	self.daemon = daemon;
	struct entrance watchers = {.socket_name = "source.sock",
		.role = ROLE_WATCHER,
		.option = "allow-watcher-uid",
		.ops = &source_ops};
	struct entrance providers = {.socket_name = "provider.sock",
		.role = ROLE_PROVIDER,
		.option = "allow-provider-uid",
		.ops = &provider_ops};
	char *problem = read_users(&config->watcher_uids, &watchers);
	if (problem == NULL)
		problem = read_users(&config->provider_uids, &providers);
	if (problem == NULL)
		problem = translator_config_check(config, &engine_config);
	self.egress = engine_config.egress;
	if (problem != NULL) {
		*ret_usage = true;
		return problem;
	}
	cert_setup();
	bool is_made = names_made_certificate(config, &engine_config);
	self.engine = engine_new(&engine_config, &engine_ops, NULL);
	if (is_made)
		problem = make_certificate(self.engine);
	self.server = inspect_server_new(daemon_loop(daemon), daemon_admin(daemon), self.engine);
	start_timers();
	metrics_add(translator_metrics, TRANSLATOR_METRIC_COUNT);
	metrics_collect_with(measure, NULL);
	if (problem == NULL)
		self.source = listen_on(config, &watchers, &problem);
	if (self.source != NULL)
		self.provider = listen_on(config, &providers, &problem);
	if (problem == NULL)
		problem = daemon_confine(daemon, confine_translator());
	if (problem == NULL)
		work();
	return problem;
}

static void stop(void)
{
	struct ev_loop *loop = daemon_loop(self.daemon);
	ev_timer_stop(loop, &self.clock);
	ev_idle_stop(loop, &self.again);
	link_free(self.source, "the translator ends");
	link_free(self.provider, "the translator ends");
	inspect_server_free(self.server);
	engine_free(self.engine);
	egress_free(self.egress);
}

static bool is_filter(const void *ctx, const void *configuration)
{
	const struct translator_config *config = configuration;
	return config->once;
}

static char *filter(const void *ctx, void *configuration, bool *ret_usage)
{
	return filter_run(configuration, ret_usage);
}

int main(int argc, char **argv)
{
	static const struct daemon_spec spec = {
		.options = &translator_config_table,
		.common_offset = offsetof(struct translator_config, common),
		.start = start,
		.stop = stop,
		.is_filter = is_filter,
		.filter = filter,
	};
	struct translator_config config;
	return daemon_main(&spec, &config, argc, argv);
}
