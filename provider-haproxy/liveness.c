// SPDX-License-Identifier: Apache-2.0
/* Probes HAProxy through its ports and its socket; see probe.h. */
#include "provider-haproxy/liveness.h"

#include "common/xalloc.h"
#include "provider-haproxy/connection.h"

/* What any answer to any command proves is all that is asked for; a connection that is lost is made again by itself. */
static void on_info(void *ctx, unsigned what, const char *command, struct str reply)
{
	struct engine *engine = ctx;
	probe_control_answered(engine->probe);
}

static void ask_control(void *ctx)
{
	struct engine *engine = ctx;
	/* A reload has a time limit of its own. */
	if (connection_is_reloading(engine->connection))
		probe_control_answered(engine->probe);
	struct cli *cli = connection_cli(engine->connection);
	if (connection_is_ready(engine->connection) && cli_in_flight(cli) == 0)
		cli_send(cli, STR("show version"), STR_NONE, 0, on_info, engine);
}

/* The body is the pid of the worker that responds. */
static bool is_ours(void *ctx, struct str body)
{
	const struct engine *engine = ctx;
	int64_t pid = 0;
	return str_to_int(body, 1, INT32_MAX, &pid) && pid == connection_worker(engine->connection);
}

static void on_change(void *ctx)
{
	engine_wake(ctx);
}

static void replace(void *ctx)
{
	struct engine *engine = ctx;
	if (engine->proxy != NULL)
		proxy_replace(engine->proxy);
}

void liveness_init(struct engine *engine)
{
	static const struct probe_ops ops = {ask_control, is_ours, on_change, replace};
	char *token_file = engine_path(engine, "probe");
	struct probe_config config = {
		.loop = engine->loop,
		.rows = local_rows(engine->local),
		.token_file = token_file,
		.timeout_s = engine->config->local.proxy_timeout,
		.ops = &ops,
		.ctx = engine,
	};
	engine->probe = probe_new(&config);
	free(token_file);
}
