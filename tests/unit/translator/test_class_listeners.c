// SPDX-License-Identifier: Apache-2.0
#include "translator/class_listeners.h"

#include "tests/unit/translator/help.h"

#define ADDRESS "sluice.io/bind-address"
#define HTTP    "sluice.io/http-port"
#define HTTPS   "sluice.io/https-port"

enum { CLASSES_MAX = 4, ANNOTATIONS_MAX = 3 };

struct class_row {
	const char *name;
	uint64_t created;
	const char *annotations[2 * ANNOTATIONS_MAX]; /* key, value */
};

static struct arena arena;

static struct class_table build(const struct class_row *rows, size_t count)
{
	struct ingress_class_record *records = arena_calloc(&arena, count, sizeof(*records));
	struct class_table table;
	for (size_t i = 0; i < count; i++) {
		struct ingress_class_record *record = &records[i];
		record->key.name = str_from(rows[i].name);
		record->created = rows[i].created;
		record->annotations.items =
			arena_calloc(&arena, ANNOTATIONS_MAX, sizeof(struct annotation));
		for (size_t k = 0; k < ANNOTATIONS_MAX && rows[i].annotations[2 * k]; k++)
			record->annotations.items[record->annotations.count++] =
				(struct annotation){str_from(rows[i].annotations[2 * k]),
					str_from(rows[i].annotations[2 * k + 1])};
	}
	class_table_build(records, count, 80, 443, &arena, &table);
	return table;
}

/* "10.0.0.1:80 :443" */
static const char *listeners_of(const struct class_table *table, const char *name)
{
	const struct class_item *item = class_table_find(table, str_from(name));
	struct str text = STR("");
	assert_non_null(item);
	for (size_t i = 0; i < item->listeners.count; i++)
		text = arena_printf(&arena, "%.*s%s%.*s:%u", STR_FMT(text), i != 0 ? " " : "",
			STR_FMT(item->listeners.items[i].address),
			(unsigned)item->listeners.items[i].port);
	return text.p;
}

static void annotations_give_a_class_listeners_of_its_own(void **state)
{
	static const struct {
		const char *annotations[2 * ANNOTATIONS_MAX];
		bool is_own;
		const char *listeners;
		const char *reasons;
	} rows[] = {
		{{NULL}, false, "", ""},
		{{ADDRESS, "10.0.0.1"}, true, "10.0.0.1:80 10.0.0.1:443", ""},
		{{ADDRESS, " 10.0.0.1 , 2001:DB8::1 ", HTTPS, "8443"}, true,
			"10.0.0.1:80 10.0.0.1:8443 2001:db8::1:80 2001:db8::1:8443", ""},
		{{ADDRESS, "10.0.0.1,10.0.0.1"}, true, "10.0.0.1:80 10.0.0.1:443", ""},
		{{HTTP, "8080", HTTPS, "8443"}, true, ":8080 :8443", ""},
		/* What is wrong opens nothing, and above all nothing elsewhere. */
		{{ADDRESS, "inner"}, true, "", "InvalidAnnotation"},
		{{ADDRESS, ""}, true, "", "InvalidAnnotation"},
		{{ADDRESS, "0.0.0.0"}, true, "", "InvalidAnnotation"},
		{{ADDRESS, "::"}, true, "", "InvalidAnnotation"},
		{{ADDRESS, "10.0.0.1,x"}, true, "10.0.0.1:80 10.0.0.1:443", "InvalidAnnotation"},
		{{ADDRESS, "10.0.0.1", HTTP, "0"}, true, "10.0.0.1:443", "InvalidAnnotation"},
		{{ADDRESS, "10.0.0.1", HTTPS, "65536"}, true, "10.0.0.1:80", "InvalidAnnotation"},
		{{ADDRESS, "10.0.0.1", HTTPS, "80"}, true, "10.0.0.1:80", "InvalidAnnotation"},
		{{ADDRESS,
			 "1.0.0.1,1.0.0.2,1.0.0.3,1.0.0.4,1.0.0.5,1.0.0.6,1.0.0.7,1.0.0.8,1.0.0.9,"
			 "1.0.0.10,1.0.0.11,1.0.0.12",
			 HTTPS, "x"},
			true,
			"1.0.0.1:80 1.0.0.2:80 1.0.0.3:80 1.0.0.4:80 1.0.0.5:80 1.0.0.6:80 "
			"1.0.0.7:80 1.0.0.8:80",
			"InvalidAnnotation InvalidAnnotation"},
	};
	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct class_row row = {.name = "inner"};
		memcpy(row.annotations, rows[i].annotations, sizeof(row.annotations));
		arena_init(&arena);
		struct class_table table = build(&row, 1);
		const struct class_item *item = class_table_find(&table, STR("inner"));
		assert_int_equal(item->is_own, rows[i].is_own);
		assert_string_equal(listeners_of(&table, "inner"), rows[i].listeners);
		assert_string_equal(reasons_of(&table.diags), rows[i].reasons);
		arena_fini(&arena);
	}
}

static void of_two_that_want_one_port_the_older_has_it(void **state)
{
	static const struct {
		struct class_row classes[CLASSES_MAX];
		const char *young; /* what "young" has */
		const char *old;
	} rows[] = {
		{{{"young", 2, {ADDRESS, "10.0.0.1"}},
			 {"old", 1, {ADDRESS, "10.0.0.1", HTTP, "81"}}},
			"10.0.0.1:80", "10.0.0.1:81 10.0.0.1:443"},
		/* Equally old: by name. */
		{{{"young", 1, {HTTP, "81"}}, {"old", 1, {HTTP, "81"}}}, "", ":81 :443"},
		/* An address beside all addresses. */
		{{{"young", 2, {ADDRESS, "10.0.0.1"}}, {"old", 1, {HTTP, "80", HTTPS, "443"}}},
			"10.0.0.1:80 10.0.0.1:443", ":80 :443"},
		/* The shared load balancer is as old as the oldest class that shares. */
		{{{"young", 2, {HTTPS, "8443"}}, {"old", 1, {NULL}}}, ":8443", ""},
		{{{"young", 2, {NULL}}, {"old", 1, {HTTPS, "8443"}}}, "", ":80 :8443"},
	};
	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		arena_init(&arena);
		struct class_table table = build(rows[i].classes, 2);
		assert_string_equal(listeners_of(&table, "young"), rows[i].young);
		assert_string_equal(listeners_of(&table, "old"), rows[i].old);
		for (size_t k = 0; k < table.diags.count; k++) {
			assert_text(table.diags.items[k].ingress.name, "young");
			assert_true(table.diags.items[k].ingress.is_class);
			assert_text(table.diags.items[k].reason, "PortConflict");
		}
		arena_fini(&arena);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(annotations_give_a_class_listeners_of_its_own),
		cmocka_unit_test(of_two_that_want_one_port_the_older_has_it),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
