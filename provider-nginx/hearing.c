// SPDX-License-Identifier: Apache-2.0
#include "provider-nginx/hearing.h"

#include "common/xalloc.h"

static void ask_control(void *ctx)
{
	const struct hearing *hearing = ctx;
	feed_ask(hearing->feed);
}

/* The body is the pid of the master whose worker answers. */
static bool is_ours(void *ctx, struct str body)
{
	const struct hearing *hearing = ctx;
	int64_t pid = 0;
	return str_to_int(body, 1, INT32_MAX, &pid) && pid == proxy_pid(hearing->proxy);
}

static void on_change(void *ctx)
{
	const struct hearing *hearing = ctx;
	hearing->on_change();
}

static void replace(void *ctx)
{
	const struct hearing *hearing = ctx;
	proxy_replace(hearing->proxy);
}

struct probe *hearing_start(const struct hearing *hearing)
{
	static const struct probe_ops ops = {ask_control, is_ours, on_change, replace};
	char *token_file = local_path(hearing->local, "probe");
	struct probe_config config = {
		.loop = local_loop(hearing->local),
		.rows = local_rows(hearing->local),
		.token_file = token_file,
		.timeout_s = hearing->timeout_s,
		.ops = &ops,
		.ctx = (void *)(uintptr_t)hearing,
	};
	struct probe *probe = probe_new(&config);
	free(token_file);
	return probe;
}

void hearing_on_loaded(struct probe *probe, const struct ports *ports, struct str file)
{
	struct socket_list sockets = ports_read_sockets(file, CONF_LISTEN);
	probe_set_listeners(probe, ports, &sockets);
	free(sockets.items);
}
