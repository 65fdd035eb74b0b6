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

static bool has_port(const struct ports *ports, uint16_t port)
{
	for (size_t i = 0; i < ports->count; i++) {
		if (ports->items[i].port == port)
			return true;
	}
	return false;
}

void hearing_on_loaded(const struct hearing *hearing, struct probe *probe, const struct conf *conf,
	struct str file)
{
	const struct check_ip *binds;
	size_t bind_count = publish_binds(local_publish(hearing->local), &binds);
	struct ports *in_file = conf_read_held(file);
	struct ports *served = ports_copy(conf->ports);
	size_t count = 0;
	size_t all = served->count;
	for (size_t i = 0; i < all; i++) {
		if (has_port(in_file, served->items[i].port)) {
			struct port kept = served->items[i];
			served->items[i] = served->items[count];
			served->items[count++] = kept;
		}
	}
	served->count = count;
	probe_set_listeners(probe, served, binds, bind_count);
	served->count = all;
	ports_free(served);
	ports_free(in_file);
}
