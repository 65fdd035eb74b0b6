// SPDX-License-Identifier: Apache-2.0
#include "translator/probes.h"

#include "translator/paths.h"

#include <stdlib.h>
#include <yaml.h>

enum { PROBE_DEPTH_MAX = 4, PROBE_SECONDS_MAX = 3600, PROBE_TRIES_MAX = 100 };

/* A tree of scalars and maps, which is all that a probe can contain. */
struct value {
	bool is_map;
	struct str text;
	LIST_OF(struct member) members;
};

struct member {
	struct str key;
	struct value value;
};

struct reader {
	yaml_parser_t *yaml;
	struct arena *arena;
	const char *problem;
};

/* ---- text to tree ---- */

static struct str copy_scalar(struct arena *arena, const yaml_event_t *event)
{
	struct str raw = {(const char *)event->data.scalar.value, event->data.scalar.length};
	return arena_str(arena, raw);
}

/* Allows plain and quoted scalars and maps; YAML that JSON does not have, or a probe does not need, is
 * refused. */
static const char *check_event(const yaml_event_t *event)
{
	switch (event->type) {
	case YAML_SCALAR_EVENT:
		if (event->data.scalar.anchor != NULL || event->data.scalar.tag != NULL)
			return "anchors and tags are not allowed";
		return NULL;
	case YAML_MAPPING_START_EVENT:
		if (event->data.mapping_start.anchor != NULL ||
			event->data.mapping_start.tag != NULL)
			return "anchors and tags are not allowed";
		return NULL;
	case YAML_MAPPING_END_EVENT:
		return NULL;
	case YAML_ALIAS_EVENT:
		return "aliases are not allowed";
	default:
		return "it must be a JSON map from Service names to probes";
	}
}

/* The next event, already checked; false: stop reading. */
static bool next_event(struct reader *r, yaml_event_t *ret_event)
{
	if (r->problem != NULL)
		return false;
	if (yaml_parser_parse(r->yaml, ret_event) == 0) {
		r->problem = "it is no well-formed JSON";
		return false;
	}
	r->problem = check_event(ret_event);
	if (r->problem == NULL)
		return true;
	yaml_event_delete(ret_event);
	return false;
}

static void read_value(struct reader *r, const yaml_event_t *event, struct value *ret, int depth);

static struct value *add_member(struct reader *r, struct value *map, struct str key)
{
	for (size_t i = 0; i < map->members.count; i++) {
		if (str_eq(map->members.items[i].key, key)) {
			r->problem =
				arena_printf(r->arena, "%s stands twice", diag_quote(r->arena, key))
					.p;
			return NULL;
		}
	}
	if (map->members.count == ANNOTATION_CHECKS_MAX) {
		r->problem = "it holds too much";
		return NULL;
	}
	void *items = map->members.items;
	struct member *member = arena_push(r->arena, &items, &map->members.count, sizeof(*member));
	map->members.items = items;
	*member = (struct member){.key = key};
	return &member->value;
}

static void read_map(struct reader *r, struct value *map, int depth)
{
	yaml_event_t event;
	map->is_map = true;
	if (depth > PROBE_DEPTH_MAX)
		r->problem = "maps within maps go too deep";
	while (next_event(r, &event)) {
		if (event.type == YAML_MAPPING_END_EVENT) {
			yaml_event_delete(&event);
			return;
		}
		if (event.type != YAML_SCALAR_EVENT) {
			r->problem = "keys must be text";
			yaml_event_delete(&event);
			return;
		}
		struct value *value = add_member(r, map, copy_scalar(r->arena, &event));
		yaml_event_delete(&event);
		if (value == NULL || !next_event(r, &event))
			return;
		read_value(r, &event, value, depth);
		yaml_event_delete(&event);
	}
}

static void read_value(struct reader *r, const yaml_event_t *event, struct value *ret, int depth)
{
	if (event->type == YAML_SCALAR_EVENT)
		ret->text = copy_scalar(r->arena, event);
	else if (event->type == YAML_MAPPING_START_EVENT)
		read_map(r, ret, depth + 1);
	else
		r->problem = "it is no well-formed JSON";
}

static bool skip_event(struct reader *r, yaml_event_type_t type)
{
	yaml_event_t event;
	if (yaml_parser_parse(r->yaml, &event) == 0) {
		r->problem = "it is no well-formed JSON";
		return false;
	}
	bool as_expected = event.type == type;
	yaml_event_delete(&event);
	if (!as_expected)
		r->problem = "it must be one JSON map";
	return as_expected;
}

static const char *read_tree(struct str text, struct arena *arena, struct value *ret_root)
{
	yaml_parser_t yaml;
	yaml_event_t event;
	if (yaml_parser_initialize(&yaml) == 0)
		return "out of memory";
	yaml_parser_set_input_string(&yaml, (const unsigned char *)text.p, text.len);
	yaml_parser_set_encoding(&yaml, YAML_UTF8_ENCODING);
	struct reader r = {.yaml = &yaml, .arena = arena};
	if (skip_event(&r, YAML_STREAM_START_EVENT) && skip_event(&r, YAML_DOCUMENT_START_EVENT) &&
		next_event(&r, &event)) {
		read_value(&r, &event, ret_root, 0);
		yaml_event_delete(&event);
	}
	if (r.problem == NULL && skip_event(&r, YAML_DOCUMENT_END_EVENT))
		(void)skip_event(&r, YAML_STREAM_END_EVENT);
	yaml_parser_delete(&yaml);
	if (r.problem == NULL && !ret_root->is_map)
		r.problem = "it must be a JSON map from Service names to probes";
	return r.problem;
}

/* ---- tree to probe ---- */

static const char *read_number(
	struct arena *arena, const struct member *m, int64_t max, uint64_t factor, uint64_t *ret)
{
	int64_t number = 0;
	if (m->value.is_map || !str_to_int(m->value.text, 1, max, &number))
		return arena_printf(arena, "%.*s must be a whole number from 1 to %lld",
			STR_FMT(m->key), (long long)max)
			.p;
	*ret = (uint64_t)number * factor;
	return NULL;
}

static const char *read_path(
	struct arena *arena, const struct member *m, struct health_check *check)
{
	struct str path = m->value.text;
	const char *problem =
		m->value.is_map ? "must be text" : path_check(path, PATH_IMPLEMENTATION_SPECIFIC);
	if (problem != NULL)
		return arena_printf(arena, "path %s", problem).p;
	check->path = path_normal(path);
	return NULL;
}

static const char *read_action(
	struct arena *arena, const struct member *action, struct health_check *check)
{
	bool http = check->type == HEALTH_CHECK_HTTP;
	if (!action->value.is_map)
		return arena_printf(arena, "%.*s must be a map", STR_FMT(action->key)).p;
	if (http)
		check->path = STR("/");
	for (size_t i = 0; i < action->value.members.count; i++) {
		const struct member *m = &action->value.members.items[i];
		const char *problem = NULL;
		if (str_eq_c(m->key, "port"))
			problem = read_number(arena, m, 65535, 1, &check->port);
		else if (http && str_eq_c(m->key, "path"))
			problem = read_path(arena, m, check);
		else if (!http || !str_eq_c(m->key, "scheme") || !str_eq_c(m->value.text, "HTTP"))
			problem = arena_printf(arena, "%.*s: %s is not supported",
				STR_FMT(action->key), diag_quote(arena, m->key))
					  .p;
		if (problem != NULL)
			return problem;
	}
	return NULL;
}

static const char *read_member(
	struct arena *arena, const struct member *m, struct health_check *check, int *actions)
{
	if (str_eq_c(m->key, "httpGet") || str_eq_c(m->key, "tcpSocket")) {
		(*actions)++;
		check->type = str_eq_c(m->key, "httpGet") ? HEALTH_CHECK_HTTP : HEALTH_CHECK_TCP;
		return read_action(arena, m, check);
	}
	if (str_eq_c(m->key, "periodSeconds"))
		return read_number(arena, m, PROBE_SECONDS_MAX, 1000, &check->interval_ms);
	if (str_eq_c(m->key, "timeoutSeconds"))
		return read_number(arena, m, PROBE_SECONDS_MAX, 1000, &check->timeout_ms);
	if (str_eq_c(m->key, "successThreshold"))
		return read_number(arena, m, PROBE_TRIES_MAX, 1, &check->rise);
	if (str_eq_c(m->key, "failureThreshold"))
		return read_number(arena, m, PROBE_TRIES_MAX, 1, &check->fall);
	/* Harmless in probes written for containers: a load balancer checks from the start anyway. */
	if (str_eq_c(m->key, "initialDelaySeconds"))
		return NULL;
	return arena_printf(arena, "%s is not supported", diag_quote(arena, m->key)).p;
}

static const char *read_probe(
	struct arena *arena, const struct value *value, struct health_check *check)
{
	int actions = 0;
	if (!value->is_map)
		return "a probe must be a map";
	for (size_t i = 0; i < value->members.count; i++) {
		const char *problem = read_member(arena, &value->members.items[i], check, &actions);
		if (problem != NULL)
			return problem;
	}
	return actions == 1 ? NULL : "a probe needs one of httpGet and tcpSocket";
}

static int compare_checks(const void *left, const void *right)
{
	return str_cmp(((const struct health_check *)left)->service,
		((const struct health_check *)right)->service);
}

const char *probes_parse(struct str text, const struct object_ref *ingress, const char *field,
	struct arena *arena, struct annotation_values *ret_values, struct diag_list *diags)
{
	struct value root = {0};
	const char *problem = read_tree(text, arena, &root);
	if (problem != NULL)
		return problem;
	struct health_check *checks = arena_calloc(arena, root.members.count, sizeof(*checks));
	size_t count = 0;
	for (size_t i = 0; i < root.members.count; i++) {
		const struct member *m = &root.members.items[i];
		struct health_check check = {.service = m->key};
		problem = read_probe(arena, &m->value, &check);
		if (problem == NULL)
			checks[count++] = check;
		else
			diag_add(diags, ingress, "InvalidAnnotation", field,
				"the probe of %s is left out: %s", diag_quote(arena, m->key),
				problem);
	}
	if (count > 1)
		qsort(checks, count, sizeof(*checks), compare_checks);
	ret_values->health_checks.items = checks;
	ret_values->health_checks.count = count;
	return NULL;
}

bool probe_equal(const struct health_check *a, const struct health_check *b)
{
	return a->type == b->type && str_eq(a->path, b->path) && a->port == b->port &&
	       a->interval_ms == b->interval_ms && a->timeout_ms == b->timeout_ms &&
	       a->rise == b->rise && a->fall == b->fall;
}
