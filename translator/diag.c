// SPDX-License-Identifier: Apache-2.0
#include "translator/diag.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

void diag_list_init(struct diag_list *list, struct arena *arena)
{
	*list = (struct diag_list){.arena = arena};
}

struct str diag_cut(struct str s, size_t max)
{
	if (s.len <= max)
		return s;
	/* Bytes 10xxxxxx continue a UTF-8 sequence. */
	while (max > 0 && ((unsigned char)s.p[max] & 0xc0) == 0x80)
		max--;
	return (struct str){s.p, max};
}

const char *diag_quote(struct arena *arena, struct str value)
{
	struct str cut = diag_cut(value, DIAG_QUOTE_MAX_LEN);
	struct str text =
		arena_printf(arena, "\"%.*s%s\"", STR_FMT(cut), cut.len < value.len ? "..." : "");
	char *copy = arena_alloc(arena, text.len + 1);
	for (size_t i = 0; i < text.len; i++) {
		unsigned char c = (unsigned char)text.p[i];
		copy[i] = c < 0x20 || c == 0x7f ? '?' : text.p[i];
	}
	return copy;
}

static struct diag *diag_push(struct diag_list *list)
{
	void *items = list->items;
	struct diag *place = arena_push(list->arena, &items, &list->count, sizeof(*place));
	list->items = items;
	return place;
}

void diag_add(struct diag_list *list, const struct object_ref *ingress, const char *reason,
	const char *field, const char *format, ...)
{
	if (list == NULL)
		return;
	char text[2 * DIAG_MESSAGE_MAX_LEN];
	va_list args;
	va_start(args, format);
	int len = vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	if (len < 0)
		return;
	struct str whole = {text, (size_t)len < sizeof(text) ? (size_t)len : sizeof(text) - 1};
	whole = diag_cut(whole, DIAG_MESSAGE_MAX_LEN - 100);
	struct str message = field != NULL
				     ? arena_printf(list->arena, "%s: %.*s", field, STR_FMT(whole))
				     : arena_str(list->arena, whole);
	*diag_push(list) = (struct diag){.ingress = *ingress,
		.reason = str_from(reason),
		.message = diag_cut(message, DIAG_MESSAGE_MAX_LEN)};
}

static int compare_ingresses(const struct object_ref *a, const struct object_ref *b)
{
	int order = str_cmp(a->namespace, b->namespace);
	if (order == 0)
		order = str_cmp(a->name, b->name);
	if (order == 0)
		order = (int)a->is_service - (int)b->is_service;
	if (order == 0)
		order = (int)a->is_class - (int)b->is_class;
	return order != 0 ? order : (int)a->is_config_map - (int)b->is_config_map;
}

static int compare_diags(const void *left, const void *right)
{
	const struct diag *a = left;
	const struct diag *b = right;
	int order = compare_ingresses(&a->ingress, &b->ingress);
	if (order == 0)
		order = str_cmp(a->reason, b->reason);
	return order != 0 ? order : str_cmp(a->message, b->message);
}

/* Keeps the first diagnostics of one Ingress, whose run is [begin, end); returns where the kept ones end. */
static size_t cap_run(struct diag_list *list, size_t begin, size_t end, size_t kept)
{
	size_t count = 0;
	size_t left_out = 0;
	for (size_t i = begin; i < end; i++) {
		if (i > begin && compare_diags(&list->items[i - 1], &list->items[i]) == 0)
			continue;
		if (count++ < DIAG_PER_INGRESS_MAX)
			list->items[kept++] = list->items[i];
		else
			left_out++;
	}
	if (left_out != 0) {
		struct diag *last = &list->items[kept - 1];
		last->reason = STR("MoreProblems");
		last->message = arena_printf(
			list->arena, "%zu more problems are not told one by one", left_out + 1);
	}
	return kept;
}

void diag_list_finish(struct diag_list *list)
{
	size_t kept = 0;
	if (list->count == 0)
		return;
	qsort(list->items, list->count, sizeof(*list->items), compare_diags);
	for (size_t begin = 0, end = 0; begin < list->count; begin = end) {
		end = begin + 1;
		while (end < list->count && compare_ingresses(&list->items[begin].ingress,
						    &list->items[end].ingress) == 0)
			end++;
		kept = cap_run(list, begin, end, kept);
	}
	list->count = kept;
}
