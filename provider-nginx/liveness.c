// SPDX-License-Identifier: Apache-2.0
#include "provider-nginx/liveness.h"

#include "common/xalloc.h"

static void ask_control(void *ctx)
{
	const struct liveness *liveness = ctx;
	feed_ask(liveness->feed);
}

/* The body is the pid of the master whose worker responds. */
static bool is_ours(void *ctx, struct str body)
{
	const struct liveness *liveness = ctx;
	int64_t pid = 0;
	return str_to_int(body, 1, INT32_MAX, &pid) && pid == proxy_pid(liveness->proxy);
}

static void on_change(void *ctx)
{
	const struct liveness *liveness = ctx;
	liveness->on_change(liveness->ctx);
}

static void replace(void *ctx)
{
	const struct liveness *liveness = ctx;
	proxy_replace(liveness->proxy);
}

struct probe *liveness_start(const struct liveness *liveness)
{
	static const struct probe_ops ops = {ask_control, is_ours, on_change, replace};
	char *token_file = local_path(liveness->local, "probe");
	struct probe_config config = {
		.loop = local_loop(liveness->local),
		.rows = local_rows(liveness->local),
		.token_file = token_file,
		.timeout_s = liveness->timeout_s,
		.ops = &ops,
		.ctx = (void *)(uintptr_t)liveness,
	};
	struct probe *probe = probe_new(&config);
	free(token_file);
	return probe;
}

void liveness_on_loaded(struct probe *probe, const struct ports *ports, struct str file)
{
	struct socket_list sockets = ports_read_sockets(file, CONF_LISTEN);
	probe_set_listeners(probe, ports, &sockets);
	free(sockets.items);
}
