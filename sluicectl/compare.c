// SPDX-License-Identifier: Apache-2.0
#include "sluicectl/compare.h"

#include "common/must.h"
#include "common/xalloc.h"
#include "sluicectl/show.h"

#include <stdlib.h>
#include <string.h>

enum { TEXT_MAX = 64 * 1024 * 1024, CELLS_MAX = 16 * 1024 * 1024 };

static const char red[] = "\033[31m";
static const char green[] = "\033[32m";
static const char bold[] = "\033[1m";
static const char plain[] = "\033[0m";

/* An object as lines of YAML. */
struct text {
	char *all;
	size_t len;
	char **lines;
	size_t count;
};

struct printing {
	FILE *out;
	bool has_color;
};

/* Drops the revision, which says only that something differs. */
static void split(struct text *text)
{
	char *line = text->all;
	while (line != NULL && *line != '\0') {
		char *end = strchr(line, '\n');
		if (end != NULL)
			*end++ = '\0';
		if (strncmp(line, "rev: ", 5) != 0) {
			text->lines =
				xreallocarray(text->lines, text->count + 1, sizeof(*text->lines));
			text->lines[text->count++] = line;
		}
		line = end;
	}
}

/* What differs in them alone is told as a change without lines. */
static void hide_secrets(enum lb_kind kind, union any_object *value)
{
	if (kind == LB_CERTIFICATE)
		value->certificate.private_key = STR_NONE;
	if (kind == LB_POOL && value->pool.tls != NULL)
		value->pool.tls->client_key = STR_NONE;
	for (size_t i = 0; kind == LB_USERS && i < value->users.users.count; i++)
		value->users.users.items[i].hash = STR_NONE;
}

static void text_init(struct text *text, struct state *state, const struct object *object)
{
	union any_object value;
	struct arena arena;
	struct buf json;
	*text = (struct text){0};
	if (object == NULL)
		return;
	arena_init(&arena);
	buf_init(&json, TEXT_MAX);
	state_decode(state, object, &arena, &value);
	hide_secrets(object_kind(object), &value);
	must(show_json(message_schema(MESSAGE_UPSERT, RECORD_NONE, object_kind(object)), &value,
		     &json) == 0);
	FILE *file = open_memstream(&text->all, &text->len);
	must(file != NULL);
	show_print(file, buf_str(&json), true);
	must(fclose(file) == 0);
	split(text);
	buf_fini(&json);
	arena_fini(&arena);
}

static void text_fini(struct text *text)
{
	free(text->lines);
	free(text->all);
}

static bool same_text(const struct text *a, const struct text *b)
{
	if (a->count != b->count)
		return false;
	for (size_t i = 0; i < a->count; i++) {
		if (strcmp(a->lines[i], b->lines[i]) != 0)
			return false;
	}
	return true;
}

/* ---- lines ---- */

static void print_line(const struct printing *p, char sign, const char *line)
{
	const char *color = sign == '+' ? green : sign == '-' ? red : "";
	fprintf(p->out, "%s  %c %s%s\n", p->has_color ? color : "", sign, line,
		p->has_color && color[0] != '\0' ? plain : "");
}

static void print_all(const struct printing *p, char sign, const struct text *text)
{
	for (size_t i = 0; i < text->count; i++)
		print_line(p, sign, text->lines[i]);
}

/* lengths[i][j]: of the longest common subsequence of the lines of a from i on and of b from j on. */
static uint32_t *common_lengths(const struct text *a, const struct text *b)
{
	size_t width = b->count + 1;
	uint32_t *lengths = xcalloc((a->count + 1) * width, sizeof(*lengths));
	for (size_t i = a->count; i-- > 0;) {
		for (size_t j = b->count; j-- > 0;) {
			uint32_t down = lengths[(i + 1) * width + j];
			uint32_t right = lengths[i * width + j + 1];
			lengths[i * width + j] = strcmp(a->lines[i], b->lines[j]) == 0
							 ? lengths[(i + 1) * width + j + 1] + 1
						 : down > right ? down
								: right;
		}
	}
	return lengths;
}

static void print_difference(const struct printing *p, const struct text *a, const struct text *b)
{
	size_t width = b->count + 1;
	if ((a->count + 1) > CELLS_MAX / width) {
		print_all(p, '-', a);
		print_all(p, '+', b);
		return;
	}
	uint32_t *lengths = common_lengths(a, b);
	size_t i = 0;
	size_t j = 0;
	while (i < a->count || j < b->count) {
		if (i < a->count && j < b->count && strcmp(a->lines[i], b->lines[j]) == 0) {
			print_line(p, ' ', a->lines[i++]);
			j++;
		} else if (j == b->count || (i < a->count && lengths[(i + 1) * width + j] >=
								     lengths[i * width + j + 1])) {
			print_line(p, '-', a->lines[i++]);
		} else {
			print_line(p, '+', b->lines[j++]);
		}
	}
	free(lengths);
}

/* ---- objects ---- */

static void print_head(const struct printing *p, const char *word, const struct object *object)
{
	struct str id = object_id(object);
	fprintf(p->out, "%s%s %s %.*s%s\n", p->has_color ? bold : "", word,
		lb_kind_word(object_kind(object)), STR_FMT(id), p->has_color ? plain : "");
}

static void compare_objects(const struct printing *p, struct state *before, struct state *after,
	struct object *old, struct object *new, struct comparison *counts)
{
	struct text a;
	struct text b;
	text_init(&a, before, old);
	text_init(&b, after, new);
	if (old == NULL) {
		print_head(p, "add", new);
		print_all(p, '+', &b);
		counts->added++;
	} else if (new == NULL) {
		print_head(p, "remove", old);
		print_all(p, '-', &a);
		counts->removed++;
	} else if (!same_text(&a, &b)) {
		print_head(p, "change", old);
		print_difference(p, &a, &b);
		counts->changed++;
	}
	text_fini(&a);
	text_fini(&b);
}

void compare_print(FILE *out, struct state *before, struct state *after, bool has_color,
	struct comparison *ret_comparison)
{
	struct printing p = {out, has_color};
	*ret_comparison = (struct comparison){0};
	for (int kind = LB_NONE + 1; kind < LB_KIND_COUNT; kind++) {
		struct object *old = state_first(before, (enum lb_kind)kind);
		struct object *new = state_first(after, (enum lb_kind)kind);
		while (old != NULL || new != NULL) {
			int order = old == NULL   ? 1
				    : new == NULL ? -1
						  : str_cmp(object_id(old), object_id(new));
			struct object *left = order <= 0 ? old : NULL;
			struct object *right = order >= 0 ? new : NULL;
			if (left == NULL || right == NULL || object_rev(left) != object_rev(right))
				compare_objects(&p, before, after, left, right, ret_comparison);
			old = left != NULL ? state_next(before, left) : old;
			new = right != NULL ? state_next(after, right) : new;
		}
	}
}
