// SPDX-License-Identifier: Apache-2.0
#include "provider-proxy/routes.h"

#include "common/must.h"
#include "common/tree.h"
#include "common/xalloc.h"
#include "proto/frame.h"
#include "provider-proxy/checks.h"
#include "provider-proxy/host_rows.h"
#include "provider-proxy/policies.h"

/* The rows of one virtual host. */
struct host {
	struct name name;
	struct name notice_key;
	struct name load_balancer;
	char *key;    /* of its host: or sni: row; NULL: none */
	char *target; /* its value */
	struct row_set rows;
	bool has_notices;
	bool has_paths; /* requests may be looked up by its name */
	bool is_passthrough;
};

/* The rows of one load balancer. */
/* A port where connections or datagrams are passed on as they are. */
struct passing_port {
	uint16_t port;
	bool is_udp;
};

struct balancer {
	RB_ENTRY(balancer) node;
	struct name name;
	size_t passthrough_count;
	struct passing_port *passing; /* for TCP and UDP */
	size_t passing_count;
	bool is_present;
};

RB_HEAD(balancer_tree, balancer);

struct routes {
	struct rows *rows;
	struct notices *notices;
	enum routes_form form;
	bool names_owners;
	const struct route_writer *writer;
	struct policies policies;
	bool is_any_dropped; /* the row of a host, in this commit */
	struct balancer_tree balancers;
	size_t passthrough_total;
	struct arena arena;
	struct buf text; /* of a route, for its name */
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
	free(balancer->passing);
	free(balancer);
}

/* ---- one virtual host ---- */

/* Key of the row by which the host is found; NULL, with a notice, if its name is invalid. */
static char *host_key(struct host *host, struct host_job *job)
{
	const struct virtual_host *value = job->value;
	const char *word = value->passthrough ? "sni" : "host";
	bool is_good = value->match == HOST_EXACT      ? check_host(value->host)
		       : value->match == HOST_WILDCARD ? check_wildcard(value->host)
						       : str_is_empty(value->host);
	if (is_good)
		return xasprintf("%s:%s:%.*s", word, host->load_balancer.text,
			STR_FMT(value->match == HOST_ANY ? STR("*") : value->host));
	for (size_t i = 0; i < value->rules.count; i++)
		host_rows_refuse(job, i, "HostRefused",
			arena_printf(job->arena, "the host \"%.*s\" is no DNS name",
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
	if (str_eq(rows_wanted(routes->rows, ROW_WHOLE, key), str_from(host->target)))
		rows_want(routes->rows, ROW_WHOLE, key, STR_NONE);
	routes->is_any_dropped = true;
	free(host->key);
	free(host->target);
	host->key = host->target = NULL;
}

static struct name passthrough_pool(const struct virtual_host *value)
{
	return name_of(NAME_POOL, value->rules.count != 0 ? value->rules.items[0].pool : STR_NONE);
}

static void set_key(struct routes *routes, struct host *host, struct host_job *job)
{
	const struct virtual_host *value = job->value;
	char *key = host_key(host, job);
	if (host->key != NULL && (key == NULL || strcmp(key, host->key) != 0))
		drop_key(routes, host);
	if (host->is_passthrough != value->passthrough)
		count_passthrough(routes, &host->load_balancer, value->passthrough);
	host->is_passthrough = value->passthrough;
	free(host->key);
	free(host->target);
	host->key = key;
	host->target = NULL;
	if (key == NULL)
		return;
	struct name pool = passthrough_pool(value);
	host->target = str_dup(value->passthrough ? name_str(&pool) : job->target);
	rows_want(routes->rows, ROW_WHOLE, str_from(key), str_from(host->target));
}

static void update_host(struct routes *routes, struct state *state, struct object *object)
{
	struct host *host = object_user(object);
	struct virtual_host value;
	state_decode(state, object, &routes->arena, &value);
	if (host == NULL) {
		host = xcalloc(1, sizeof(*host));
		host->notice_key = name_of(NAME_HOST, object_id(object));
		object_set_user(object, host);
		host->load_balancer = name_of(NAME_LOAD_BALANCER, value.load_balancer);
	}
	if (host->has_notices)
		notices_clear_all(routes->notices, "route", name_str(&host->notice_key));
	host->has_notices = false;
	host->name = name_of(value.decoded ? NAME_DECODED_HOST : NAME_HOST, object_id(object));
	struct name load_balancer = name_of(NAME_LOAD_BALANCER, value.load_balancer);
	if (strcmp(load_balancer.text, host->load_balancer.text) != 0) {
		drop_key(routes, host);
		if (host->is_passthrough)
			count_passthrough(routes, &host->load_balancer, false);
		host->is_passthrough = false;
		host->load_balancer = load_balancer;
	}
	/* Paths first: once a host is found, its rules must be there. */
	struct host_job job = {.arena = &routes->arena,
		.text = &routes->text,
		.form = routes->form,
		.names_owners = routes->names_owners,
		.writer = routes->writer,
		.notices = routes->notices,
		.notice_key = host->notice_key,
		.name = host->name,
		.has_paths = host->has_paths,
		.value = &value,
		.draft = {.arena = &routes->arena}};
	if (!value.passthrough)
		host_rows_collect(&job);
	row_set_replace(&host->rows, routes->rows, &job.draft);
	set_key(routes, host, &job);
	host->has_notices = job.has_notices;
	host->has_paths = job.has_paths;
}

static void remove_host(struct routes *routes, struct object *object)
{
	struct host *host = object_user(object);
	struct row_draft none = {.arena = &routes->arena};
	if (host == NULL)
		return;
	object_set_user(object, NULL);
	drop_key(routes, host);
	row_set_replace(&host->rows, routes->rows, &none);
	if (host->is_passthrough)
		count_passthrough(routes, &host->load_balancer, false);
	if (host->has_notices)
		notices_clear_all(routes->notices, "route", name_str(&host->notice_key));
	free(host);
}

/* ---- one load balancer ---- */

static void want_default(struct routes *routes, const struct name *name, struct str pool_id)
{
	struct name pool = name_of(NAME_POOL, pool_id);
	struct str key = arena_printf(&routes->arena, "default:%s", name->text);
	rows_want(routes->rows, ROW_WHOLE, key, str_is_empty(pool_id) ? STR_NONE : name_str(&pool));
}

static void want_passing(struct routes *routes, const struct name *name,
	const struct passing_port *port, struct str pool_id)
{
	struct name pool = name_of(NAME_POOL, pool_id);
	struct str key = arena_printf(
		&routes->arena, "%s:%s:%u", port->is_udp ? "udp" : "tcp", name->text, port->port);
	rows_want(routes->rows, ROW_WHOLE, key, str_is_empty(pool_id) ? STR_NONE : name_str(&pool));
}

/* False: requests are read there, or it is no port. */
static bool read_passing(const struct listener *listener, struct passing_port *ret_port)
{
	*ret_port =
		(struct passing_port){(uint16_t)listener->port, listener->protocol == LISTENER_UDP};
	return (listener->protocol == LISTENER_TCP || listener->protocol == LISTENER_UDP) &&
	       check_port(listener->port);
}

static bool has_passing(const struct load_balancer *value, const struct passing_port *port)
{
	for (size_t i = 0; i < value->listeners.count; i++) {
		struct passing_port other;
		if (read_passing(&value->listeners.items[i], &other) && other.port == port->port &&
			other.is_udp == port->is_udp)
			return true;
	}
	return false;
}

static void update_passing(
	struct routes *routes, struct balancer *balancer, const struct load_balancer *value)
{
	for (size_t i = 0; i < balancer->passing_count; i++) {
		if (!has_passing(value, &balancer->passing[i]))
			want_passing(routes, &balancer->name, &balancer->passing[i], STR_NONE);
	}
	free(balancer->passing);
	balancer->passing = xcalloc(value->listeners.count + 1, sizeof(*balancer->passing));
	balancer->passing_count = 0;
	for (size_t i = 0; i < value->listeners.count; i++) {
		struct passing_port *port = &balancer->passing[balancer->passing_count];
		if (!read_passing(&value->listeners.items[i], port))
			continue;
		want_passing(routes, &balancer->name, port, value->listeners.items[i].pool);
		balancer->passing_count++;
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
	update_passing(routes, balancer, &value);
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
				str_from(host->target));
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
		else if (kind == LB_POLICY)
			policies_on_change(&routes->policies, state, change->object, is_removed,
				&routes->arena);
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

struct routes *routes_new(struct rows *rows, struct notices *notices, enum routes_form form,
	const struct route_writer *writer)
{
	struct routes *routes = xcalloc(1, sizeof(*routes));
	routes->rows = rows;
	routes->notices = notices;
	routes->form = form;
	routes->writer = writer;
	routes->policies = (struct policies){rows, notices, writer};
	buf_init(&routes->text, 2 * FRAME_LEN_MAX);
	RB_INIT(&routes->balancers);
	arena_init(&routes->arena);
	return routes;
}

void routes_name_owners(struct routes *routes, bool names_owners)
{
	routes->names_owners = names_owners;
}

struct str routes_target(struct str value)
{
	const char *bar = str_find(value, '|');
	return bar != NULL ? (struct str){value.p, (size_t)(bar - value.p)} : value;
}

void routes_free(struct routes *routes, struct state *state)
{
	if (routes == NULL)
		return;
	policies_fini(state);
	struct object *object = state != NULL ? state_first(state, LB_VIRTUAL_HOST) : NULL;
	for (; object != NULL; object = state_next(state, object)) {
		struct host *host = object_user(object);
		if (host == NULL)
			continue;
		object_set_user(object, NULL);
		row_set_fini(&host->rows);
		free(host->key);
		free(host->target);
		free(host);
	}
	struct balancer *balancer;
	while ((balancer = RB_ROOT(&routes->balancers)) != NULL) {
		balancer->is_present = false;
		balancer->passthrough_count = 0;
		drop_if_unused(routes, balancer);
	}
	arena_fini(&routes->arena);
	buf_fini(&routes->text);
	free(routes);
}
