// SPDX-License-Identifier: Apache-2.0
/* routes: of the Ingresses that are looked for, a part of which is shown. Only those are explained: what is shown is what it costs the translator. */
#include "common/must.h"
#include "common/xalloc.h"
#include "proto/inspection.h"
#include "sluicectl/commands.h"
#include "sluicectl/live.h"
#include "sluicectl/show.h"

#include <stdlib.h>
#include <string.h>

enum { LIMIT_DEFAULT = 100, COLUMNS = 6 };

struct name {
	struct str namespace;
	struct str name;
};

struct searching {
	const struct args *args;
	const char *wanted; /* NULL: all */
	struct ask question;
	size_t skip;
	size_t limit;
	struct message_reader *reader;
	struct arena frame; /* of one frame */
	struct arena kept;
	struct name *names; /* of those that are shown */
	size_t name_count;
	size_t matches;
	bool is_unserved; /* something that is shown */
};

/* ---- searching ---- */

static bool has_path(const struct ingress_rule *rule, const char *wanted)
{
	for (size_t i = 0; i < rule->paths.count; i++) {
		const struct ingress_path *path = &rule->paths.items[i];
		if (table_has_text(path->path, wanted) ||
			table_has_text(path->backend.service, wanted))
			return true;
	}
	return false;
}

/* As in "default/web", too. */
static bool has_name(const struct record_key *key, const char *wanted, struct arena *arena)
{
	return table_has_text(
		arena_printf(arena, "%.*s/%.*s", STR_FMT(key->namespace), STR_FMT(key->name)),
		wanted);
}

static bool is_wanted(
	const struct searching *s, const struct ingress_record *ingress, struct arena *arena)
{
	const char *namespace = s->args->namespace;
	if (namespace != NULL && !str_eq_c(ingress->key.namespace, namespace))
		return false;
	if (s->wanted == NULL || has_name(&ingress->key, s->wanted, arena) ||
		table_has_text(ingress->class_name, s->wanted))
		return true;
	for (size_t i = 0; i < ingress->rules.count; i++) {
		const struct ingress_rule *rule = &ingress->rules.items[i];
		if (table_has_text(rule->host, s->wanted) || has_path(rule, s->wanted))
			return true;
	}
	return ingress->default_backend != NULL &&
	       table_has_text(ingress->default_backend->service, s->wanted);
}

static void take(struct searching *s, const struct ingress_record *ingress)
{
	if (!is_wanted(s, ingress, &s->frame))
		return;
	s->matches++;
	if (s->matches <= s->skip || s->name_count == s->limit)
		return;
	struct name *place =
		arena_push(&s->kept, (void **)&s->names, &s->name_count, sizeof(*place));
	*place = (struct name){arena_str(&s->kept, ingress->key.namespace),
		arena_str(&s->kept, ingress->key.name)};
}

static bool take_frame(void *ctx, struct str payload)
{
	struct searching *s = ctx;
	struct schema_error error = {""};
	struct message message;
	struct ingress_record ingress;
	if (message_open(s->reader, payload, &message, &error) == 0 &&
		message.type == MESSAGE_UPSERT && message.record_kind == RECORD_INGRESS &&
		message_decode(&message, &s->frame, &ingress, &error) == 0)
		take(s, &ingress);
	arena_reset(&s->frame);
	return true;
}

static int search(struct searching *s)
{
	char *problem = NULL;
	enum ask_outcome outcome = ask_frames(
		&s->question, "translator", "/objects/ingress", false, take_frame, s, &problem);
	return outcome == ASK_GOOD ? CTL_EXIT_GOOD : live_complain(outcome, problem);
}

/* ---- what is shown ---- */

typedef void each_fn(struct searching *s, const struct inspection_explanation *e, void *ctx);

static char *target_of(const struct name *name)
{
	char *namespace_text = str_dup(name->namespace);
	char *name_text = str_dup(name->name);
	char *namespace = ask_escape(namespace_text);
	char *escaped = ask_escape(name_text);
	char *target = xasprintf("/explain?namespace=%s&name=%s", namespace, escaped);
	free(escaped);
	free(namespace);
	free(name_text);
	free(namespace_text);
	return target;
}

static void note(struct searching *s, const struct inspection_explanation *e)
{
	for (size_t i = 0; i < e->routes.count; i++)
		s->is_unserved = s->is_unserved || !e->routes.items[i].is_served;
	s->is_unserved = s->is_unserved || e->problems.count != 0 || e->missing.len != 0;
}

static int explain_one(struct searching *s, const struct name *name, each_fn *each, void *ctx)
{
	struct inspection_explanation explanation;
	struct buf body;
	char *target = target_of(name);
	char *problem = NULL;
	int code = CTL_EXIT_GOOD;
	buf_init(&body, ASK_LEN_MAX);
	enum ask_outcome outcome =
		live_explain(&s->question, target, &body, &s->frame, &explanation, &problem);
	if (outcome == ASK_GOOD) {
		note(s, &explanation);
		each(s, &explanation, ctx);
	} else if (outcome == ASK_NOT_FOUND) {
		free(problem); /* it has gone meanwhile */
	} else {
		code = live_complain(outcome, problem);
	}
	free(target);
	buf_fini(&body);
	arena_reset(&s->frame);
	return code;
}

static int explain_each(struct searching *s, each_fn *each, void *ctx)
{
	int code = CTL_EXIT_GOOD;
	for (size_t i = 0; i < s->name_count && code == CTL_EXIT_GOOD; i++)
		code = explain_one(s, &s->names[i], each, ctx);
	return code;
}

/* ---- as a table ---- */

static void add_route(struct searching *s, const struct inspection_explanation *e,
	const struct inspection_route *route, struct table *table)
{
	size_t ready = 0;
	for (size_t i = 0; i < route->endpoints.count; i++)
		ready += str_eq(route->endpoints.items[i].state, STR("ready"));
	table_add(table, route->host.len != 0 ? route->host : STR("*"));
	table_add(table, route->path);
	table_add(table,
		arena_printf(&s->frame, "%.*s/%.*s", STR_FMT(e->namespace), STR_FMT(e->name)));
	table_add(table, route->service);
	table_put_uint(table, ready);
	table_put(table, STR("/"));
	table_put_uint(table, route->endpoints.count);
	table_end(table);
	table_add(table, route->is_served         ? STR("served")
			 : route->reason.len != 0 ? route->reason
						  : STR("not served"));
}

/* One that has no route: its first problem says why. */
static void add_without_route(
	struct searching *s, const struct inspection_explanation *e, struct table *table)
{
	table_add(table, STR_NONE);
	table_add(table, STR_NONE);
	table_add(table,
		arena_printf(&s->frame, "%.*s/%.*s", STR_FMT(e->namespace), STR_FMT(e->name)));
	table_add(table, STR_NONE);
	table_add(table, STR_NONE);
	table_add(table, e->problems.count != 0 ? e->problems.items[0].reason : STR("not served"));
}

static void add_rows(struct searching *s, const struct inspection_explanation *e, void *ctx)
{
	if (e->routes.count == 0)
		add_without_route(s, e, ctx);
	for (size_t i = 0; i < e->routes.count; i++)
		add_route(s, e, &e->routes.items[i], ctx);
}

static int print_table(struct searching *s, bool is_wide)
{
	static const char *const head[COLUMNS] = {
		"HOST", "PATH", "INGRESS", "SERVICE", "READY", "STATE"};
	struct table *table = table_new(COLUMNS);
	for (size_t i = 0; i < COLUMNS; i++)
		table_add(table, str_from(head[i]));
	int code = explain_each(s, add_rows, table);
	if (code == CTL_EXIT_GOOD)
		table_print(table, stdout, is_wide ? 0 : live_width());
	if (code == CTL_EXIT_GOOD && s->name_count < s->matches)
		fprintf(stderr,
			"sluicectl: these are %zu of %zu Ingresses; see --skip and --limit\n",
			s->name_count, s->matches);
	table_free(table);
	return code;
}

/* ---- as JSON ---- */

static void put_json(struct searching *s, const struct inspection_explanation *e, void *ctx)
{
	struct buf *out = ctx;
	const uint8_t *bytes = buf_data(out);
	if (bytes[buf_len(out) - 1] != '[')
		must(buf_append(out, ",", 1) == 0);
	must(show_json(&inspection_explanation_schema, e, out) == 0);
}

static int print_json(struct searching *s, bool is_yaml)
{
	struct buf out;
	buf_init(&out, ASK_LEN_MAX);
	must(buf_printf(&out, "{\"matches\":%zu,\"skipped\":%zu,\"ingresses\":[", s->matches,
		     s->skip) == 0);
	int code = explain_each(s, put_json, &out);
	must(buf_append_str(&out, STR("]}")) == 0);
	if (code == CTL_EXIT_GOOD)
		show_print(stdout, buf_str(&out), is_yaml);
	buf_fini(&out);
	return code;
}

int command_routes(const struct args *args)
{
	struct searching s = {
		.args = args,
		.wanted = args->rest.count != 0 ? args->rest.items[0] : NULL,
		.limit = LIMIT_DEFAULT,
	};
	enum output_form form = live_form(args);
	if (args->rest.count > 1) {
		fputs("sluicectl: routes needs one text at most\n", stderr);
		return CTL_EXIT_USAGE;
	}
	if (!live_read_part(args, &s.skip, &s.limit) || !live_open(args, &s.question))
		return CTL_EXIT_USAGE;
	arena_init(&s.frame);
	arena_init(&s.kept);
	s.reader = message_reader_new();
	int code = search(&s);
	if (code == CTL_EXIT_GOOD)
		code = form == FORM_TABLE || form == FORM_WIDE ? print_table(&s, form == FORM_WIDE)
							       : print_json(&s, form == FORM_YAML);
	if (code == CTL_EXIT_GOOD && s.is_unserved)
		code = CTL_EXIT_FINDINGS;
	message_reader_free(s.reader);
	arena_fini(&s.kept);
	arena_fini(&s.frame);
	return code;
}
