// SPDX-License-Identifier: Apache-2.0
/*
 * A provider in C, on provider-common: logs what it would do, and answers with the address given by --address. Start it instead of any
 * other provider, and every Ingress gets that address; put what drives your own load balancer where this one logs.
 *
 * In: load balancers, virtual hosts, pools and certificates from the translator by provider.sock. Out: statuses.
 *
 * When a neighbour dies:
 *   translator  nothing changes; what was committed stays in force, and its snapshot is compared when it is back.
 *   this one    nothing changes either; after a start it is told everything again.
 *
 * doc/writing-a-provider.md leads through it.
 */
#include "common/daemon.h"
#include "common/log.h"
#include "common/version.h"
#include "common/xalloc.h"
#include "provider-common/provider.h"

#include <arpa/inet.h>

LOG_EVENT_DEFINE(EV_WANTED, INFO, "wanted", "what a real provider would do now", "nothing")

/* ---- options ---- */

struct config {
	struct daemon_options common;
	char *address;
	int grouping;
};

#define ADMIN_PORT          "10246"
#define OPTION(member, ...) OPTION_SPEC(struct config, member, __VA_ARGS__)
static const struct option_spec option_specs[] = {
	OPTION(address, "address", "SLUICE_EXAMPLE_ADDRESS", STRING, NULL, 0, 0, NULL, "ADDRESS",
		"IP address or host name to show in every Ingress. Required.") OPTION(grouping,
		"grouping", "SLUICE_EXAMPLE_GROUPING", CHOICE, "per-ingress", 0, 0,
		"per-ingress|merged", "HOW", "One load balancer for each Ingress, or one for all.")
#include "common/common_options.def"
};
#undef OPTION

static const struct option_table option_table = {
	.program = "example-provider",
	.summary = "A provider that logs what it would do.",
	.options = option_specs,
	.count = sizeof(option_specs) / sizeof(option_specs[0]),
	.config_size = sizeof(struct config),
};

/* ---- the real load balancer, which is none ---- */

/* What we know of one load balancer; hangs on its object. */
struct balancer {
	uint64_t done_rev; /* the revision that was carried out last */
};

static struct {
	struct config config;
	struct daemon *daemon;
	struct provider *provider;
	struct arena arena;
	ev_timer work; /* runs while something is left to do */
} self;

static void log_change(const struct state_change *change)
{
	static const char *const verbs[] = {"add", "change", "remove"};
	static const char *const kinds[] = {
		"", "load balancer", "virtual host", "pool", "certificate"};
	struct str id = object_id(change->object);
	struct str text = arena_printf(&self.arena, "%s %s %.*s", verbs[change->type],
		kinds[object_kind(change->object)], STR_FMT(id));
	if (change->type != STATE_REMOVED && object_kind(change->object) == LB_POOL) {
		struct pool
			pool; /* decoded when it is needed; texts point into the object, lists live in the arena */
		provider_decode(self.provider, change->object, &self.arena, &pool);
		text = arena_printf(&self.arena, "%.*s with %zu endpoints", STR_FMT(text),
			pool.endpoints.count);
	}
	log_event(&EV_WANTED, LOG_TEXT("what", text));
	arena_reset(&self.arena);
}

/* Carries out what is wanted, in its own time: a real provider sends requests here, a bounded number at once, tries again with back-off
 * what failed, and goes on with the others meanwhile. */
static void on_work(struct ev_loop *loop, ev_timer *timer, int events)
{
	struct state *state = provider_state(self.provider);
	for (struct object *o = state_first(state, LB_LOAD_BALANCER); o != NULL;
		o = state_next(state, o)) {
		struct balancer *balancer = object_user(o);
		if (balancer->done_rev == object_rev(o))
			continue;
		balancer->done_rev = object_rev(o);
		provider_status_changed(self.provider, o);
	}
}

/* ---- the link ---- */

/* The state is consistent now, and stays so until the next commit. Nothing waits for us: note what has to be done, and return. */
static void on_commit(void *ctx, const struct state_commit *commit)
{
	for (size_t i = 0; i < commit->change_count; i++) {
		const struct state_change *change = &commit->changes[i];
		log_change(change);
		if (object_kind(change->object) != LB_LOAD_BALANCER)
			continue;
		if (change->type == STATE_REMOVED) {
			free(object_user(change->object));
			object_set_user(change->object, NULL);
		} else if (object_user(change->object) == NULL) {
			object_set_user(change->object, xcalloc(1, sizeof(struct balancer)));
		}
	}
	/* commit->touched names the load balancers that also depend on a changed host, pool or certificate; one real load balancer each
	 * would be brought up to date here. */
	ev_timer_stop(daemon_loop(self.daemon), &self.work);
	ev_timer_set(&self.work, 0.0, 0.0);
	ev_timer_start(daemon_loop(self.daemon), &self.work);
	daemon_set_missing(self.daemon, NULL);
}

/* Asked when there is room to say it; what is said is what is true now. */
static bool fill_status(
	void *ctx, struct object *object, struct arena *arena, struct lb_status *status)
{
	struct load_balancer lb;
	struct in6_addr bytes;
	const struct balancer *balancer = object_user(object);
	const char *address = self.config.address;
	provider_decode(self.provider, object, arena, &lb);
	if (lb.keep)
		return false; /* what exists stays, and there is nothing new to say of it */
	if (balancer->done_rev != object_rev(object)) {
		status->state = LB_STATE_PENDING;
		return true;
	}
	status->state = LB_STATE_APPLIED;
	status->addresses_known = true;
	if (lb.absent)
		return true;
	status->addresses.items = arena_calloc(arena, 1, sizeof(struct address));
	status->addresses.count = 1;
	bool is_ip = inet_pton(AF_INET, address, &bytes) == 1 ||
		     inet_pton(AF_INET6, address, &bytes) == 1;
	*(is_ip ? &status->addresses.items[0].ip : &status->addresses.items[0].hostname) =
		str_from(address);
	return true;
}

static void on_link(void *ctx, bool is_up)
{
	if (!is_up && !state_is_complete(provider_state(self.provider)))
		daemon_set_missing(self.daemon, "the translator");
}

static const struct provider_ops provider_ops = {
	.on_commit = on_commit, .fill_status = fill_status, .on_link = on_link};

/* ---- lifecycle ---- */

static char *start(struct daemon *daemon, void *configuration, bool *ret_usage)
{
	static struct str protocols[] = {STR("http"), STR("https")};
	static struct capabilities capabilities = {.protocols = {protocols, 2}};
	if (self.config.address == NULL) {
		*ret_usage = true;
		return xstrdup("--address is missing");
	}
	self.daemon = daemon;
	capabilities.grouping = self.config.grouping == 1 ? GROUPING_MERGED : GROUPING_PER_INGRESS;
	arena_init(&self.arena);
	ev_timer_init(&self.work, on_work, 0.0, 0.0);
	char *path = daemon_runtime_path(&self.config.common, "provider.sock");
	self.provider = provider_new(&(struct provider_config){
		.loop = daemon_loop(daemon),
		.socket_path = path,
		.name = STR("example"),
		.software = STR("example-provider " SLUICE_VERSION),
		.capabilities = &capabilities,
		.want_touched = true,
		.ops = &provider_ops,
	});
	free(path);
	daemon_set_missing(daemon, "the translator");
	return NULL;
}

static void stop(void)
{
	struct state *state = provider_state(self.provider);
	for (struct object *o = state_first(state, LB_LOAD_BALANCER); o != NULL;
		o = state_next(state, o)) {
		free(object_user(o));
		object_set_user(o, NULL);
	}
	ev_timer_stop(daemon_loop(self.daemon), &self.work);
	provider_free(self.provider, "shutting down");
	arena_fini(&self.arena);
}

int main(int argc, char **argv)
{
	static const struct daemon_spec spec = {
		.options = &option_table,
		.common_offset = offsetof(struct config, common),
		.admin_port = ADMIN_PORT,
		.start = start,
		.stop = stop,
	};
	return daemon_main(&spec, &self.config, argc, argv);
}
