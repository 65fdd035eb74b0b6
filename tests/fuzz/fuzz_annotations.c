// SPDX-License-Identifier: Apache-2.0
/* Annotations: names and values in turn, each ended by a zero byte. Whatever they say, the values
 * that come out keep their ranges, and the order in which they are given does not matter. */
#include "common/must.h"
#include "translator/annotations.h"

#include <stddef.h>
#include <stdint.h>

enum { PAIRS_MAX = 32 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

/* Texts of records are UTF-8 without NUL: the door of the process sees to that. */
static struct str take_text(struct str *rest)
{
	const char *end = rest->len != 0 ? memchr(rest->p, '\0', rest->len) : NULL;
	size_t len = end != NULL ? (size_t)(end - rest->p) : rest->len;
	struct str text = {rest->p, len};
	*rest = str_skip(*rest, end != NULL ? len + 1 : len);
	return str_is_utf8(text) ? text : STR("x");
}

static bool is_given(const struct annotation *items, size_t count, struct str key)
{
	for (size_t i = 0; i < count; i++) {
		if (str_eq(items[i].key, key))
			return true;
	}
	return false;
}

static size_t take_pairs(struct str rest, struct annotation *items)
{
	size_t count = 0;
	while (rest.len != 0 && count < PAIRS_MAX) {
		struct str key = take_text(&rest);
		struct str value = take_text(&rest);
		if (!is_given(items, count, key))
			items[count++] = (struct annotation){key, value};
	}
	return count;
}

static void check_values(const struct annotation_values *v)
{
	must(v->scale <= 1000 && v->http_port <= 65535 && v->https_port <= 65535);
	must(v->group.len <= 63 && v->labels.count <= ANNOTATION_LABELS_MAX);
	for (size_t i = 0; i < v->labels.count; i++)
		must(str_starts_with(v->labels.items[i].key, STR("io.rancher.")));
	for (size_t i = 0; i < v->health_checks.count; i++) {
		const struct health_check *c = &v->health_checks.items[i];
		must(c->port <= 65535 && c->interval_ms <= 3600 * 1000 && c->rise <= 100);
		must(c->type == HEALTH_CHECK_TCP || c->path.p[0] == '/');
	}
}

static struct diag_list read_all(struct annotation *items, size_t count, struct arena *arena,
	struct annotation_values *ret_values)
{
	struct ingress_record ingress = {.annotations = {items, count}};
	struct diag_list diags;
	diag_list_init(&diags, arena);
	annotations_read(&ingress, arena, ret_values, &diags);
	diag_list_finish(&diags);
	check_values(ret_values);
	return diags;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct annotation items[PAIRS_MAX];
	struct annotation backwards[PAIRS_MAX];
	struct annotation_values values;
	struct annotation_values again;
	struct arena arena;
	arena_init(&arena);
	size_t count = take_pairs((struct str){(const char *)data, len}, items);
	for (size_t i = 0; i < count; i++)
		backwards[i] = items[count - 1 - i];
	struct diag_list one = read_all(items, count, &arena, &values);
	struct diag_list two = read_all(backwards, count, &arena, &again);
	must(one.count == two.count && values.labels.count == again.labels.count);
	for (size_t i = 0; i < one.count; i++) {
		must(str_eq(one.items[i].message, two.items[i].message));
		must(str_is_utf8(one.items[i].message));
		must(one.items[i].message.len <= DIAG_MESSAGE_MAX_LEN);
	}
	arena_fini(&arena);
	return 0;
}
