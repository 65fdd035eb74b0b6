// SPDX-License-Identifier: Apache-2.0
/* get: what the translator has, as a table, JSON or YAML. */
#include "common/clock.h"
#include "common/must.h"
#include "common/xalloc.h"
#include "sluicectl/commands.h"
#include "sluicectl/live.h"
#include "sluicectl/show.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
	CELL_LEN = 512,
	LISTED_MAX = 3 /* items of a list shown in a cell, unless the table is wide */
};

struct resource_kind;

struct getting {
	const struct args *args;
	const struct resource_kind *resource;
	enum output_form form; /* with --rows the wide one */
	struct table *table;
	struct arena arena; /* of one frame */
	struct arena said;  /* of the statuses */
	struct message_reader *reader;
	struct buf text; /* JSON */
	size_t count;
	struct lb_status *statuses; /* for load balancers; sorted by id */
	size_t status_count;
	struct table_choice choice;
};

/* The items of a list in one cell: the first ones, and how many were left out. */
struct joining {
	struct getting *g;
	size_t count;
	size_t left_out;
};

/* Whether another item fits into the cell. */
static bool join_next(struct joining *joining)
{
	if (joining->g->form != FORM_WIDE && joining->count == LISTED_MAX) {
		joining->left_out++;
		return false;
	}
	if (joining->count++ != 0)
		table_put(joining->g->table, STR(","));
	return true;
}

static void join_end(struct joining *joining)
{
	if (joining->left_out != 0)
		table_put(joining->g->table,
			arena_printf(&joining->g->arena, ",+%zu", joining->left_out));
	table_end(joining->g->table);
}

static void add_list(struct getting *g, const struct str_list *list)
{
	struct joining joining = {.g = g};
	for (size_t i = 0; i < list->count; i++) {
		if (join_next(&joining))
			table_put(g->table, list->items[i]);
	}
	join_end(&joining);
}

/* ":80" */
static void put_port(struct getting *g, uint64_t port)
{
	table_put(g->table, STR(":"));
	table_put_uint(g->table, port);
}

static void add_head(struct getting *g, const char *const *words, size_t count)
{
	g->table = table_new(count);
	for (size_t i = 0; i < count; i++)
		table_add(g->table, str_from(words[i]));
}

static void add_number(struct getting *g, uint64_t number)
{
	table_put_uint(g->table, number);
	table_end(g->table);
}

/* ---- rows ---- */

static void add_ingress(struct getting *g, const void *value)
{
	const struct ingress_record *ingress = value;
	struct joining hosts = {.g = g};
	size_t paths = 0;
	table_add(g->table, ingress->key.namespace);
	table_add(g->table, ingress->key.name);
	table_add(g->table, ingress->class_name);
	for (size_t i = 0; i < ingress->rules.count; i++) {
		struct str host = ingress->rules.items[i].host;
		if (join_next(&hosts))
			table_put(g->table, host.len != 0 ? host : STR("*"));
		paths += ingress->rules.items[i].paths.count;
	}
	join_end(&hosts);
	add_number(g, paths);
	table_add(g->table, ingress->tls.count != 0 ? STR("yes") : STR("no"));
	live_add_age(g->table, ingress->created);
}

static int by_id(const void *a, const void *b)
{
	return str_cmp(((const struct lb_status *)a)->id, ((const struct lb_status *)b)->id);
}

/* What is worse comes first: failed, pending, nothing said. */
static void rank_balancer(struct getting *g, const struct lb_status *status)
{
	table_rank(g->table, status == NULL                      ? 2
			     : status->state == LB_STATE_FAILED  ? 0
			     : status->state == LB_STATE_PENDING ? 1
								 : 3);
}

static void add_balancer(struct getting *g, const void *value)
{
	static const char *const protocols[] = {"http", "https", "tcp", "tls-passthrough", "udp"};
	static const char *const states[] = {"pending", "applied", "failed"};
	const struct load_balancer *lb = value;
	struct lb_status wanted = {.id = lb->key.id};
	const struct lb_status *status =
		g->status_count == 0
			? NULL
			: bsearch(&wanted, g->statuses, g->status_count, sizeof(wanted), by_id);
	struct joining listeners = {.g = g};
	rank_balancer(g, status);
	struct joining addresses = {.g = g};
	table_add(g->table, lb->key.id);
	table_add(g->table, lb->class_name);
	for (size_t i = 0; i < lb->listeners.count; i++) {
		if (!join_next(&listeners))
			continue;
		table_put(g->table, str_from(protocols[lb->listeners.items[i].protocol]));
		put_port(g, lb->listeners.items[i].port);
	}
	join_end(&listeners);
	table_add(g->table, status != NULL ? str_from(states[status->state]) : STR_NONE);
	for (size_t i = 0; status != NULL && i < status->addresses.count; i++) {
		const struct address *address = &status->addresses.items[i];
		if (join_next(&addresses))
			table_put(g->table, address->ip.len != 0 ? address->ip : address->hostname);
	}
	join_end(&addresses);
	table_add(g->table, status != NULL ? status->message : STR_NONE);
}

static void add_pool(struct getting *g, const void *value)
{
	const struct pool *pool = value;
	struct joining endpoints = {.g = g};
	size_t active = 0;
	for (size_t i = 0; i < pool->endpoints.count; i++)
		active += pool->endpoints.items[i].active;
	table_rank(g->table,
		pool->endpoints.count != 0 ? (double)active / (double)pool->endpoints.count : 0);
	table_add(g->table, pool->key.id);
	table_add(g->table, pool->service.uid.len != 0 ? STR("yes") : STR("no"));
	table_put_uint(g->table, active);
	table_put(g->table, STR("/"));
	add_number(g, pool->endpoints.count);
	for (size_t i = 0; i < pool->endpoints.count; i++) {
		if (!join_next(&endpoints))
			continue;
		table_put(g->table, pool->endpoints.items[i].ip);
		put_port(g, pool->endpoints.items[i].port);
	}
	join_end(&endpoints);
}

static void add_certificate(struct getting *g, const void *value)
{
	const struct certificate *certificate = value;
	char day[32] = "";
	time_t end = (time_t)certificate->not_after;
	struct tm parts;
	if (gmtime_r(&end, &parts) != NULL)
		(void)strftime(day, sizeof(day), "%Y-%m-%d", &parts);
	table_rank(g->table, (double)certificate->not_after);
	table_add(g->table, certificate->key.id);
	add_list(g, &certificate->names);
	add_list(g, &certificate->hosts);
	table_add(g->table, str_from(day));
	double left_days = ((double)end - (double)clock_wall_s()) / (24.0 * 60 * 60);
	table_add(g->table, arena_printf(&g->arena, "%.0f d", left_days));
}

/* ---- kinds ---- */

struct resource_kind {
	const char *word;
	const char *type; /* as in ADMIN.md */
	const char *const head[8];
	void (*add)(struct getting *g, const void *value);
	bool by_name; /* otherwise by id, which usually begins with the namespace */
};

static const struct resource_kind resource_kinds[] = {
	{"ingress", "ingress", {"NAMESPACE", "NAME", "CLASS", "HOSTS", "PATHS", "TLS", "AGE"},
		add_ingress, true},
	{"lb", "load-balancer", {"ID", "CLASS", "LISTENERS", "STATE", "ADDRESSES", "MESSAGE"},
		add_balancer, false},
	{"pool", "pool", {"ID", "SERVICE", "READY", "ENDPOINTS"}, add_pool, false},
	{"cert", "certificate", {"SECRET", "NAMES", "SHOWN FOR", "UNTIL", "LEFT"}, add_certificate,
		false},
};

static const struct resource_kind *find_resource_kind(const char *word)
{
	for (size_t i = 0; i < sizeof(resource_kinds) / sizeof(resource_kinds[0]); i++) {
		if (strcmp(resource_kinds[i].word, word) == 0)
			return &resource_kinds[i];
	}
	return NULL;
}

static struct str id_of(const struct message *message, const void *value)
{
	return message->record_kind != RECORD_NONE ? ((const struct record_key *)value)->namespace
						   : ((const struct lb_key *)value)->id;
}

/* Filters by --namespace: records by their namespace, objects by what precedes the first slash of their id. */
static bool is_asked_for(const struct getting *g, const struct message *message, const void *value)
{
	const char *namespace = g->args->namespace;
	if (namespace == NULL)
		return true;
	struct str text = id_of(message, value);
	size_t len = strlen(namespace);
	return text.len >= len && memcmp(text.p, namespace, len) == 0 &&
	       (text.len == len || text.p[len] == '/');
}

static void take(struct getting *g, const struct message *message)
{
	const struct schema *schema =
		message_schema(message->type, message->record_kind, message->lb_kind);
	struct schema_error error = {""};
	void *value = arena_alloc(&g->arena, schema->size);
	if (message_decode(message, &g->arena, value, &error) != 0 ||
		!is_asked_for(g, message, value))
		return;
	g->count++;
	if (g->table != NULL) {
		g->resource->add(g, value);
		return;
	}
	must(buf_append(&g->text, g->count > 1 ? "," : "[", 1) == 0);
	must(show_json(schema, value, &g->text) == 0);
}

static bool take_frame(void *ctx, struct str payload)
{
	struct getting *g = ctx;
	struct schema_error error = {""};
	struct message message;
	if (message_open(g->reader, payload, &message, &error) == 0 &&
		message.type == MESSAGE_UPSERT)
		take(g, &message);
	arena_reset(&g->arena);
	return true;
}

/* The provider's statuses of load balancers, for their rows. */
static bool take_status(void *ctx, struct str payload)
{
	struct getting *g = ctx;
	struct schema_error error = {""};
	struct message message;
	struct lb_status status;
	struct str kept = arena_str(&g->said, payload);
	if (message_open(g->reader, kept, &message, &error) == 0 &&
		message.type == MESSAGE_LB_STATUS &&
		message_decode(&message, &g->said, &status, &error) == 0) {
		struct lb_status *place = arena_push(
			&g->said, (void **)&g->statuses, &g->status_count, sizeof(*place));
		*place = status;
	}
	return true;
}

static int fetch(struct getting *g, const struct ask *question, const char *type, const char *query,
	bool (*on_frame)(void *ctx, struct str payload))
{
	char *problem = NULL;
	char *target = xasprintf("/objects/%s%s", type, query);
	enum ask_outcome outcome =
		ask_frames(question, "translator", target, false, on_frame, g, &problem);
	free(target);
	return outcome == ASK_GOOD ? CTL_EXIT_GOOD : live_complain(outcome, problem);
}

static char *query_of(const struct args *args, const struct resource_kind *resource)
{
	if (args->rest.count < 2)
		return xstrdup("");
	const char *given = args->rest.items[1];
	const char *slash = strchr(given, '/');
	char *escaped = ask_escape(given);
	char *query = NULL;
	if (resource->by_name && slash != NULL) {
		char *namespace = str_dup((struct str){given, (size_t)(slash - given)});
		char *first = ask_escape(namespace);
		char *second = ask_escape(slash + 1);
		query = xasprintf("?namespace=%s&name=%s", first, second);
		free(namespace);
		free(first);
		free(second);
	} else {
		query = xasprintf("?id=%s", escaped);
	}
	free(escaped);
	return query;
}

static void print_table(struct getting *g)
{
	if (g->form == FORM_TABLE || (g->form == FORM_WIDE && !g->args->rows)) {
		table_print(g->table, stdout, g->form == FORM_WIDE ? 0 : live_width());
		return;
	}
	must(table_put_json(g->table, &g->text) == 0);
	show_print(stdout, buf_str(&g->text), live_form(g->args) == FORM_YAML);
}

static void print_text(struct getting *g)
{
	must(buf_append_str(&g->text, g->count == 0 ? STR("[]") : STR("]")) == 0);
	show_print(stdout, buf_str(&g->text), g->form == FORM_YAML);
}

static int get(struct getting *g, const struct ask *question)
{
	const struct resource_kind *resource = g->resource;
	char *query = query_of(g->args, resource);
	int code = CTL_EXIT_GOOD;
	if (resource->add == add_balancer && g->table != NULL) {
		code = fetch(g, question, "lb-status", "", take_status);
		if (g->status_count > 1)
			qsort(g->statuses, g->status_count, sizeof(*g->statuses), by_id);
	}
	if (code == CTL_EXIT_GOOD)
		code = fetch(g, question, resource->type, query, take_frame);
	free(query);
	if (code != CTL_EXIT_GOOD)
		return code;
	if (g->table != NULL) {
		table_choose(g->table, &g->choice);
		print_table(g);
	} else {
		print_text(g);
	}
	return code;
}

static bool read_choice(const struct args *args, bool has_table, struct table_choice *ret_choice)
{
	*ret_choice = (struct table_choice){
		.match = args->match, .limit = SIZE_MAX, .by_rank = args->worst_first};
	bool is_given = args->match != NULL || args->skip != NULL || args->limit != NULL ||
			args->worst_first;
	if (is_given && !has_table) {
		fputs("sluicectl: get chooses among rows: with JSON and YAML add --rows\n", stderr);
		return false;
	}
	return live_read_part(args, &ret_choice->skip, &ret_choice->limit);
}

int command_get(const struct args *args)
{
	const struct resource_kind *resource =
		args->rest.count != 0 ? find_resource_kind(args->rest.items[0]) : NULL;
	struct getting g = {.args = args, .resource = resource, .form = live_form(args)};
	struct ask question;
	size_t columns = 0;
	if (resource == NULL || args->rest.count > 2) {
		fputs("sluicectl: get needs ingress, lb, pool or cert, and at most one name\n",
			stderr);
		return CTL_EXIT_USAGE;
	}
	bool has_table = args->rows || g.form == FORM_TABLE || g.form == FORM_WIDE;
	if (!read_choice(args, has_table, &g.choice) || !live_open(args, &question))
		return CTL_EXIT_USAGE;
	if (args->rows)
		g.form = FORM_WIDE;
	arena_init(&g.arena);
	arena_init(&g.said);
	buf_init(&g.text, ASK_LEN_MAX);
	g.reader = message_reader_new();
	while (resource->head[columns] != NULL)
		columns++;
	if (g.form == FORM_TABLE || g.form == FORM_WIDE)
		add_head(&g, resource->head, columns);
	else
		(void)buf_reserve(&g.text, ASK_ROOM_LEN);
	int code = get(&g, &question);
	if (g.table != NULL)
		table_free(g.table);
	message_reader_free(g.reader);
	buf_fini(&g.text);
	arena_fini(&g.arena);
	arena_fini(&g.said);
	return code;
}
