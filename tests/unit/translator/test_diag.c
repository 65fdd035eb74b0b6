// SPDX-License-Identifier: Apache-2.0
#include "translator/diag.h"

#include "tests/unit/translator/help.h"

static const struct object_ref one = {STR("a"), STR("one"), STR("1")};
static const struct object_ref two = {STR("a"), STR("two"), STR("2")};

static void lists_are_sorted_and_without_repetition(void **state)
{
	struct arena arena;
	struct diag_list diags;
	(void)state;
	arena_init(&arena);
	diag_list_init(&diags, &arena);
	diag_add(&diags, &two, "B", NULL, "x");
	diag_add(&diags, &one, "C", "spec.x", "%d", 7);
	diag_add(&diags, &two, "A", NULL, "x");
	diag_add(&diags, &two, "B", NULL, "x");
	assert_string_equal(reasons_of(&diags), "C A B");
	assert_text(diags.items[0].message, "spec.x: 7");
	assert_text(diags.items[1].message, "x");
	arena_fini(&arena);
}

static void one_ingress_cannot_fill_the_list(void **state)
{
	struct arena arena;
	struct diag_list diags;
	(void)state;
	arena_init(&arena);
	diag_list_init(&diags, &arena);
	for (int i = 0; i < DIAG_PER_INGRESS_MAX; i++)
		diag_add(&diags, &one, "Fits", NULL, "%d", i);
	for (int i = 0; i < 1000; i++)
		diag_add(&diags, &two, "Many", NULL, "%04d", i);
	diag_list_finish(&diags);
	assert_int_equal(diags.count, 2 * DIAG_PER_INGRESS_MAX);
	assert_text(diags.items[DIAG_PER_INGRESS_MAX - 1].reason, "Fits");
	assert_text(diags.items[diags.count - 1].reason, "MoreProblems");
	assert_text(
		diags.items[diags.count - 1].message, "981 more problems are not told one by one");
	arena_fini(&arena);
}

static void values_are_shown_short_and_harmless(void **state)
{
	static const struct {
		const char *value;
		const char *want;
	} rows[] = {
		{"", "\"\""},
		{"plain", "\"plain\""},
		{"a\nb\x01\x7f", "\"a?b??\""},
		{"0123456789012345678901234567890123456789012345678901234567890123",
			"\"0123456789012345678901234567890123456789012345678901234567890123\""},
		{"01234567890123456789012345678901234567890123456789012345678901234",
			"\"0123456789012345678901234567890123456789012345678901234567890123...\""},
		/* not cut within a character */
		{"012345678901234567890123456789012345678901234567890123456789012\xc3\xbc!",
			"\"012345678901234567890123456789012345678901234567890123456789012...\""},
	};
	struct arena arena;
	(void)state;
	arena_init(&arena);
	for (size_t i = 0; i < COUNT_OF(rows); i++)
		assert_string_equal(diag_quote(&arena, str_from(rows[i].value)), rows[i].want);
	arena_fini(&arena);
}

static void long_messages_are_cut_between_characters(void **state)
{
	struct arena arena;
	struct diag_list diags;
	char text[4000];
	(void)state;
	arena_init(&arena);
	diag_list_init(&diags, &arena);
	for (size_t i = 0; i + 1 < sizeof(text); i += 2)
		memcpy(text + i, "\xc3\xbc", 2);
	text[sizeof(text) - 1] = '\0';
	text[sizeof(text) - 2] = 'x';
	diag_add(&diags, &one, "Long", "a", "%s", text);
	diag_add(&diags, &one, "Long", NULL, "%s", text);
	assert_int_equal(diags.count, 2);
	for (size_t i = 0; i < diags.count; i++) {
		assert_true(diags.items[i].message.len <= DIAG_MESSAGE_MAX_LEN);
		assert_true(str_is_utf8(diags.items[i].message));
	}
	arena_fini(&arena);
}

static void nobody_needs_to_listen(void **state)
{
	(void)state;
	diag_add(NULL, &one, "A", NULL, "x");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lists_are_sorted_and_without_repetition),
		cmocka_unit_test(one_ingress_cannot_fill_the_list),
		cmocka_unit_test(values_are_shown_short_and_harmless),
		cmocka_unit_test(long_messages_are_cut_between_characters),
		cmocka_unit_test(nobody_needs_to_listen),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
