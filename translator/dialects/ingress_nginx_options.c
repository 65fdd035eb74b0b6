// SPDX-License-Identifier: Apache-2.0
#include "translator/dialects/ingress_nginx_options.h"

#define NGINX_DEFAULT(member_, key_, usual_, nginx_, haproxy_, note_)               \
	{(key_), (usual_), NGINX_TYPE_DEFAULT, NGINX_ROW_##member_, NGINX_##nginx_, \
		NGINX_##haproxy_, (note_)},
#define NGINX_AUTH(member_, key_, usual_, nginx_, haproxy_, note_)                                 \
	{(key_), (usual_), NGINX_TYPE_AUTH, NGINX_ROW_##member_, NGINX_##nginx_, NGINX_##haproxy_, \
		(note_)},
#define NGINX_OWN(member_, key_, usual_, kind_, bad_, words_, word_, nginx_, haproxy_, note_)     \
	{(key_), (usual_), NGINX_TYPE_OWN, NGINX_OWN_##member_, NGINX_##nginx_, NGINX_##haproxy_, \
		(note_)},
#define NGINX_UNHEEDED(key_, usual_, nginx_, haproxy_, note_) \
	{(key_), (usual_), NGINX_TYPE_UNHEEDED, 0, NGINX_##nginx_, NGINX_##haproxy_, (note_)},
const struct nginx_option_spec nginx_option_specs[] = {
#include "translator/dialects/ingress_nginx_options.def"
};
const size_t nginx_option_spec_count = sizeof(nginx_option_specs) / sizeof(nginx_option_specs[0]);

#define NGINX_OWN(member_, key_, usual_, kind_, bad_, words_, word_, nginx_, haproxy_, note_) \
	[NGINX_OWN_##member_] = {.name = (key_),                                              \
		.kind = NGINX_##kind_,                                                        \
		.bad = NGINX_##bad_,                                                          \
		.word = (word_),                                                              \
		.words = (words_),                                                            \
		.note = (note_)},
static const struct nginx_spec own_forms[NGINX_OWN_COUNT] = {
#include "translator/dialects/ingress_nginx_options.def"
};

const struct nginx_option_spec *nginx_option_find(struct str key)
{
	for (size_t i = 0; i < nginx_option_spec_count; i++) {
		if (str_eq_c(key, nginx_option_specs[i].key))
			return &nginx_option_specs[i];
	}
	return NULL;
}

const struct nginx_spec *nginx_option_form(const struct nginx_option_spec *spec)
{
	switch (spec->type) {
	case NGINX_TYPE_DEFAULT:
	case NGINX_TYPE_AUTH:
		return &nginx_specs[spec->index];
	case NGINX_TYPE_OWN:
		return &own_forms[spec->index];
	case NGINX_TYPE_UNHEEDED:
		break;
	}
	return NULL;
}

const char *nginx_option_field(
	const struct nginx_options *options, struct str key, struct arena *arena)
{
	return arena_printf(arena, "the global option %.*s, of ConfigMap %.*s", STR_FMT(key),
		STR_FMT(options->map))
		.p;
}

/* ---- what counts for an Ingress ---- */

static void close_by(
	const char *field, const struct nginx_teller *teller, struct nginx_values *values)
{
	if (field == NULL)
		return;
	values->is_closed = true;
	diag_add(teller->diags, teller->self, "InvalidOption", field,
		"it protects and cannot be used, so requests are answered with 503 until it is "
		"corrected");
}

/* The authentication for all: as a whole, or not at all. */
static void apply_auth(const struct nginx_options *options, const struct nginx_teller *teller,
	struct nginx_values *values)
{
	bool has_own = values->items[NGINX_ROW_auth_url].key.p != NULL;
	bool has_any = options->defaults[NGINX_ROW_auth_url].is_set || options->auth_closed_by;
	if (has_own || !has_any || !nginx_value_is_on(values, NGINX_ROW_enable_global_auth, true))
		return;
	close_by(options->auth_closed_by, teller, values);
	for (size_t i = 0; i < nginx_option_spec_count; i++) {
		const struct nginx_option_spec *spec = &nginx_option_specs[i];
		if (spec->type == NGINX_TYPE_AUTH)
			values->items[spec->index] = options->defaults[spec->index];
	}
}

void nginx_options_apply(const struct nginx_options *options, const struct nginx_teller *teller,
	struct nginx_values *values)
{
	values->options = options;
	if (options == NULL)
		return;
	for (size_t i = 0; i < nginx_option_spec_count; i++) {
		const struct nginx_option_spec *spec = &nginx_option_specs[i];
		if (spec->type == NGINX_TYPE_DEFAULT && !values->items[spec->index].is_set &&
			options->defaults[spec->index].is_set)
			values->items[spec->index] = options->defaults[spec->index];
	}
	close_by(options->closed_by, teller, values);
	apply_auth(options, teller, values);
}

/* ---- those that are no annotations ---- */

static const struct nginx_value *own_value(const struct nginx_options *options, enum nginx_own own)
{
	return options != NULL && options->own[own].is_set ? &options->own[own] : NULL;
}

bool nginx_option_is_on(const struct nginx_options *options, enum nginx_own own, bool otherwise)
{
	const struct nginx_value *value = own_value(options, own);
	bool on = otherwise;
	if (value != NULL)
		(void)nginx_value_read_bool(value->text, &on);
	return on;
}

int64_t nginx_option_number(
	const struct nginx_options *options, enum nginx_own own, int64_t otherwise)
{
	const struct nginx_value *value = own_value(options, own);
	int64_t number = otherwise;
	if (value != NULL)
		(void)nginx_value_read_number(value->text, &number);
	return number;
}

struct str nginx_option_text(
	const struct nginx_options *options, enum nginx_own own, const char *otherwise)
{
	const struct nginx_value *value = own_value(options, own);
	return value != NULL ? value->text : str_from(otherwise);
}
