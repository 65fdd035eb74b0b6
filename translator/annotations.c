// SPDX-License-Identifier: Apache-2.0
#include "translator/annotations.h"

#include "common/ascii.h"
#include "translator/dialects/sluice_reader.h"
#include "translator/hosts.h"
#include "translator/probes.h"
#include "translator/stickiness.h"

#include <stddef.h>
#include <stdlib.h>

#define CANONICAL_PREFIX "sluice.io/"
#define RANCHER_PREFIX   "io.rancher."
#define SCHEDULER_PREFIX "io.rancher.scheduler."

#define ANNOTATION(place_, member_, type_, policy_, canonical_, original_, min_, max_, help_)   \
	{.type = ANNOTATION_##type_,                                                            \
		.place = ANNOTATION_OF_##place_,                                                \
		.policy = POLICY_##policy_,                                                     \
		.offset = offsetof(struct annotation_values,                                    \
			ANNOTATION_CHOOSE_##place_(backend.member_, member_)),                  \
		.size = sizeof(((struct annotation_values *)NULL)                               \
				       ->ANNOTATION_CHOOSE_##place_(backend.member_, member_)), \
		.canonical = (canonical_),                                                      \
		.original = (original_),                                                        \
		.min = (min_),                                                                  \
		.max = (max_)},
const struct annotation_spec annotation_specs[] = {
#include "translator/annotations.def"
};

struct reader {
	struct annotation *items; /* sorted by key */
	size_t count;
	struct object_ref self;
	struct arena *arena;
	struct diag_list *diags;
	struct annotation_values *values;
};

static int compare_keys(const void *left, const void *right)
{
	return str_cmp(
		((const struct annotation *)left)->key, ((const struct annotation *)right)->key);
}

static const struct annotation *find(const struct reader *r, const char *key)
{
	struct annotation wanted = {.key = str_from(key)};
	if (key == NULL)
		return NULL;
	return bsearch(&wanted, r->items, r->count, sizeof(*r->items), compare_keys);
}

static const char *field_of(struct arena *arena, struct str key)
{
	return arena_printf(arena, "metadata.annotations[%.*s]", STR_FMT(key)).p;
}

const char *annotation_field(
	const struct ingress_record *ingress, struct arena *arena, enum annotation_row row)
{
	const struct annotation_spec *spec = &annotation_specs[row];
	for (size_t i = 0; ingress != NULL && i < ingress->annotations.count; i++) {
		struct str key = ingress->annotations.items[i].key;
		if (str_eq_c(key, spec->canonical))
			return field_of(arena, key);
	}
	return arena_printf(arena, "metadata.annotations[%s%s]",
		spec->original != NULL ? spec->original : spec->canonical,
		spec->type == ANNOTATION_LABELS ? "*" : "")
		.p;
}

/* ---- values ---- */

static const char *parse_count(
	const struct annotation_spec *spec, struct str value, struct arena *arena, uint64_t *ret)
{
	int64_t number = 0;
	if (!str_to_int(value, (int64_t)spec->min, (int64_t)spec->max, &number))
		return arena_printf(arena, "a whole number from %llu to %llu is expected",
			(unsigned long long)spec->min, (unsigned long long)spec->max)
			.p;
	*ret = (uint64_t)number;
	return NULL;
}

static const char *parse_switch(struct str value, enum annotation_switch *ret)
{
	static const char *const words[2][6] = {{"0", "f", "F", "FALSE", "false", "False"},
		{"1", "t", "T", "TRUE", "true", "True"}};
	for (int on = 0; on < 2; on++) {
		for (int i = 0; i < 6; i++) {
			if (str_eq_c(value, words[on][i])) {
				*ret = on != 0 ? SWITCH_ON : SWITCH_OFF;
				return NULL;
			}
		}
	}
	return "\"true\" or \"false\" is expected";
}

static const char *parse_text(
	const struct annotation_spec *spec, struct str value, struct arena *arena, struct str *ret)
{
	if (value.len > spec->max)
		return arena_printf(
			arena, "at most %llu bytes are expected", (unsigned long long)spec->max)
			.p;
	for (size_t i = 0; i < value.len; i++) {
		unsigned char c = (unsigned char)value.p[i];
		if (c == 0x7f || (c < 0x20 && strchr("\t\n\r", c) == NULL))
			return "it holds a control character";
	}
	*ret = value;
	return NULL;
}

static bool is_label(struct str value)
{
	bool good = value.len != 0 && value.len <= 63 && value.p[0] != '-' &&
		    value.p[value.len - 1] != '-';
	for (size_t i = 0; i < value.len && good; i++) {
		char c = value.p[i];
		good = ascii_is_lower(c) || ascii_is_digit(c) || c == '-';
	}
	return good;
}

static struct str trim(struct str s)
{
	while (s.len != 0 && strchr(" \t\r\n", s.p[0]) != NULL)
		s = str_skip(s, 1);
	while (s.len != 0 && strchr(" \t\r\n", s.p[s.len - 1]) != NULL)
		s.len--;
	return s;
}

/* A namespace with a typo could match another one, so a list with an error counts as empty. */
static const char *parse_namespaces(
	const struct annotation_spec *spec, struct str value, struct arena *arena, struct str *ret)
{
	if (value.len > spec->max)
		return "it is too long";
	char *text = arena_alloc(arena, value.len + 2);
	size_t len = 0;
	struct str rest = value;
	for (bool is_last = false; !is_last;) {
		const char *comma = str_find(rest, ',');
		size_t end = comma != NULL ? (size_t)(comma - rest.p) : rest.len;
		struct str name = trim((struct str){rest.p, end});
		if (!is_label(name))
			return "names of namespaces, separated by commas, are expected";
		str_put(text + len, name);
		len += name.len;
		text[len++] = ',';
		is_last = comma == NULL;
		rest = str_skip(rest, is_last ? end : end + 1);
	}
	*ret = (struct str){text, len};
	return NULL;
}

static const char *parse_name(const struct annotation_spec *spec, struct str value, struct str *ret)
{
	if (value.len < spec->min || value.len > spec->max || !is_label(value))
		return "at most 63 small letters, digits and '-' are expected, "
		       "a letter or digit at both ends";
	*ret = value;
	return NULL;
}

static const char *parse_object(
	const struct annotation_spec *spec, struct str value, struct str *ret)
{
	bool good = value.len >= spec->min && value.len <= spec->max;
	for (size_t i = 0; i < value.len && good; i++) {
		char c = value.p[i];
		bool is_edge = i == 0 || i == value.len - 1;
		good = ascii_is_lower(c) || ascii_is_digit(c) ||
		       (!is_edge && (c == '-' || c == '.'));
	}
	if (!good)
		return "the name of an object in the same namespace is expected";
	*ret = value;
	return NULL;
}

static const char *parse_host(
	const struct annotation_spec *spec, struct str value, struct arena *arena, struct str *ret)
{
	enum host_match match = HOST_ANY;
	struct str host = host_lower(arena, value);
	const char *problem = host_check(host, &match);
	if (problem != NULL)
		return problem;
	if (match != HOST_EXACT || host.len > spec->max)
		return "a host name without wildcard is expected";
	*ret = host;
	return NULL;
}

static const char *parse_protocol(struct str value, enum backend_protocol *ret)
{
	static const struct {
		const char *word;
		enum backend_protocol protocol;
	} words[] = {
		{"http", BACKEND_HTTP},
		{"https", BACKEND_HTTPS},
		{"h2c", BACKEND_H2C},
		{"grpc", BACKEND_H2C},
		{"grpcs", BACKEND_GRPCS},
	};
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (ascii_eq_nocase(value, str_from(words[i].word))) {
			*ret = words[i].protocol;
			return NULL;
		}
	}
	return "\"http\", \"https\", \"h2c\", \"grpc\" or \"grpcs\" is expected";
}

static const char *parse_value(
	const struct reader *r, const struct annotation_spec *spec, const struct annotation *a)
{
	void *member = (char *)r->values + spec->offset;
	switch (spec->type) {
	case ANNOTATION_COUNT:
		return parse_count(spec, a->value, r->arena, member);
	case ANNOTATION_SWITCH:
		return parse_switch(a->value, member);
	case ANNOTATION_TEXT:
		return parse_text(spec, a->value, r->arena, member);
	case ANNOTATION_NAME:
		return parse_name(spec, a->value, member);
	case ANNOTATION_OBJECT:
		return parse_object(spec, a->value, member);
	case ANNOTATION_HOST:
		return parse_host(spec, a->value, r->arena, member);
	case ANNOTATION_PROTOCOL:
		return parse_protocol(a->value, member);
	case ANNOTATION_NAMESPACES:
		return parse_namespaces(spec, a->value, r->arena, member);
	case ANNOTATION_STICKINESS:
		if (a->value.len < spec->min || a->value.len > spec->max)
			return "it is empty or too long";
		return stickiness_parse(a->value, r->arena, member);
	case ANNOTATION_PROBES:
		if (a->value.len < spec->min || a->value.len > spec->max)
			return "it is empty or too long";
		return probes_parse(a->value, &r->self, field_of(r->arena, a->key), r->arena,
			r->values, r->diags);
	case ANNOTATION_LABELS:
		break;
	}
	return NULL;
}

static void tell_bad_value(const struct reader *r, const struct annotation *a, const char *problem)
{
	diag_add(r->diags, &r->self, "InvalidAnnotation", field_of(r->arena, a->key),
		"%s is ignored: %s", diag_quote(r->arena, a->value), problem);
}

/* ---- names ---- */

/* The annotation that counts if both spellings are present. */
static const struct annotation *choose(
	const struct reader *r, const char *canonical, const char *original)
{
	const struct annotation *ours = find(r, canonical);
	const struct annotation *theirs = find(r, original);
	if (ours == NULL)
		return theirs;
	if (theirs != NULL && !str_eq(ours->value, theirs->value))
		diag_add(r->diags, &r->self, "AnnotationOverridden",
			field_of(r->arena, theirs->key),
			"%.*s says something else, and counts; remove one of them",
			STR_FMT(ours->key));
	return ours;
}

static void read_single(const struct reader *r, const struct annotation_spec *spec)
{
	const struct annotation *a = choose(r, spec->canonical, spec->original);
	if (a == NULL)
		return;
	const char *problem = parse_value(r, spec, a);
	if (problem != NULL)
		tell_bad_value(r, a, problem);
}

static bool is_single(struct str key)
{
	for (size_t i = 0; i < ANNOTATION_ROW_COUNT; i++) {
		if (annotation_specs[i].type == ANNOTATION_LABELS)
			continue;
		if (str_eq_c(key, annotation_specs[i].canonical) ||
			(annotation_specs[i].original != NULL &&
				str_eq_c(key, annotation_specs[i].original)))
			return true;
	}
	return false;
}

static void tell_unknown(const struct reader *r)
{
	for (size_t i = 0; i < r->count; i++) {
		struct str key = r->items[i].key;
		if (str_starts_with(key, STR(CANONICAL_PREFIX)) && !is_single(key) &&
			!sluice_knows_route(key) &&
			!str_starts_with(key, STR(CANONICAL_PREFIX RANCHER_PREFIX)))
			diag_add(r->diags, &r->self, "UnknownAnnotation", field_of(r->arena, key),
				"there is no such annotation; see the list in the documentation");
	}
}

/* ---- labels ---- */

/* Annotation names must not contain ':', but labels of Rancher's scheduler do: in the original the first
 * dot after the prefix stands for it. */
static struct str label_key(struct arena *arena, struct str name)
{
	struct str rest = str_skip(name, sizeof(SCHEDULER_PREFIX) - 1);
	if (!str_starts_with(name, STR(SCHEDULER_PREFIX)) || rest.len == 0)
		return name;
	const char *dot = str_find(rest, '.');
	if (dot == NULL)
		return name;
	return arena_printf(arena, "%.*s:%.*s", (int)(dot - name.p), name.p,
		STR_FMT(str_skip(name, (size_t)(dot - name.p) + 1)));
}

static int compare_labels(const void *left, const void *right)
{
	return str_cmp(((const struct label *)left)->key, ((const struct label *)right)->key);
}

static void read_label(
	const struct reader *r, const struct annotation_spec *spec, const struct annotation *found)
{
	struct str name = found->key;
	bool canonical = str_starts_with(name, STR(CANONICAL_PREFIX));
	if (canonical)
		name = str_skip(name, sizeof(CANONICAL_PREFIX) - 1);
	/* arena_printf() adds the final NUL. */
	const char *original = arena_printf(r->arena, "%.*s", STR_FMT(name)).p;
	const char *other = arena_printf(r->arena, CANONICAL_PREFIX "%.*s", STR_FMT(name)).p;
	if (!canonical && find(r, other) != NULL)
		return; /* handled under the other name */
	const struct annotation *a = choose(r, other, original);
	struct str value = STR_NONE;
	const char *problem = r->values->labels.count < ANNOTATION_LABELS_MAX
				      ? parse_text(spec, a->value, r->arena, &value)
				      : "there are too many labels";
	if (problem != NULL) {
		tell_bad_value(r, a, problem);
		return;
	}
	void *items = r->values->labels.items;
	struct label *label =
		arena_push(r->arena, &items, &r->values->labels.count, sizeof(*label));
	r->values->labels.items = items;
	*label = (struct label){.key = label_key(r->arena, name), .value = value};
}

static void read_labels(const struct reader *r, const struct annotation_spec *spec)
{
	for (size_t i = 0; i < r->count; i++) {
		const struct annotation *a = &r->items[i];
		bool member = str_starts_with(a->key, str_from(spec->canonical)) ||
			      str_starts_with(a->key, str_from(spec->original));
		if (member && !is_single(a->key))
			read_label(r, spec, a);
	}
	if (r->values->labels.count > 1)
		qsort(r->values->labels.items, r->values->labels.count, sizeof(struct label),
			compare_labels);
}

void annotations_read(const struct ingress_record *ingress, struct arena *arena,
	struct annotation_values *ret_values, struct diag_list *diags)
{
	size_t count = ingress->annotations.count;
	*ret_values = (struct annotation_values){0};
	if (count == 0)
		return;
	struct reader r = {
		.items = arena_calloc(arena, count, sizeof(struct annotation)),
		.count = count,
		.self = {ingress->key.namespace, ingress->key.name, ingress->key.uid},
		.arena = arena,
		.diags = diags,
		.values = ret_values,
	};
	memcpy(r.items, ingress->annotations.items, count * sizeof(struct annotation));
	qsort(r.items, count, sizeof(struct annotation), compare_keys);
	for (size_t i = 0; i < ANNOTATION_ROW_COUNT; i++) {
		if (annotation_specs[i].type == ANNOTATION_LABELS)
			read_labels(&r, &annotation_specs[i]);
		else
			read_single(&r, &annotation_specs[i]);
	}
	tell_unknown(&r);
}
