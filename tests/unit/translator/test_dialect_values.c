// SPDX-License-Identifier: Apache-2.0
#include "translator/dialects/values.h"

#include "tests/unit/translator/help.h"

struct row {
	const char *text;
	const char *want; /* NULL: refused */
};

static const char *joined(struct arena *arena, const struct str_list *list)
{
	struct str all = STR("");
	for (size_t i = 0; i < list->count; i++)
		all = arena_printf(arena, "%.*s%s%.*s", STR_FMT(all), i != 0 ? " " : "",
			STR_FMT(list->items[i]));
	return all.p;
}

static void check(const struct row *row, const char *problem, const char *got)
{
	if (problem != NULL && row->want != NULL)
		fail_msg("\"%s\" is refused: %s", row->text, problem);
	if (problem == NULL && (row->want == NULL || strcmp(got, row->want) != 0))
		fail_msg("\"%s\" gives \"%s\"", row->text, got);
}

static void networks(void **state)
{
	static const struct row rows[] = {
		{"10.0.0.0/8", "10.0.0.0/8"},
		{"10.1.2.3/8,192.0.2.1", "10.0.0.0/8 192.0.2.1/32"},
		{" 2001:DB8::1/32\n::1 ", "2001:db8::/32 ::1/128"},
		{"0.0.0.0/0", "0.0.0.0/0"},
		{"10.0.0.129/25", "10.0.0.128/25"},
		{"", NULL},
		{",", NULL},
		{"10.0.0.0/33", NULL},
		{"10.0.0.0/-1", NULL},
		{"10.0.0.0/", NULL},
		{"10.0.0", NULL},
		{"example.com", NULL},
		{"::/129", NULL},
		{"10.0.0.1;drop", NULL},
	};
	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct arena arena;
		struct str_list list = {0};
		arena_init(&arena);
		const char *problem = value_networks(str_from(rows[i].text), &arena, &list);
		check(&rows[i], problem, joined(&arena, &list));
		arena_fini(&arena);
	}
}

static void sizes_and_times(void **state)
{
	static const struct row sizes[] = {{"1", "1"}, {"8k", "8192"}, {"1m", "1048576"},
		{"2G", "2147483648"}, {"0", NULL}, {"", NULL}, {"m", NULL}, {"1kb", NULL},
		{"-1", NULL}, {"1.5m", NULL}, {"9999999999999999999", NULL}};
	static const struct row times[] = {{"1", "1000"}, {"1500ms", "1500"}, {"2m", "120000"},
		{"24h", "86400000"}, {"25h", NULL}, {"0", NULL}, {"", NULL}, {"1d", NULL},
		{"1 s", NULL}};
	(void)state;
	for (size_t i = 0; i < COUNT_OF(sizes); i++) {
		uint64_t bytes = 0;
		char text[32];
		const char *problem = value_size(str_from(sizes[i].text), &bytes);
		snprintf(text, sizeof(text), "%llu", (unsigned long long)bytes);
		check(&sizes[i], problem, text);
	}
	for (size_t i = 0; i < COUNT_OF(times); i++) {
		uint64_t ms = 0;
		char text[32];
		const char *problem = value_duration(str_from(times[i].text), &ms);
		snprintf(text, sizeof(text), "%llu", (unsigned long long)ms);
		check(&times[i], problem, text);
	}
}

static void origins(void **state)
{
	static const struct row rows[] = {
		{"*", "*"},
		{"https://a.example, *", "*"},
		{"HTTPS://A.example:8443", "https://a.example:8443"},
		{"https://*.example.org, null", "https://*.example.org null"},
		{"capacitor://localhost", "capacitor://localhost"},
		{"", NULL},
		{"example.com", NULL},
		{"https://", NULL},
		{"https://a.example/", NULL},
		{"https://a.example:0", NULL},
		{"https://a*.example", NULL},
		{"https://a.example\r\nX: y", NULL},
		{"://a", NULL},
	};
	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct arena arena;
		struct str_list list = {0};
		bool any = false;
		arena_init(&arena);
		const char *problem = value_origins(str_from(rows[i].text), &arena, &any, &list);
		check(&rows[i], problem, any ? "*" : joined(&arena, &list));
		arena_fini(&arena);
	}
}

static void changes_of_headers(void **state)
{
	static const struct row rows[] = {
		{"set X-A: b", "0 X-A 1"},
		{"\n  add X-A:  b ${client} \n\nremove X-B\n", "1 X-A 2 2 X-B 0"},
		{"set Host: ${host}", "0 Host 1"},
		{"", NULL},
		{"set X-A", NULL},
		{"set X-A:", NULL},
		{"Set X-A: b", NULL},
		{"set X A: b", NULL},
		{"set : b", NULL},
		{"remove X-A: b", NULL},
		{"remove", NULL},
		{"set Content-Length: 1", NULL},
		{"remove connection", NULL},
		{"add TRANSFER-ENCODING: x", NULL},
		{"set X-A: $a", NULL},
	};
	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct arena arena;
		struct header_change *items = NULL;
		struct str all = STR("");
		size_t count = 0;
		bool has_groups = false;
		arena_init(&arena);
		const char *problem = value_header_changes(
			str_from(rows[i].text), &arena, &items, &count, &has_groups);
		for (size_t k = 0; problem == NULL && k < count; k++)
			all = arena_printf(&arena, "%.*s%s%d %.*s %zu", STR_FMT(all),
				k != 0 ? " " : "", (int)items[k].action, STR_FMT(items[k].name),
				items[k].value.count);
		check(&rows[i], problem, all.p);
		arena_fini(&arena);
	}
}

static void rates_and_words(void **state)
{
	struct arena arena;
	struct rate_limit *items = NULL;
	size_t count = 0;
	struct str tokens = STR("");
	uint64_t status = 0;
	(void)state;
	arena_init(&arena);
	assert_null(value_rates(STR("10/s, 5/h"), &arena, &items, &count));
	assert_int_equal(count, 2);
	assert_int_equal(items[1].requests, 5);
	assert_int_equal(items[1].interval_s, 3600);
	assert_non_null(value_rates(STR("0/s"), &arena, &items, &count));
	assert_non_null(value_rates(STR("1/d"), &arena, &items, &count));
	assert_non_null(value_rates(STR("1000001/s"), &arena, &items, &count));
	assert_non_null(value_rates(STR(" "), &arena, &items, &count));
	assert_null(value_tokens(STR(" a,b , c"), &arena, &tokens));
	assert_text(tokens, "a, b, c");
	assert_non_null(value_tokens(STR("a b"), &arena, &tokens));
	assert_non_null(value_tokens(STR(","), &arena, &tokens));
	assert_null(value_redirect_status(STR("308"), &status));
	assert_int_equal(status, 308);
	assert_non_null(value_redirect_status(STR("304"), &status));
	arena_fini(&arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(networks),
		cmocka_unit_test(sizes_and_times),
		cmocka_unit_test(origins),
		cmocka_unit_test(changes_of_headers),
		cmocka_unit_test(rates_and_words),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
