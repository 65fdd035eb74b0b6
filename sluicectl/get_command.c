// SPDX-License-Identifier: Apache-2.0
/* get: what the translator has, as a table, or whole as JSON or YAML. */
#include "common/must.h"
#include "common/xalloc.h"
#include "proto/frame.h"
#include "sluicectl/commands.h"
#include "sluicectl/live.h"
#include "sluicectl/show.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { CELL_LEN = 512, LISTED_MAX = 3 /* of a list in a cell of a table that is not wide */ };

struct getting {
	const struct args *args;
	enum output_form form;
	struct table *table;
	struct arena arena; /* of all */
	struct message_reader *reader;
	struct buf json;
	size_t count;
	struct lb_status *statuses; /* for load balancers; sorted by id */
	size_t status_count;
};

/* A list in a cell: the first ones, and how many more. */
static struct str join(struct getting *g, const struct str *items, size_t count)
{
	size_t most = g->form == FORM_WIDE ? count : LISTED_MAX;
	struct str text = STR("");
	for (size_t i = 0; i < count && i < most; i++)
		text = arena_printf(&g->arena, "%.*s%s%.*s", STR_FMT(text), i != 0 ? "," : "",
			STR_FMT(items[i]));
	if (count > most)
		text = arena_printf(&g->arena, "%.*s,+%zu", STR_FMT(text), count - most);
	return text;
}

static void add_head(struct getting *g, const char *const *words, size_t count)
{
	g->table = table_new(count);
	for (size_t i = 0; i < count; i++)
		table_add(g->table, str_from(words[i]));
}

static void add_number(struct getting *g, uint64_t number)
{
	table_add(g->table, arena_printf(&g->arena, "%llu", (unsigned long long)number));
}

/* ---- rows ---- */

static void add_ingress(struct getting *g, const void *value)
{
	const struct ingress_record *ingress = value;
	struct str *hosts = arena_calloc(&g->arena, ingress->rules.count + 1, sizeof(*hosts));
	char room[32];
	size_t paths = 0;
	for (size_t i = 0; i < ingress->rules.count; i++) {
		struct str host = ingress->rules.items[i].host;
		hosts[i] = host.len != 0 ? host : STR("*");
		paths += ingress->rules.items[i].paths.count;
	}
	table_add(g->table, ingress->key.namespace);
	table_add(g->table, ingress->key.name);
	table_add(g->table, ingress->class_name);
	table_add(g->table, join(g, hosts, ingress->rules.count));
	add_number(g, paths);
	table_add(g->table, ingress->tls.count != 0 ? STR("yes") : STR("no"));
	table_add(g->table, str_from(live_age(ingress->created, room)));
}

static int by_id(const void *a, const void *b)
{
	return str_cmp(((const struct lb_status *)a)->id, ((const struct lb_status *)b)->id);
}

static void add_balancer(struct getting *g, const void *value)
{
	static const char *const protocols[] = {"http", "https", "tcp", "tls-passthrough"};
	static const char *const states[] = {"pending", "applied", "failed"};
	const struct load_balancer *lb = value;
	struct lb_status wanted = {.id = lb->key.id};
	const struct lb_status *status =
		g->status_count == 0
			? NULL
			: bsearch(&wanted, g->statuses, g->status_count, sizeof(wanted), by_id);
	struct str *listeners =
		arena_calloc(&g->arena, lb->listeners.count + 1, sizeof(*listeners));
	for (size_t i = 0; i < lb->listeners.count; i++)
		listeners[i] =
			arena_printf(&g->arena, "%s:%u", protocols[lb->listeners.items[i].protocol],
				(unsigned)lb->listeners.items[i].port);
	size_t address_count = status != NULL ? status->addresses.count : 0;
	struct str *addresses = arena_calloc(&g->arena, address_count + 1, sizeof(*addresses));
	for (size_t i = 0; i < address_count; i++) {
		const struct address *address = &status->addresses.items[i];
		addresses[i] = address->ip.len != 0 ? address->ip : address->hostname;
	}
	table_add(g->table, lb->key.id);
	table_add(g->table, lb->class_name);
	table_add(g->table, join(g, listeners, lb->listeners.count));
	table_add(g->table, status != NULL ? str_from(states[status->state]) : STR_NONE);
	table_add(g->table, join(g, addresses, address_count));
	table_add(g->table, status != NULL ? status->message : STR_NONE);
}

static void add_pool(struct getting *g, const void *value)
{
	const struct pool *pool = value;
	struct str *endpoints =
		arena_calloc(&g->arena, pool->endpoints.count + 1, sizeof(*endpoints));
	size_t active = 0;
	for (size_t i = 0; i < pool->endpoints.count; i++) {
		const struct pool_endpoint *endpoint = &pool->endpoints.items[i];
		endpoints[i] = arena_printf(
			&g->arena, "%.*s:%u", STR_FMT(endpoint->ip), (unsigned)endpoint->port);
		active += endpoint->active;
	}
	table_add(g->table, pool->key.id);
	table_add(g->table, pool->service.uid.len != 0 ? STR("yes") : STR("no"));
	table_add(g->table, arena_printf(&g->arena, "%zu/%zu", active, pool->endpoints.count));
	table_add(g->table, join(g, endpoints, pool->endpoints.count));
}

static void add_certificate(struct getting *g, const void *value)
{
	const struct certificate *certificate = value;
	char day[32] = "";
	time_t end = (time_t)certificate->not_after;
	struct tm parts;
	if (gmtime_r(&end, &parts) != NULL)
		(void)strftime(day, sizeof(day), "%Y-%m-%d", &parts);
	table_add(g->table, certificate->key.id);
	table_add(g->table, join(g, certificate->names.items, certificate->names.count));
	table_add(g->table, join(g, certificate->hosts.items, certificate->hosts.count));
	table_add(g->table, str_from(day));
	double left_days = ((double)end - (double)time(NULL)) / (24.0 * 60 * 60);
	table_add(g->table, arena_printf(&g->arena, "%.0f d", left_days));
}

/* ---- kinds ---- */

struct sort {
	const char *word;
	const char *type; /* of WINDOW.md */
	const char *const head[8];
	void (*add)(struct getting *g, const void *value);
	bool by_name; /* otherwise by id, which begins with the namespace in most */
};

static const struct sort sorts[] = {
	{"ingress", "ingress", {"NAMESPACE", "NAME", "CLASS", "HOSTS", "PATHS", "TLS", "AGE"},
		add_ingress, true},
	{"lb", "load-balancer", {"ID", "CLASS", "LISTENERS", "STATE", "ADDRESSES", "MESSAGE"},
		add_balancer, false},
	{"pool", "pool", {"ID", "SERVICE", "READY", "ENDPOINTS"}, add_pool, false},
	{"cert", "certificate", {"SECRET", "NAMES", "SHOWN FOR", "UNTIL", "LEFT"}, add_certificate,
		false},
};

static const struct sort *find_sort(const char *word)
{
	for (size_t i = 0; i < sizeof(sorts) / sizeof(sorts[0]); i++) {
		if (strcmp(sorts[i].word, word) == 0)
			return &sorts[i];
	}
	return NULL;
}

static struct str id_of(const struct message *message, const void *value)
{
	return message->record_kind != RECORD_NONE ? ((const struct record_key *)value)->namespace
						   : ((const struct lb_key *)value)->id;
}

/* Those of --namespace: of records the namespace, of objects what stands before the first slash of the id. */
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

static void take(struct getting *g, const struct sort *sort, const struct message *message)
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
		sort->add(g, value);
		return;
	}
	must(buf_append(&g->json, g->count > 1 ? "," : "[", 1) == 0);
	must(show_json(schema, value, &g->json) == 0);
}

static void take_all(struct getting *g, const struct sort *sort, struct buf *body)
{
	struct str payload;
	while (frame_next(body, &payload) == FRAME_READY) {
		struct schema_error error = {""};
		struct message message;
		if (message_open(g->reader, payload, &message, &error) == 0 &&
			message.type == MESSAGE_UPSERT)
			take(g, sort, &message);
		buf_consume(body, frame_len_of(payload));
	}
}

/* What the provider says of load balancers, for their rows. `body` has to stay. */
static void take_statuses(struct getting *g, struct buf *body)
{
	struct str payload;
	while (frame_next(body, &payload) == FRAME_READY) {
		struct schema_error error = {""};
		struct message message;
		struct lb_status status;
		if (message_open(g->reader, payload, &message, &error) == 0 &&
			message.type == MESSAGE_LB_STATUS &&
			message_decode(&message, &g->arena, &status, &error) == 0) {
			struct lb_status *place = arena_push(
				&g->arena, (void **)&g->statuses, &g->status_count, sizeof(*place));
			*place = status;
		}
		body->start += frame_len_of(payload);
	}
	if (g->status_count > 1)
		qsort(g->statuses, g->status_count, sizeof(*g->statuses), by_id);
}

static char *query_of(const struct args *args, const struct sort *sort)
{
	if (args->rest.count < 2)
		return xstrdup("");
	const char *given = args->rest.items[1];
	const char *slash = strchr(given, '/');
	char *escaped = ask_escape(given);
	char *query = NULL;
	if (sort->by_name && slash != NULL) {
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

static int get(struct getting *g, const struct sort *sort, const struct ask *question)
{
	struct buf body;
	struct buf statuses;
	char *query = query_of(g->args, sort);
	buf_init(&body, ASK_LEN_MAX);
	buf_init(&statuses, ASK_LEN_MAX);
	int code = live_fetch(question, sort->type, query, &body);
	if (code == CTL_EXIT_GOOD && sort->add == add_balancer && g->table != NULL)
		code = live_fetch(question, "lb-status", "", &statuses);
	if (code == CTL_EXIT_GOOD) {
		take_statuses(g, &statuses);
		take_all(g, sort, &body);
		if (g->table != NULL) {
			table_print(g->table, stdout);
		} else {
			must(buf_printf(&g->json, "%s]", g->count == 0 ? "[" : "") == 0);
			show_print(stdout, buf_str(&g->json), g->form == FORM_YAML);
		}
	}
	buf_fini(&body);
	buf_fini(&statuses);
	free(query);
	return code;
}

int command_get(const struct args *args)
{
	const struct sort *sort = args->rest.count != 0 ? find_sort(args->rest.items[0]) : NULL;
	struct getting g = {.args = args, .form = live_form(args)};
	struct ask question;
	size_t columns = 0;
	if (sort == NULL || args->rest.count > 2) {
		fputs("sluicectl: get needs ingress, lb, pool or cert, and at most one name\n",
			stderr);
		return CTL_EXIT_USAGE;
	}
	if (!live_open(args, &question))
		return CTL_EXIT_USAGE;
	arena_init(&g.arena);
	buf_init(&g.json, ASK_LEN_MAX);
	g.reader = message_reader_new();
	while (sort->head[columns] != NULL)
		columns++;
	if (g.form == FORM_TABLE || g.form == FORM_WIDE)
		add_head(&g, sort->head, columns);
	int code = get(&g, sort, &question);
	if (g.table != NULL)
		table_free(g.table);
	message_reader_free(g.reader);
	buf_fini(&g.json);
	arena_fini(&g.arena);
	return code;
}
