// SPDX-License-Identifier: Apache-2.0
/* What is done with the values of annotations by the columns of annotations.def alone. */
#include "translator/annotations.h"

#include "common/must.h"
#include "translator/probes.h"
#include "translator/stickiness.h"

/* Every list begins like this. */
struct any_list {
	void *items;
	size_t count;
};

static const void *member_of(const struct annotation_values *values, enum annotation_row row)
{
	return (const char *)values + annotation_specs[row].offset;
}

bool annotation_is_set(const struct annotation_values *values, enum annotation_row row)
{
	const void *member = member_of(values, row);
	switch (annotation_specs[row].type) {
	case ANNOTATION_COUNT:
		return *(const uint64_t *)member != 0;
	case ANNOTATION_SWITCH:
	case ANNOTATION_PROTOCOL:
		return *(const int *)member != 0;
	case ANNOTATION_TEXT:
	case ANNOTATION_NAME:
	case ANNOTATION_OBJECT:
	case ANNOTATION_HOST:
	case ANNOTATION_NAMESPACES:
		return !str_is_empty(*(const struct str *)member);
	case ANNOTATION_STICKINESS:
		return *(struct stickiness *const *)member != NULL;
	case ANNOTATION_PROBES:
	case ANNOTATION_LABELS:
		return ((const struct any_list *)member)->count != 0;
	}
	must(false);
}

static bool same_labels(const struct annotation_values *a, const struct annotation_values *b)
{
	if (a->labels.count != b->labels.count)
		return false;
	for (size_t i = 0; i < a->labels.count; i++) {
		if (!str_eq(a->labels.items[i].key, b->labels.items[i].key) ||
			!str_eq(a->labels.items[i].value, b->labels.items[i].value))
			return false;
	}
	return true;
}

static bool same_checks(const struct annotation_values *a, const struct annotation_values *b)
{
	if (a->health_checks.count != b->health_checks.count)
		return false;
	for (size_t i = 0; i < a->health_checks.count; i++) {
		const struct health_check *x = &a->health_checks.items[i];
		const struct health_check *y = &b->health_checks.items[i];
		if (!str_eq(x->service, y->service) || !probe_equal(x, y))
			return false;
	}
	return true;
}

bool annotation_equal(const struct annotation_values *a, const struct annotation_values *b,
	enum annotation_row row)
{
	const void *x = member_of(a, row);
	const void *y = member_of(b, row);
	switch (annotation_specs[row].type) {
	case ANNOTATION_COUNT:
		return *(const uint64_t *)x == *(const uint64_t *)y;
	case ANNOTATION_SWITCH:
	case ANNOTATION_PROTOCOL:
		return *(const int *)x == *(const int *)y;
	case ANNOTATION_TEXT:
	case ANNOTATION_NAME:
	case ANNOTATION_OBJECT:
	case ANNOTATION_HOST:
	case ANNOTATION_NAMESPACES:
		return str_eq(*(const struct str *)x, *(const struct str *)y);
	case ANNOTATION_STICKINESS:
		return stickiness_equal(
			*(struct stickiness *const *)x, *(struct stickiness *const *)y);
	case ANNOTATION_PROBES:
		return same_checks(a, b);
	case ANNOTATION_LABELS:
		return same_labels(a, b);
	}
	must(false);
}

bool annotation_is_single(enum annotation_row row)
{
	enum annotation_place place = annotation_specs[row].place;
	return place == ANNOTATION_OF_BALANCER || place == ANNOTATION_OF_LISTENERS;
}

void annotation_copy(
	struct annotation_values *to, const struct annotation_values *from, enum annotation_row row)
{
	memcpy((char *)to + annotation_specs[row].offset, member_of(from, row),
		annotation_specs[row].size);
}

const char *annotations_drop(struct annotation_values *values, enum policy_bit policy,
	const struct ingress_record *ingress, struct arena *arena)
{
	const char *field = NULL;
	for (enum annotation_row row = 0; row < ANNOTATION_ROW_COUNT; row++) {
		const struct annotation_spec *spec = &annotation_specs[row];
		if (spec->policy != policy || !annotation_is_set(values, row))
			continue;
		if (field == NULL)
			field = annotation_field(ingress, arena, row);
		memset((char *)values + spec->offset, 0, spec->size);
	}
	return field;
}

bool annotations_ask_backends(const struct annotation_values *values)
{
	bool asks = false;
	for (enum annotation_row row = 0; row < ANNOTATION_ROW_COUNT; row++)
		asks |= annotation_specs[row].place == ANNOTATION_OF_BACKEND &&
			annotation_is_set(values, row);
	return asks;
}

bool annotations_same_balancer(const struct annotation_values *a, const struct annotation_values *b)
{
	bool same = true;
	for (enum annotation_row row = 0; row < ANNOTATION_ROW_COUNT && same; row++) {
		bool counts = annotation_is_single(row) ||
			      annotation_specs[row].place == ANNOTATION_OF_EACH;
		same = !counts || annotation_equal(a, b, row);
	}
	return same;
}

/* As messages have it, where a switch is on or not. */
#define SENT_COUNT(value_)      (value_)
#define SENT_SWITCH(value_)     ((value_) == SWITCH_ON)
#define SENT_TEXT(value_)       (value_)
#define SENT_STICKINESS(value_) (value_)

#define SET_BALANCER(member_, type_) balancer->member_ = SENT_##type_(values->member_);
#define SET_LISTENERS(...)
#define SET_EACH(...)
#define SET_BACKEND(...)
#define SET_INGRESS(...)

void annotations_set_balancer(
	const struct annotation_values *values, struct load_balancer *balancer)
{
#define ANNOTATION(place_, member_, type_, ...) SET_##place_(member_, type_)
#include "translator/annotations.def"
}
