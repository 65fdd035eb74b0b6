// SPDX-License-Identifier: Apache-2.0
#include "provider-nginx/lifecycle.h"

#include "provider-nginx/generation.h"
#include "provider-nginx/log_events.h"
#include "provider-proxy/log_events.h"
#include "provider-proxy/proxy.h"

static void on_up(void *ctx, enum proxy_origin origin, const char *dir)
{
	struct engine *engine = ctx;
	engine->is_up = true;
	engine->has_told = false;
	engine->is_elsewhere = origin != PROXY_STARTED && local_has_new_folder(engine->local);
	engine->options.proxy_dir = str_from(origin == PROXY_FOUND && engine->is_former
						     ? engine->config->local.state_dir
						     : local_proxy_dir(&engine->config->local));
	log_event(&EV_NGINX_UP, LOG_INT("pid", proxy_pid(engine->proxy)),
		LOG_STR("how", origin == PROXY_STARTED ? "started" : "found"));
	/* The supervisor may have started it before we read the files. */
	if (!setup_has_file(engine->setup))
		wanted_assume_any(engine->wanted);
	probe_set_proxy(engine->probe, true);
	feed_set_nginx(engine->feed, true);
}

static void on_down(void *ctx, const char *why, const char *words, double again_s)
{
	struct engine *engine = ctx;
	engine->is_up = false;
	/* A dead master may leave workers that still listen for a moment; a failed start may mean that a port was taken. */
	engine->has_ports = engine->has_ports && engine->has_told;
	log_event(&EV_NGINX_DOWN, LOG_STR("reason", why), LOG_SECONDS("again_s", again_s),
		LOG_STR("words", words));
	local_set_missing(engine->local, "nginx");
	probe_set_proxy(engine->probe, false);
	feed_set_nginx(engine->feed, false);
	/* nginx restarts with what is wanted now, not with what was wanted when it died. */
	feed_prepare(engine->feed);
	(void)repair_files(&engine->repair);
	setup_nginx_down(engine->setup);
}

static void on_none(void *ctx)
{
	struct engine *engine = ctx;
	if (engine->is_complete)
		setup_touch(engine->setup);
}

static void on_unreachable(void *ctx, const char *socket)
{
	struct engine *engine = ctx;
	log_event(&EV_SUPERVISOR_MISSING, LOG_STR("socket", socket));
	local_set_missing(engine->local, "sluice-proxy, which runs nginx");
}

static void on_workers(void *ctx, size_t taking)
{
	generation_on_workers(ctx, taking);
}

void lifecycle_init(struct engine *engine)
{
	static const struct proxy_ops ops = {
		.on_up = on_up,
		.on_down = on_down,
		.on_none = on_none,
		.on_unreachable = on_unreachable,
		.on_workers = on_workers,
	};
	const struct local_options *options = &engine->config->local;
	struct proxy_config proxy_config = {
		.loop = engine->loop,
		.kind = "nginx",
		.program = engine->config->nginx,
		.supervisor = local_supervisor(engine->local),
		.state_dir = options->state_dir,
		.proxy_dir = local_proxy_dir(options),
		.take_over = options->take_over,
		.access_log_to =
			options->access_log != ACCESS_LOG_OFF ? options->access_log_to : NULL,
		.local = engine->local,
		.ops = &ops,
		.ctx = engine,
	};
	engine->proxy = proxy_new(&proxy_config);
}

void lifecycle_start(struct engine *engine)
{
	local_set_missing(engine->local, "nginx");
	repair_watch(&engine->repair);
	/* Before the supervisor, which we may be about to start, reads the files. */
	if (repair_files(&engine->repair))
		proxy_start_from_files(engine->proxy);
}

void lifecycle_end(struct engine *engine)
{
	double limit_s = engine->config->local.stop_timeout;
	if (!proxy_is_up(engine->proxy))
		return;
	log_event(&EV_NGINX_ENDING, LOG_INT("pid", proxy_pid(engine->proxy)),
		LOG_SECONDS("limit_s", limit_s));
	if (!proxy_stop(engine->proxy, limit_s))
		log_event(&EV_NGINX_CUT);
}
