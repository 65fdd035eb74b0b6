// SPDX-License-Identifier: Apache-2.0
#include "provider-proxy/externals.h"

#include "common/backoff.h"
#include "common/tree.h"
#include "common/xalloc.h"
#include "common/files.h"

#include <bsd/sys/queue.h>

enum { FILE_LEN_MAX = 4 * 1024 * 1024 };
static const char topic[] = "external";
static const double ttl_min_s = 1;
static const double ttl_max_s = 3600;
static const double write_after_s = 1;

struct user;
LIST_HEAD(user_list, user);

/* One name. */
struct external {
	RB_ENTRY(external) node;
	struct externals *all;
	struct user_list users;
	ev_timer again;
	struct backoff backoff;
	struct check_ip ips[DNS_ADDRESSES_MAX]; /* sorted */
	size_t ip_count;
	const char *why; /* static: why there are no addresses; NULL: no known reason */
	/* The first refused address, and why; empty: none. The text belongs to the policy. */
	char refused[CHECK_IP_LEN_MAX];
	const char *refusal;
	bool is_asking; /* then it is kept, even without users */
	char name[];
};

/* A pool that refers to a name. */
struct user {
	RB_ENTRY(user) node;
	LIST_ENTRY(user) link;
	struct external *external;
	char pool_id[];
};

RB_HEAD(external_tree, external);
RB_HEAD(user_tree, user);

struct externals {
	struct externals_config config;
	char *file;
	struct dns *dns;
	struct external_tree names;
	struct user_tree users;
	struct buf remembered; /* the file of an earlier run, until it is rewritten */
	ev_timer write;
};

static int compare_names(const struct external *a, const struct external *b)
{
	return strcmp(a->name, b->name);
}

static int compare_users(const struct user *a, const struct user *b)
{
	return strcmp(a->pool_id, b->pool_id);
}

RB_GENERATE_LOCAL(external_tree, external, node, compare_names)
RB_GENERATE_LOCAL(user_tree, user, node, compare_users)

/* ---- addresses ---- */

static int compare_ips(const void *left, const void *right)
{
	return strcmp(
		((const struct check_ip *)left)->text, ((const struct check_ip *)right)->text);
}

/* True if it has changed. */
static bool set_refused(struct external *external, const struct check_ip *ip, const char *refusal)
{
	const char *text = ip != NULL ? ip->text : "";
	bool is_same = strcmp(text, external->refused) == 0;
	str_put(external->refused, str_from(text));
	external->refused[strlen(text)] = 0;
	external->refusal = refusal;
	return !is_same;
}

/* True if they have changed. */
static bool set_ips(struct external *external, const struct check_ip *ips, size_t count)
{
	struct check_ip kept[DNS_ADDRESSES_MAX];
	const struct check_ip *refused = NULL;
	const char *refusal = NULL;
	size_t kept_count = 0;
	for (size_t i = 0; i < count; i++) {
		const char *why =
			egress_refusal(external->all->config.egress, str_from(ips[i].text));
		if (why == NULL) {
			kept[kept_count++] = ips[i];
		} else if (refused == NULL || compare_ips(&ips[i], refused) < 0) {
			refused = &ips[i];
			refusal = why;
		}
	}
	if (kept_count > 1)
		qsort(kept, kept_count, sizeof(kept[0]), compare_ips);
	bool is_same = !set_refused(external, refused, refusal) && kept_count == external->ip_count;
	for (size_t i = 0; i < kept_count && is_same; i++)
		is_same = strcmp(kept[i].text, external->ips[i].text) == 0;
	if (kept_count != 0)
		memcpy(external->ips, kept, kept_count * sizeof(kept[0]));
	external->ip_count = kept_count;
	return !is_same;
}

/* ---- the file ---- */

static void on_write(struct ev_loop *loop, ev_timer *watcher, int events)
{
	struct externals *all = watcher->data;
	struct external *external;
	struct buf text;
	int err = 0;
	ev_timer_stop(loop, watcher);
	buf_init(&text, FILE_LEN_MAX);
	RB_FOREACH (external, external_tree, &all->names) {
		if (err == 0 && external->ip_count != 0)
			err = buf_printf(&text, "%s", external->name);
		for (size_t i = 0; i < external->ip_count && err == 0; i++)
			err = buf_printf(&text, " %s%s", external->ips[i].text,
				i + 1 == external->ip_count ? "\n" : "");
	}
	/* The file only serves until names are resolved after the next start. */
	if (err == 0 && files_write_loose(all->file, buf_str(&text), 0600) == 0)
		buf_clear(&all->remembered);
	buf_fini(&text);
}

static void write_soon(struct externals *all)
{
	if (!ev_is_active(&all->write))
		ev_timer_start(all->config.loop, &all->write);
}

static void remember(struct external *external)
{
	struct str rest = buf_str(&external->all->remembered);
	struct check_ip ips[DNS_ADDRESSES_MAX];
	size_t count = 0;
	while (rest.len != 0) {
		struct str line = str_cut(&rest, '\n');
		if (!str_eq_c(str_cut(&line, ' '), external->name))
			continue;
		while (line.len != 0 && count < DNS_ADDRESSES_MAX &&
			check_ip(str_cut(&line, ' '), &ips[count]))
			count++;
	}
	(void)set_ips(external, ips, count);
}

/* ---- names ---- */

static void ask(struct external *external);

static void ask_in(struct external *external, double seconds)
{
	ev_timer_stop(external->all->config.loop, &external->again);
	ev_timer_set(&external->again, seconds, 0.);
	ev_timer_start(external->all->config.loop, &external->again);
}

static void on_again(struct ev_loop *loop, ev_timer *watcher, int events)
{
	ask(watcher->data);
}

static void settle_name(struct external *external)
{
	if (!LIST_EMPTY(&external->users) || external->is_asking)
		return;
	ev_timer_stop(external->all->config.loop, &external->again);
	RB_REMOVE(external_tree, &external->all->names, external);
	write_soon(external->all);
	free(external);
}

static const char *take_answer(
	struct external *external, const struct dns_answer *answer, bool *ret_is_changed)
{
	*ret_is_changed = false;
	if (answer->outcome != DNS_FAILED)
		*ret_is_changed = set_ips(external, answer->ips, answer->ip_count);
	return answer->outcome == DNS_FOUND ? NULL : answer->why;
}

static void on_reply(void *ctx, const struct dns_answer *answer)
{
	struct external *external = ctx;
	struct externals *all = external->all;
	bool is_changed;
	const char *why = take_answer(external, answer, &is_changed);
	bool is_news = is_changed || why != external->why;
	external->why = why;
	external->is_asking = false;
	if (answer->outcome == DNS_FOUND) {
		double ttl_s = answer->ttl_s < ttl_max_s ? answer->ttl_s : ttl_max_s;
		backoff_succeeded(&external->backoff);
		ask_in(external, ttl_s > ttl_min_s ? ttl_s : ttl_min_s);
	} else {
		ask_in(external, backoff_next(&external->backoff));
	}
	if (is_changed)
		write_soon(all);
	struct user *user;
	struct user *next;
	LIST_FOREACH_SAFE (user, &external->users, link, next) {
		if (is_news)
			all->config.on_change(all->config.ctx, str_from(user->pool_id));
	}
	settle_name(external);
}

static void ask(struct external *external)
{
	if (external->is_asking)
		return;
	external->is_asking = true;
	dns_ask(external->all->dns, external->name, on_reply, external);
}

static struct external *find_or_add(struct externals *all, struct str name)
{
	struct external *external = xcalloc(1, sizeof(*external) + name.len + 1);
	str_put(external->name, name);
	struct external *found = RB_INSERT(external_tree, &all->names, external);
	if (found != NULL) {
		free(external);
		return found;
	}
	external->all = all;
	LIST_INIT(&external->users);
	backoff_init(&external->backoff, 1, 15);
	ev_init(&external->again, on_again);
	external->again.data = external;
	remember(external);
	/* Not at once: the pool is not among its users yet. */
	ask_in(external, 0);
	return external;
}

/* ---- pools ---- */

static struct user *find_user(struct externals *all, struct str pool_id)
{
	struct user *wanted = xcalloc(1, sizeof(*wanted) + pool_id.len + 1);
	str_put(wanted->pool_id, pool_id);
	struct user *found = RB_FIND(user_tree, &all->users, wanted);
	free(wanted);
	return found;
}

static void drop_user(struct externals *all, struct str pool_id)
{
	/* Most clusters have no external names. */
	struct user *user = RB_EMPTY(&all->users) ? NULL : find_user(all, pool_id);
	if (user == NULL)
		return;
	notices_clear(all->config.notices, topic, pool_id);
	RB_REMOVE(user_tree, &all->users, user);
	LIST_REMOVE(user, link);
	settle_name(user->external);
	free(user);
}

void externals_drop(struct externals *all, struct str pool_id)
{
	if (all == NULL)
		return;
	drop_user(all, pool_id);
	own_listeners_drop(all->config.own, pool_id);
}

static struct external *use(struct externals *all, struct str pool_id, struct str name)
{
	struct user *user = find_user(all, pool_id);
	if (user != NULL && str_eq_c(name, user->external->name))
		return user->external;
	drop_user(all, pool_id);
	user = xcalloc(1, sizeof(*user) + pool_id.len + 1);
	str_put(user->pool_id, pool_id);
	user->external = find_or_add(all, name);
	RB_INSERT(user_tree, &all->users, user);
	LIST_INSERT_HEAD(&user->external->users, user, link);
	return user->external;
}

static void tell(struct externals *all, const struct external *external, const struct pool *pool,
	struct arena *arena)
{
	struct notice_owner owner = notice_of_pool(pool, arena);
	if (external->why == NULL && external->refusal == NULL) {
		notices_clear(all->config.notices, topic, pool->key.id);
		return;
	}
	if (external->why == NULL) {
		notices_set(all->config.notices, topic, pool->key.id, &owner, "EndpointRefused",
			arena_printf(arena,
				"address %s of host %s, to which Service %.*s leads, is refused: "
				"%s; %s",
				external->refused, external->name, STR_FMT(pool->service.name),
				external->refusal,
				external->ip_count != 0 ? "the others are used"
							: "requests are answered with 503"));
		return;
	}
	notices_set(all->config.notices, topic, pool->key.id, &owner, "ExternalNameUnresolved",
		arena_printf(arena, "host %s: %s; %s", external->name, external->why,
			external->ip_count != 0 ? "the addresses that it had are used"
						: "requests are answered with 503"));
}

static void settle_external(struct externals *all, struct pool *pool, struct arena *arena)
{
	if (str_is_empty(pool->external_name) || !check_host(pool->external_name) ||
		!check_port(pool->target_port)) {
		drop_user(all, pool->key.id);
		return;
	}
	struct external *external = use(all, pool->key.id, pool->external_name);
	pool->endpoints.count = external->ip_count;
	pool->endpoints.items =
		arena_calloc(arena, external->ip_count, sizeof(*pool->endpoints.items));
	for (size_t i = 0; i < external->ip_count; i++)
		pool->endpoints.items[i] = (struct pool_endpoint){
			.ip = arena_str(arena, str_from(external->ips[i].text)),
			.port = pool->target_port,
			.active = true,
			.ready = true,
			.serving = true,
		};
	tell(all, external, pool, arena);
}

void externals_settle(struct externals *all, struct pool *pool, struct arena *arena)
{
	if (all == NULL)
		return;
	settle_external(all, pool, arena);
	own_listeners_settle(all->config.own, pool, arena);
}

/* ---- lifecycle ---- */

struct externals *externals_new(const struct externals_config *config, char **ret_problem)
{
	struct externals *all = xcalloc(1, sizeof(*all));
	all->config = *config;
	all->file = xstrdup(config->file);
	RB_INIT(&all->names);
	RB_INIT(&all->users);
	ev_timer_init(&all->write, on_write, write_after_s, 0.);
	all->write.data = all;
	buf_init(&all->remembered, FILE_LEN_MAX);
	if (files_read(all->file, &all->remembered) != 0)
		buf_clear(&all->remembered);
	char *problem = NULL;
	all->dns = dns_new(config->loop, config->servers, &problem);
	if (problem == NULL)
		return all;
	*ret_problem = problem;
	externals_free(all);
	return NULL;
}

void externals_free(struct externals *all)
{
	struct external *external;
	struct user *user;
	if (all == NULL)
		return;
	if (ev_is_active(&all->write))
		on_write(all->config.loop, &all->write, 0);
	dns_free(all->dns);
	while ((user = RB_ROOT(&all->users)) != NULL) {
		RB_REMOVE(user_tree, &all->users, user);
		free(user);
	}
	while ((external = RB_ROOT(&all->names)) != NULL) {
		RB_REMOVE(external_tree, &all->names, external);
		ev_timer_stop(all->config.loop, &external->again);
		free(external);
	}
	buf_fini(&all->remembered);
	free(all->file);
	free(all);
}
