// SPDX-License-Identifier: Apache-2.0
#include "provider-elb/record_marks.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

static struct arena arena;

static void assert_str(struct str got, const char *want)
{
	if (want == NULL ? got.p != NULL : !str_eq_c(got, want))
		fail_msg("\"%.*s\", not \"%s\"", STR_FMT(got), want != NULL ? want : "absent");
}

static void marks_of_all_versions_are_read(void **state)
{
	static const struct {
		const char *value;
		const char *owner; /* NULL: it is no mark */
		const char *resource;
	} rows[] = {
		{"\"heritage=external-dns,external-dns/owner=me,external-dns/resource=ingress/a/"
		 "b\"",
			"me", "ingress/a/b"},
		{"\"heritage=external-dns,external-dns/owner=me\"", "me", NULL},
		{"\"heritage=external-dns,external-dns/aws-weight=1,external-dns/owner=me\"", "me",
			NULL},
		{"\"heritage=external-dns,external-dns/owner=me,external-dns/\" "
		 "\"resource=ingress/a/b\"",
			"me", "ingress/a/b"},
		{"\"heritage=external-dns\"", "", NULL},
		{"\"heritage=mate,external-dns/owner=me\"", NULL, NULL},
		{"\"v=spf1 -all\"", NULL, NULL},
		{"", NULL, NULL},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct str value = str_from(rows[i].value);
		struct record record = {.type = RECORD_TXT, .values = {&value, 1}};
		arena_init(&arena);
		struct record_mark mark = record_mark_read(&record, &arena);
		assert_str(mark.owner, rows[i].owner);
		assert_str(mark.resource, rows[i].resource);
		arena_fini(&arena);
	}
}

static void a_mark_among_other_texts_is_not_only_ours(void **state)
{
	struct str values[] = {
		STR("\"v=spf1\""), STR("\"heritage=external-dns,external-dns/owner=me\"")};
	struct record record = {.type = RECORD_TXT, .values = {values, 2}};
	arena_init(&arena);
	assert_str(record_mark_read(&record, &arena).owner, "me");
	assert_false(record_mark_is_ours(&record, STR("me"), &arena));
	record.values = (struct str_list){values + 1, 1};
	assert_true(record_mark_is_ours(&record, STR("me"), &arena));
	assert_false(record_mark_is_ours(&record, STR("m"), &arena));
	record.is_odd = true;
	assert_false(record_mark_is_ours(&record, STR("me"), &arena));
	arena_fini(&arena);
}

static void a_mark_is_written_as_external_dns_does(void **state)
{
	arena_init(&arena);
	const struct record *mark =
		record_mark_make(STR("a-x"), STR("sluice-demo"), STR("default/web"), &arena);
	assert_int_equal(mark->values.count, 1);
	assert_str(mark->values.items[0],
		"\"heritage=external-dns,external-dns/owner=sluice-demo,external-dns/"
		"resource=ingress/default/web\"");
	char name[300];
	memset(name, 'n', sizeof(name));
	mark = record_mark_make(STR("a-x"), STR("me"), (struct str){name, sizeof(name)}, &arena);
	struct str value = mark->values.items[0];
	/* Strings of at most 255 bytes. */
	assert_int_equal(strcspn(value.p + 1, "\""), 255);
	assert_int_equal(record_mark_read(mark, &arena).resource.len, sizeof(name) + 8);
	arena_fini(&arena);
}

#define LABEL_58 "aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeeeeeeeeeffffffff"

static void a_mark_needs_a_place(void **state)
{
	static const struct {
		const char *name;
		bool want;
	} rows[] = {
		{"shop.example.com", true},
		{"*.example.com", true},
		{"example.com", false},
		{LABEL_58 ".example.com", true},
		{LABEL_58 "x.example.com", false},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_int_equal(record_mark_has_place(str_from(rows[i].name), STR("example.com")),
			rows[i].want);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(marks_of_all_versions_are_read),
		cmocka_unit_test(a_mark_among_other_texts_is_not_only_ours),
		cmocka_unit_test(a_mark_is_written_as_external_dns_does),
		cmocka_unit_test(a_mark_needs_a_place),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
