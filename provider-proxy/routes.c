// SPDX-License-Identifier: Apache-2.0
#include "provider-proxy/routes.h"

#include "common/must.h"
#include "common/tree.h"
#include "common/xalloc.h"
#include "provider-proxy/checks.h"
#include "provider-proxy/paths.h"

/* The rows of one virtual host. */
struct host {
	struct name name;
	struct name plain; /* for plain HTTP; empty: the same */
	struct name load_balancer;
	char *key;          /* of its host: or sni: row; NULL: none */
	struct name target; /* its value */
	struct row **rows;
	size_t row_count;
	bool has_notices;
	bool is_passthrough;
};

/* The rows of one load balancer. */
struct balancer {
	RB_ENTRY(balancer) node;
	struct name name;
	size_t passthrough_count;
	uint16_t *tcp_ports;
	size_t tcp_count;
	bool is_present;
};

RB_HEAD(balancer_tree, balancer);

struct routes {
	struct rows *rows;
	struct notices *notices;
	enum routes_form form;
	bool is_any_dropped; /* the row of a host, in this commit */
	struct balancer_tree balancers;
	size_t passthrough_total;
	struct arena arena;
};

static int compare_balancers(const struct balancer *a, const struct balancer *b)
{
	return strcmp(a->name.text, b->name.text);
}

RB_GENERATE_LOCAL(balancer_tree, balancer, node, compare_balancers)

static struct balancer *find_balancer(const struct routes *routes, const struct name *name)
{
	struct balancer wanted = {.name = *name};
	return RB_FIND(
		balancer_tree, (struct balancer_tree *)(uintptr_t)&routes->balancers, &wanted);
}

static struct balancer *find_or_add_balancer(struct routes *routes, const struct name *name)
{
	struct balancer *balancer = find_balancer(routes, name);
	if (balancer != NULL)
		return balancer;
	balancer = xcalloc(1, sizeof(*balancer));
	balancer->name = *name;
	RB_INSERT(balancer_tree, &routes->balancers, balancer);
	return balancer;
}

static void drop_if_unused(struct routes *routes, struct balancer *balancer)
{
	if (balancer->is_present || balancer->passthrough_count != 0)
		return;
	RB_REMOVE(balancer_tree, &routes->balancers, balancer);
	free(balancer->tcp_ports);
	free(balancer);
}

/* ---- rules ---- */

static void refuse(struct routes *routes, struct host *host, const struct virtual_host *value,
	size_t index, const char *reason, struct str message)
{
	struct notice_owner owner =
		notice_of_ingress(value->load_balancer, value->rules.items[index].ingress);
	struct str key = arena_printf(&routes->arena, "%s/%zu", host->name.text, index);
	notices_set(routes->notices, "route", key, &owner, reason, message);
	host->has_notices = true;
}

static size_t read_rules(struct routes *routes, struct host *host, const struct virtual_host *value,
	struct path_entry **ret)
{
	struct arena *arena = &routes->arena;
	struct path_entry *entries = arena_calloc(arena, value->rules.count + 1, sizeof(*entries));
	size_t count = 0;
	for (size_t i = 0; i < value->rules.count; i++) {
		const struct path_rule *rule = &value->rules.items[i];
		struct str path = rule->path;
		if (!check_path(path)) {
			refuse(routes, host, value, i, "PathRefused",
				arena_printf(arena,
					"the path \"%.*s\" of host \"%.*s\" cannot be served: it "
					"must begin "
					"with / and have at most %d printable ASCII characters but "
					"# and ?, and at most %d elements",
					(int)(path.len < 200 ? path.len : 200), path.p,
					STR_FMT(value->host), CHECK_PATH_LEN_MAX,
					CHECK_PATH_ELEMENTS_MAX));
			continue;
		}
		bool is_exact = rule->match == PATH_EXACT;
		if (!is_exact && path.p[path.len - 1] == '/')
			path.len--;
		struct name pool = name_of(NAME_POOL, rule->pool);
		entries[count++] = (struct path_entry){
			.path = path,
			.lookup = arena_printf(arena, "%.*s/", STR_FMT(path)),
			.pool = arena_str(arena, name_str(&pool)),
			.index = i,
			.is_exact = is_exact,
			.tls_only = rule->tls_only,
		};
	}
	*ret = entries;
	return count;
}

/* ---- rows of a host ---- */

struct new_row {
	enum row_table table;
	struct str key;
	struct str value;
};

struct new_rows {
	struct new_row *items;
	size_t count;
};

static void add_row(struct arena *arena, struct new_rows *new, enum row_table table, struct str key,
	struct str value)
{
	struct new_row *row = arena_push(arena, (void **)&new->items, &new->count, sizeof(*row));
	*row = (struct new_row){table, key, value};
}

static bool gets_all(const struct path_entry *entry)
{
	return !entry->is_exact && str_eq_c(entry->lookup, "/");
}

/* Returns the pool of all requests; absent: there are several. */
static struct str add_rules(struct arena *arena, struct new_rows *new, const struct name *name,
	struct path_entry *entries, size_t count, bool is_plain)
{
	struct path_entry *mine = arena_calloc(arena, count + 1, sizeof(*mine));
	size_t mine_count = 0;
	for (size_t i = 0; i < count; i++) {
		if (!is_plain || !entries[i].tls_only)
			mine[mine_count++] = entries[i];
	}
	mine_count = paths_drop_hidden(mine, mine_count, arena);
	for (size_t i = 0; i < mine_count; i++) {
		const struct path_entry *entry = &mine[i];
		struct str rest = entry->is_exact ? entry->path : entry->lookup;
		add_row(arena, new, entry->is_exact ? ROW_WHOLE : ROW_PREFIX,
			arena_printf(arena, "%s%.*s", name->text, STR_FMT(rest)), entry->pool);
	}
	return mine_count == 1 && gets_all(mine) ? mine[0].pool : STR_NONE;
}

static bool any_tls_only(const struct path_entry *entries, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (entries[i].tls_only)
			return true;
	}
	return false;
}

/* Returns what the row of the host is to lead to. */
static struct name collect_rules(struct routes *routes, struct host *host,
	const struct virtual_host *value, struct new_rows *new)
{
	struct arena *arena = &routes->arena;
	struct path_entry *entries;
	struct name target = host->name;
	size_t count = read_rules(routes, host, value, &entries);
	bool has_plain = any_tls_only(entries, count);
	struct str pool = add_rules(arena, new, &host->name, entries, count, false);
	if (!has_plain && pool.p != NULL && routes->form == ROUTES_DIRECT) {
		memcpy(target.text, pool.p, NAME_LEN);
		/* Somebody may look it up by the host's name still. */
		new->count = host->row_count != 0 ? new->count : 0;
	}
	if (!has_plain)
		return target;
	struct str plain_id = arena_printf(arena, "%.*s\nplain", STR_FMT(value->key.id));
	host->plain = name_of(NAME_HOST, plain_id);
	add_rules(arena, new, &host->plain, entries, count, true);
	add_row(arena, new, ROW_WHOLE, arena_printf(arena, "plain:%s", host->name.text),
		arena_str(arena, name_str(&host->plain)));
	return target;
}

static int by_table_and_key(const void *a_, const void *b_)
{
	const struct new_row *a = a_;
	const struct new_row *b = b_;
	if (a->table != b->table)
		return a->table < b->table ? -1 : 1;
	return str_cmp(a->key, b->key);
}

static bool contains(const struct new_rows *new, const struct row *row)
{
	struct new_row wanted = {.table = row_table(row), .key = row_key(row)};
	return new->count != 0 &&
	       bsearch(&wanted, new->items, new->count, sizeof(wanted), by_table_and_key) != NULL;
}

static void replace_rows(struct routes *routes, struct host *host, struct new_rows *new)
{
	struct row **rows = new->count != 0 ? xcalloc(new->count, sizeof(*rows)) : NULL;
	if (new->count > 1)
		qsort(new->items, new->count, sizeof(*new->items), by_table_and_key);
	for (size_t i = 0; i < new->count; i++) {
		const struct new_row *row = &new->items[i];
		rows_want(routes->rows, row->table, row->key, row->value);
		rows[i] = rows_find(routes->rows, row->table, row->key);
	}
	for (size_t i = 0; i < host->row_count; i++) {
		struct row *old = host->rows[i];
		if (!contains(new, old))
			rows_want(routes->rows, row_table(old), row_key(old), STR_NONE);
	}
	free(host->rows);
	host->rows = rows;
	host->row_count = new->count;
}

/* ---- one virtual host ---- */

/* Key of the row by which the host is found; NULL, with a notice, if its name is invalid. */
static char *host_key(struct routes *routes, struct host *host, const struct virtual_host *value)
{
	const char *word = value->passthrough ? "sni" : "host";
	bool is_good = value->match == HOST_EXACT      ? check_host(value->host)
		       : value->match == HOST_WILDCARD ? check_wildcard(value->host)
						       : str_is_empty(value->host);
	if (is_good)
		return xasprintf("%s:%s:%.*s", word, host->load_balancer.text,
			STR_FMT(value->match == HOST_ANY ? STR("*") : value->host));
	for (size_t i = 0; i < value->rules.count; i++)
		refuse(routes, host, value, i, "HostRefused",
			arena_printf(&routes->arena, "the host \"%.*s\" is no DNS name",
				STR_FMT(value->host)));
	return NULL;
}

static void count_passthrough(struct routes *routes, const struct name *name, bool is_added)
{
	struct balancer *balancer = find_or_add_balancer(routes, name);
	balancer->passthrough_count += is_added ? 1 : (size_t)-1;
	routes->passthrough_total += is_added ? 1 : (size_t)-1;
	drop_if_unused(routes, balancer);
}

/* Removes the host's own row, unless another host of the same name has taken it over. */
static void drop_key(struct routes *routes, struct host *host)
{
	if (host->key == NULL)
		return;
	struct str key = str_from(host->key);
	if (str_eq(rows_wanted(routes->rows, ROW_WHOLE, key), name_str(&host->target)))
		rows_want(routes->rows, ROW_WHOLE, key, STR_NONE);
	routes->is_any_dropped = true;
	free(host->key);
	host->key = NULL;
}

static void set_key(struct routes *routes, struct host *host, const struct virtual_host *value,
	const struct name *target)
{
	char *key = host_key(routes, host, value);
	if (host->key != NULL && (key == NULL || strcmp(key, host->key) != 0))
		drop_key(routes, host);
	if (host->is_passthrough != value->passthrough)
		count_passthrough(routes, &host->load_balancer, value->passthrough);
	host->is_passthrough = value->passthrough;
	free(host->key);
	host->key = key;
	if (key == NULL)
		return;
	host->target = *target;
	rows_want(routes->rows, ROW_WHOLE, str_from(key), name_str(&host->target));
}

static struct name passthrough_pool(const struct virtual_host *value)
{
	return name_of(NAME_POOL, value->rules.count != 0 ? value->rules.items[0].pool : STR_NONE);
}

static void update_host(struct routes *routes, struct state *state, struct object *object)
{
	struct host *host = object_user(object);
	struct virtual_host value;
	struct new_rows new = {0};
	state_decode(state, object, &routes->arena, &value);
	if (host == NULL) {
		host = xcalloc(1, sizeof(*host));
		host->name = name_of(NAME_HOST, object_id(object));
		object_set_user(object, host);
		host->load_balancer = name_of(NAME_LOAD_BALANCER, value.load_balancer);
	}
	if (host->has_notices)
		notices_clear_all(routes->notices, "route", name_str(&host->name));
	host->has_notices = false;
	struct name load_balancer = name_of(NAME_LOAD_BALANCER, value.load_balancer);
	if (strcmp(load_balancer.text, host->load_balancer.text) != 0) {
		drop_key(routes, host);
		if (host->is_passthrough)
			count_passthrough(routes, &host->load_balancer, false);
		host->is_passthrough = false;
		host->load_balancer = load_balancer;
	}
	/* Paths first: once a host is found, its rules must be there. */
	struct name target = value.passthrough ? passthrough_pool(&value)
					       : collect_rules(routes, host, &value, &new);
	replace_rows(routes, host, &new);
	set_key(routes, host, &value, &target);
}

static void remove_host(struct routes *routes, struct object *object)
{
	struct host *host = object_user(object);
	struct new_rows none = {0};
	if (host == NULL)
		return;
	object_set_user(object, NULL);
	drop_key(routes, host);
	replace_rows(routes, host, &none);
	if (host->is_passthrough)
		count_passthrough(routes, &host->load_balancer, false);
	if (host->has_notices)
		notices_clear_all(routes->notices, "route", name_str(&host->name));
	free(host);
}

/* ---- one load balancer ---- */

static void want_default(struct routes *routes, const struct name *name, struct str pool_id)
{
	struct name pool = name_of(NAME_POOL, pool_id);
	struct str key = arena_printf(&routes->arena, "default:%s", name->text);
	rows_want(routes->rows, ROW_WHOLE, key, str_is_empty(pool_id) ? STR_NONE : name_str(&pool));
}

static void want_tcp(
	struct routes *routes, const struct name *name, uint64_t port, struct str pool_id)
{
	struct name pool = name_of(NAME_POOL, pool_id);
	struct str key = arena_printf(&routes->arena, "tcp:%s:%u", name->text, (unsigned)port);
	rows_want(routes->rows, ROW_WHOLE, key, str_is_empty(pool_id) ? STR_NONE : name_str(&pool));
}

static bool has_tcp_port(const struct load_balancer *value, uint16_t port)
{
	for (size_t i = 0; i < value->listeners.count; i++) {
		const struct listener *listener = &value->listeners.items[i];
		if (listener->protocol == LISTENER_TCP && listener->port == port)
			return true;
	}
	return false;
}

static void update_tcp(
	struct routes *routes, struct balancer *balancer, const struct load_balancer *value)
{
	for (size_t i = 0; i < balancer->tcp_count; i++) {
		if (!has_tcp_port(value, balancer->tcp_ports[i]))
			want_tcp(routes, &balancer->name, balancer->tcp_ports[i], STR_NONE);
	}
	free(balancer->tcp_ports);
	balancer->tcp_ports = xcalloc(value->listeners.count + 1, sizeof(uint16_t));
	balancer->tcp_count = 0;
	for (size_t i = 0; i < value->listeners.count; i++) {
		const struct listener *listener = &value->listeners.items[i];
		if (listener->protocol != LISTENER_TCP || !check_port(listener->port))
			continue;
		want_tcp(routes, &balancer->name, listener->port, listener->pool);
		balancer->tcp_ports[balancer->tcp_count++] = (uint16_t)listener->port;
	}
}

static void update_balancer(
	struct routes *routes, struct state *state, const struct object *object, bool is_removed)
{
	struct name name = name_of(NAME_LOAD_BALANCER, object_id(object));
	struct load_balancer value = {0};
	if (!is_removed)
		state_decode(state, object, &routes->arena, &value);
	if (value.keep)
		return;
	struct balancer *balancer = find_or_add_balancer(routes, &name);
	balancer->is_present = !is_removed;
	want_default(routes, &name, value.default_pool);
	update_tcp(routes, balancer, &value);
	drop_if_unused(routes, balancer);
}

/* A row that leads to the same pool as that of the former owner of the key may have been taken for that. */
static void keep_keys(struct routes *routes, const struct state_commit *commit)
{
	for (size_t i = 0; i < commit->change_count && routes->is_any_dropped; i++) {
		const struct state_change *change = &commit->changes[i];
		if (object_kind(change->object) != LB_VIRTUAL_HOST || change->type == STATE_REMOVED)
			continue;
		const struct host *host = object_user(change->object);
		if (host->key != NULL)
			rows_want(routes->rows, ROW_WHOLE, str_from(host->key),
				name_str(&host->target));
	}
}

/* ---- public functions ---- */

void routes_on_commit(struct routes *routes, struct state *state, const struct state_commit *commit)
{
	routes->is_any_dropped = false;
	for (size_t i = 0; i < commit->change_count; i++) {
		const struct state_change *change = &commit->changes[i];
		enum lb_kind kind = object_kind(change->object);
		bool is_removed = change->type == STATE_REMOVED;
		if (kind == LB_VIRTUAL_HOST && is_removed)
			remove_host(routes, change->object);
		else if (kind == LB_VIRTUAL_HOST)
			update_host(routes, state, change->object);
		else if (kind == LB_LOAD_BALANCER)
			update_balancer(routes, state, change->object, is_removed);
		arena_reset(&routes->arena);
	}
	keep_keys(routes, commit);
}

size_t routes_passthrough_count(const struct routes *routes, const struct name *load_balancer)
{
	const struct balancer *balancer = find_balancer(routes, load_balancer);
	return balancer != NULL ? balancer->passthrough_count : 0;
}

size_t routes_passthrough_total(const struct routes *routes)
{
	return routes->passthrough_total;
}

struct routes *routes_new(struct rows *rows, struct notices *notices, enum routes_form form)
{
	struct routes *routes = xcalloc(1, sizeof(*routes));
	routes->rows = rows;
	routes->notices = notices;
	routes->form = form;
	RB_INIT(&routes->balancers);
	arena_init(&routes->arena);
	return routes;
}

void routes_free(struct routes *routes, struct state *state)
{
	if (routes == NULL)
		return;
	struct object *object = state != NULL ? state_first(state, LB_VIRTUAL_HOST) : NULL;
	for (; object != NULL; object = state_next(state, object)) {
		struct host *host = object_user(object);
		if (host == NULL)
			continue;
		object_set_user(object, NULL);
		free(host->rows);
		free(host->key);
		free(host);
	}
	struct balancer *balancer;
	while ((balancer = RB_ROOT(&routes->balancers)) != NULL) {
		balancer->is_present = false;
		balancer->passthrough_count = 0;
		drop_if_unused(routes, balancer);
	}
	arena_fini(&routes->arena);
	free(routes);
}
