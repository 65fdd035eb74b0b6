// SPDX-License-Identifier: Apache-2.0
#include "translator/dialects/ingress_nginx_values.h"

#include "common/ascii.h"
#include "translator/dialects/ingress_nginx_snippets.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

enum {
	NAMES_MAX = 3,  /* unknown ones of an Ingress for which a similar one is searched */
	UNREAD_MAX = 8, /* names that are told of those that have no effect */
};

#define NGINX_ANNOTATION(                                                                  \
	member_, name_, alias_, kind_, bad_, word_, on_nginx_, on_haproxy_, words_, note_) \
	[NGINX_ROW_##member_] = {(name_), (alias_), NGINX_##kind_, NGINX_##bad_, (word_),  \
		NGINX_##on_nginx_, NGINX_##on_haproxy_, (words_), (note_)},
const struct nginx_spec nginx_specs[NGINX_ROW_COUNT] = {
#include "translator/dialects/ingress_nginx.def"
};

/* ---- how values look ---- */

/* Letters and digits, and these; blanks may be anywhere where the original took them out before it looked. */
#define BASIC_CHARS "/-._~:"
static const char *const sets[] = {
	[NGINX_BASIC] = BASIC_CHARS " ",
	[NGINX_SPACE] = BASIC_CHARS " ",
	[NGINX_EXT] = BASIC_CHARS ", ",
	[NGINX_URL] = BASIC_CHARS " ,?&=",
	[NGINX_URLVAR] = BASIC_CHARS " ,?&=$",
	[NGINX_RXPATH] = BASIC_CHARS "$",
	[NGINX_PREFIX] = BASIC_CHARS "$ ",
	[NGINX_REGEX] = BASIC_CHARS "^$[](){}*+?|&=\\",
	[NGINX_HOSTS] = BASIC_CHARS "^$[](){}*+?|&=\\, ",
	[NGINX_HEADERS] = "-_, ",
	[NGINX_EXPOSE] = "-_*, ",
	[NGINX_METHODS] = ", ",
	[NGINX_VARIABLES] = "-_${} ",
	[NGINX_CIPHERS] = "+:_-!@=",
	[NGINX_CODES] = ", ",
	[NGINX_COOKIE] = BASIC_CHARS " ",
	[NGINX_INDEX] = ".-_",
	[NGINX_HASH] = "-_${}",
};

static const char *const bool_words[2][6] = {
	{"0", "f", "F", "FALSE", "false", "False"}, {"1", "t", "T", "TRUE", "true", "True"}};

bool nginx_value_read_bool(struct str text, bool *ret_on)
{
	for (size_t i = 0; i < 12; i++) {
		if (!str_eq_c(text, bool_words[i / 6][i % 6]))
			continue;
		*ret_on = i >= 6;
		return true;
	}
	return false;
}

bool nginx_value_read_number(struct str text, int64_t *ret_number)
{
	bool is_negative = text.len != 0 && text.p[0] == '-';
	if (is_negative || (text.len != 0 && text.p[0] == '+'))
		text = str_skip(text, 1);
	int64_t number = 0;
	for (size_t i = 0; i < text.len; i++) {
		if (!ascii_is_digit(text.p[i]))
			return false;
		if (number < INT64_MAX / 16)
			number = number * 10 + (text.p[i] - '0');
	}
	*ret_number = is_negative ? -number : number;
	return text.len != 0;
}

static struct str next_word(struct str *rest)
{
	while (rest->len != 0 && rest->p[0] == ' ')
		*rest = str_skip(*rest, 1);
	if (rest->len == 0)
		return STR("");
	struct str word = str_before(*rest, ' ');
	*rest = str_skip(*rest, word.len);
	return word;
}

/* Whether it is one of the words; *ret_is_usual: the one with "=" before it. */
static bool is_among(struct str text, const char *words, bool *ret_is_usual)
{
	struct str rest = str_from(words);
	if (text.p == NULL || words == NULL)
		return false;
	for (struct str word = next_word(&rest); word.len != 0; word = next_word(&rest)) {
		bool is_usual = str_starts_with(word, STR("="));
		if (!ascii_eq_nocase(text, str_skip(word, is_usual)))
			continue;
		*ret_is_usual = is_usual;
		return true;
	}
	return false;
}

static bool are_among(struct str text, const char *words)
{
	bool is_usual;
	struct str rest = text;
	size_t count = 0;
	for (struct str word = next_word(&rest); word.len != 0; word = next_word(&rest), count++) {
		if (!is_among(word, words, &is_usual))
			return false;
	}
	return count != 0;
}

static bool is_of_set(struct str text, enum nginx_kind kind)
{
	for (size_t i = 0; i < text.len; i++) {
		char c = text.p[i];
		bool is_letter = ascii_is_letter(c);
		bool good = (is_letter && kind != NGINX_CODES) ||
			    (ascii_is_digit(c) && kind != NGINX_METHODS) ||
			    (c != '\0' && strchr(sets[kind], c) != NULL);
		if (!good)
			return false;
	}
	return true;
}

static bool is_size(struct str text)
{
	int64_t number;
	if (text.len > 1 && strchr("bkmgBKMG", text.p[text.len - 1]) != NULL)
		text.len--;
	return text.len != 0 && ascii_is_digit(text.p[0]) && nginx_value_read_number(text, &number);
}

static bool is_seconds(struct str text)
{
	struct str digits = text.len > 1 && text.p[0] == '-' ? str_skip(text, 1) : text;
	int64_t number;
	return digits.len != 0 && ascii_is_digit(digits.p[0]) &&
	       nginx_value_read_number(digits, &number) && (digits.p[0] != '0' || text.len == 1);
}

static bool is_service(struct str text)
{
	bool good = text.len != 0 && text.len <= 63 && text.p[0] >= 'a' && text.p[0] <= 'z' &&
		    text.p[text.len - 1] != '-';
	for (size_t i = 0; i < text.len && good; i++) {
		char c = text.p[i];
		good = ascii_is_lower(c) || ascii_is_digit(c) || c == '-';
	}
	return good;
}

static const char *check_set(const struct nginx_spec *spec, struct str text)
{
	if (is_of_set(text, spec->kind))
		return NULL;
	return "it holds a character that the original refuses, too";
}

const char *nginx_value_check(const struct nginx_spec *spec, struct str text)
{
	int64_t number;
	bool dummy;
	if (text.len > NGINX_VALUE_MAX_LEN)
		return "at most 16384 bytes are expected";
	switch (spec->kind) {
	case NGINX_BOOL:
		return nginx_value_read_bool(text, &dummy) ? NULL : "true or false is expected";
	case NGINX_NUMBER:
		return nginx_value_read_number(text, &number) ? NULL : "a whole number is expected";
	case NGINX_SIZE:
		return is_size(text) ? NULL : "a number, perhaps with k, m or g, is expected";
	case NGINX_SECONDS:
		return is_seconds(text) ? NULL : "a whole number of seconds is expected";
	case NGINX_WORDS:
		return is_among(text, spec->words, &dummy) ? NULL : "it is none of its words";
	case NGINX_WORD_LIST:
		return are_among(text, spec->words) ? NULL : "it has a word that is not known";
	case NGINX_SERVICE:
		return is_service(text) ? NULL : "the name of a Service is expected";
	case NGINX_RAW:
	case NGINX_NETWORKS: /* by who reads them */
		return NULL;
	case NGINX_TEXT:
		return ascii_is_printable(text)
			       ? NULL
			       : "it holds a character that is not printable ASCII";
	default:
		return check_set(spec, text);
	}
}

/* ---- what is there ---- */

static const char *field_of(const struct nginx_teller *t, struct str key)
{
	return arena_printf(t->arena, "metadata.annotations[%.*s]", STR_FMT(key)).p;
}

static const char *field_of_value(const struct nginx_teller *t, const struct nginx_value *value)
{
	return value->option != NULL ? value->option : field_of(t, value->key);
}

/* Takes the value away. */
[[gnu::format(printf, 4, 0)]] static void tell_bad(struct nginx_value *value,
	const struct nginx_teller *t, bool closes, const char *format, va_list args)
{
	char text[512];
	vsnprintf(text, sizeof(text), format, args);
	value->is_set = false;
	diag_add(t->diags, t->self, value->option != NULL ? "InvalidOption" : "InvalidAnnotation",
		field_of_value(t, value), "%s cannot be used, and %s: %s",
		diag_quote(t->arena, value->text),
		closes ? "requests are answered with 503 until it is corrected" : "is left out",
		text);
}

void nginx_values_refuse(struct nginx_values *values, enum nginx_row row,
	const struct nginx_teller *t, const char *format, ...)
{
	bool closes = nginx_specs[row].bad == NGINX_CLOSES;
	va_list args;
	values->is_closed |= closes;
	va_start(args, format);
	tell_bad(&values->items[row], t, closes, format, args);
	va_end(args);
}

void nginx_values_close(struct nginx_values *values, enum nginx_row row,
	const struct nginx_teller *t, const char *format, ...)
{
	va_list args;
	values->is_closed = true;
	va_start(args, format);
	tell_bad(&values->items[row], t, true, format, args);
	va_end(args);
}

static int compare_names(const void *left, const void *right)
{
	return str_cmp(
		*(const struct str *)left, str_from(((const struct nginx_spec *)right)->name));
}

/* NGINX_ROW_COUNT: there is none. */
static enum nginx_row find_row(struct str name, bool *ret_is_alias)
{
	const struct nginx_spec *spec =
		bsearch(&name, nginx_specs, NGINX_ROW_COUNT, sizeof(*nginx_specs), compare_names);
	*ret_is_alias = false;
	if (spec != NULL)
		return (enum nginx_row)(spec - nginx_specs);
	*ret_is_alias = true;
	for (enum nginx_row row = 0; row < NGINX_ROW_COUNT; row++) {
		if (nginx_specs[row].alias != NULL && str_eq_c(name, nginx_specs[row].alias))
			return row;
	}
	return NGINX_ROW_COUNT;
}

enum { NAME_LEN_MAX = 64 };

/* How many letters have to be changed, taken away or put in. */
static size_t distance(struct str a, struct str b)
{
	size_t row[NAME_LEN_MAX + 1];
	for (size_t k = 0; k <= b.len; k++)
		row[k] = k;
	for (size_t i = 1; i <= a.len; i++) {
		size_t corner = row[0];
		row[0] = i;
		for (size_t k = 1; k <= b.len; k++) {
			size_t changed = corner + (a.p[i - 1] != b.p[k - 1]);
			corner = row[k];
			size_t less = row[k] < row[k - 1] ? row[k] : row[k - 1];
			row[k] = changed < less + 1 ? changed : less + 1;
		}
	}
	return row[b.len];
}

/* NULL: none is similar. */
static const char *similar_name(struct str name)
{
	const char *best = NULL;
	size_t best_distance = 4;
	for (enum nginx_row row = 0; row < NGINX_ROW_COUNT && name.len <= NAME_LEN_MAX; row++) {
		size_t found = distance(name, str_from(nginx_specs[row].name));
		if (found < best_distance) {
			best = nginx_specs[row].name;
			best_distance = found;
		}
	}
	return best;
}

static void tell_unknown(
	const struct nginx_teller *t, struct str key, struct str name, size_t *count)
{
	const char *best = (*count)++ < NAMES_MAX ? similar_name(name) : NULL;
	diag_add(t->diags, t->self, "UnknownAnnotation", field_of(t, key),
		"ingress-nginx has no such annotation%s%s",
		best != NULL ? "; is it meant to be " : "", best != NULL ? best : "");
}

/* Whether the key has the prefix; *ret_name is the rest. */
static bool name_of(struct str key, struct str prefix, struct str *ret_name)
{
	prefix = prefix.len != 0 ? prefix : STR(INGRESS_NGINX_PREFIX);
	if (!str_starts_with(key, prefix) || key.len <= prefix.len || key.p[prefix.len] != '/')
		return false;
	*ret_name = str_skip(key, prefix.len + 1);
	return true;
}

static void take(
	struct nginx_values *values, enum nginx_row row, bool is_alias, const struct annotation *a)
{
	struct nginx_value *value = &values->items[row];
	struct str text = str_trim(a->value);
	if (is_alias && value->key.p != NULL && value->text.len != 0)
		return;
	if (!is_alias && text.len == 0 && value->text.len != 0)
		return;
	*value = (struct nginx_value){.key = a->key, .text = text, .is_set = true};
}

/* ---- what counts ---- */

static bool is_usual(const struct nginx_spec *spec, struct str text)
{
	bool usual = false;
	bool on = false;
	if (spec->kind == NGINX_BOOL)
		return nginx_value_read_bool(text, &on) && on == (spec->words != NULL);
	return spec->kind == NGINX_WORDS && is_among(text, spec->words, &usual) && usual;
}

static void tell_unheeded(
	struct nginx_values *values, enum nginx_row row, const struct nginx_teller *t)
{
	const struct nginx_spec *spec = &nginx_specs[row];
	struct nginx_value *value = &values->items[row];
	if (spec->kind == NGINX_RAW) {
		nginx_snippet_tell(value->key, value->text, t);
	} else if (!is_usual(spec, value->text)) {
		values->is_closed |= spec->bad == NGINX_CLOSES;
		diag_add(t->diags, t->self, "NotSupported", field_of(t, value->key),
			"it is not heeded: %s", spec->note);
	}
	value->is_set = false;
}

static void settle(struct nginx_values *values, enum nginx_row row, const struct nginx_teller *t)
{
	const struct nginx_spec *spec = &nginx_specs[row];
	struct nginx_value *value = &values->items[row];
	if (!value->is_set)
		return;
	if (spec->on_nginx == NGINX_LATER || spec->on_nginx == NGINX_REFUSED) {
		tell_unheeded(values, row, t);
		return;
	}
	/* An empty guard would protect nothing, which is hardly what was meant. */
	const char *problem = value->text.len != 0        ? nginx_value_check(spec, value->text)
			      : spec->bad == NGINX_CLOSES ? "it is empty"
							  : NULL;
	if (problem != NULL)
		nginx_values_refuse(values, row, t, "%s", problem);
	else if (value->text.len == 0)
		value->is_set = false;
}

void nginx_values_read(const struct ingress_record *ingress, struct str prefix,
	const struct nginx_teller *t, struct nginx_values *ret_values)
{
	size_t unknown = 0;
	*ret_values = (struct nginx_values){0};
	for (size_t i = 0; i < ingress->annotations.count; i++) {
		const struct annotation *a = &ingress->annotations.items[i];
		struct str name;
		bool is_alias;
		if (!name_of(a->key, prefix, &name))
			continue;
		enum nginx_row row = find_row(name, &is_alias);
		if (row == NGINX_ROW_COUNT)
			tell_unknown(t, a->key, name, &unknown);
		else
			take(ret_values, row, is_alias, a);
	}
	for (enum nginx_row row = 0; row < NGINX_ROW_COUNT; row++)
		settle(ret_values, row, t);
}

void nginx_values_tell_unread(
	const struct ingress_record *ingress, struct str prefix, const struct nginx_teller *t)
{
	struct str first = STR_NONE;
	struct str others = STR("");
	size_t count = 0;
	for (size_t i = 0; i < ingress->annotations.count; i++) {
		struct str key = ingress->annotations.items[i].key;
		struct str name;
		if (!name_of(key, prefix, &name))
			continue;
		count++;
		if (count == 1)
			first = key;
		else if (count <= UNREAD_MAX)
			others = arena_printf(t->arena, "%.*s%s%.*s", STR_FMT(others),
				count == 2 ? "; nor have " : ", ", STR_FMT(name));
	}
	if (count == 0)
		return;
	const char *more = count > UNREAD_MAX ? ", ..." : "";
	diag_add(t->diags, t->self, "ForeignAnnotation", field_of(t, first),
		"it has no effect, for the Ingress is of no class of ingress-nginx%.*s%s",
		STR_FMT(others), more);
}

void nginx_values_tell_verdicts(
	const struct ingress_record *ingress, struct str prefix, const struct nginx_teller *t)
{
	for (size_t i = 0; i < ingress->annotations.count; i++) {
		const struct annotation *a = &ingress->annotations.items[i];
		struct str name;
		bool is_alias;
		if (!name_of(a->key, prefix, &name))
			continue;
		enum nginx_row row = find_row(name, &is_alias);
		const struct nginx_spec *spec = &nginx_specs[row != NGINX_ROW_COUNT ? row : 0];
		/* What a provider cannot do is a warning. */
		bool differs = spec->on_nginx == NGINX_NEAR || spec->on_nginx == NGINX_DECIDED ||
			       spec->on_nginx == NGINX_NOTHING;
		if (row == NGINX_ROW_COUNT || !differs || is_usual(spec, str_trim(a->value)))
			continue;
		diag_add(t->diags, t->self,
			spec->on_nginx == NGINX_NOTHING   ? "AnnotationNotNeeded"
			: spec->on_nginx == NGINX_DECIDED ? "AnnotationDecided"
							  : "AnnotationDiffers",
			field_of(t, a->key), "%s", spec->note);
	}
}

/* ---- values ---- */

bool nginx_value_is_on(const struct nginx_values *values, enum nginx_row row, bool otherwise)
{
	bool on = otherwise;
	if (values->items[row].is_set)
		nginx_value_read_bool(values->items[row].text, &on);
	return on;
}

int64_t nginx_value_number(const struct nginx_values *values, enum nginx_row row, int64_t least,
	int64_t greatest, int64_t otherwise)
{
	int64_t number;
	if (!values->items[row].is_set ||
		!nginx_value_read_number(values->items[row].text, &number) || number < least ||
		number > greatest)
		return otherwise;
	return number;
}

bool nginx_value_is(const struct nginx_values *values, enum nginx_row row, const char *word)
{
	return values->items[row].is_set &&
	       ascii_eq_nocase(values->items[row].text, str_from(word));
}
