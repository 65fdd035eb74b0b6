// SPDX-License-Identifier: Apache-2.0
#include "watcher/event_plan.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

static struct event_note note(
	const char *object, const char *uid, const char *reason, const char *message)
{
	return (struct event_note){
		.key = {RECORD_INGRESS, STR("n"), str_from(object), str_from(uid)},
		.type = EVENT_WARNING,
		.reason = str_from(reason),
		.message = str_from(message),
	};
}

static void the_same_thing_said_has_the_same_name_in_every_life(void **state)
{
	struct event_plan plans[2];
	(void)state;
	for (int life = 0; life < 2; life++) {
		struct event_filter filter;
		struct event_note n = note("web", "u1", "BadPort", "no port 81");
		event_filter_init(&filter);
		assert_true(event_filter_take(&filter, &n, 100 * life, &plans[life]));
		event_filter_fini(&filter);
	}
	assert_string_equal(plans[0].name, plans[1].name);
	assert_string_equal(plans[0].name, "web.ea0c70e5c41d94e6");
}

static void different_things_have_different_names(void **state)
{
	struct event_note notes[] = {note("web", "u1", "BadPort", "m"),
		note("web", "u2", "BadPort", "m"), note("web", "u1", "BadPath", "m"),
		note("web", "u1", "BadPort", "n"), note("web", "u1", "BadPor", "tm"),
		note("web", "u1", "BadPort", "m")};
	struct event_plan plans[6];
	struct event_filter filter;
	(void)state;
	notes[5].type = EVENT_NORMAL;
	event_filter_init(&filter);
	for (size_t i = 0; i < 6; i++) {
		assert_true(event_filter_take(&filter, &notes[i], 1, &plans[i]));
		for (size_t j = 0; j < i; j++)
			assert_string_not_equal(plans[i].name, plans[j].name);
	}
	event_filter_fini(&filter);
}

static bool is_subdomain(const char *name)
{
	size_t len = strlen(name);
	for (size_t i = 0; i < len; i++) {
		bool alnum =
			(name[i] >= 'a' && name[i] <= 'z') || (name[i] >= '0' && name[i] <= '9');
		bool edge = i == 0 || i + 1 == len || name[i - 1] == '.' || name[i + 1] == '.';
		if (!alnum && (edge || (name[i] != '-' && name[i] != '.')))
			return false;
	}
	return len > 0 && len <= 253;
}

static void long_names_are_cut_to_valid_ones(void **state)
{
	char name[254];
	struct event_filter filter;
	(void)state;
	event_filter_init(&filter);
	for (size_t len = 230; len <= 253; len++) {
		struct event_plan plan;
		memset(name, 'a', sizeof(name));
		name[len] = '\0';
		name[235] = len > 236 ? '.' : name[235];
		name[234] = len > 236 ? '-' : name[234];
		struct event_note n = note(name, "u", "R", "m");
		assert_true(event_filter_take(&filter, &n, 1, &plan));
		assert_true(is_subdomain(plan.name));
	}
	event_filter_fini(&filter);
}

static void many_similar_ones_become_one(void **state)
{
	struct event_filter filter;
	struct event_plan plan;
	char first[EVENT_NAME_MAX + 1] = "";
	(void)state;
	event_filter_init(&filter);
	for (int i = 0; i < 20; i++) {
		char message[32];
		snprintf(message, sizeof(message), "message %d", i);
		struct event_note n = note("web", "u1", "BadPort", message);
		assert_true(event_filter_take(&filter, &n, 1, &plan));
		assert_int_equal(plan.is_combined, i >= EVENT_SIMILAR_MAX - 1);
		if (!plan.is_combined)
			continue;
		assert_non_null(strstr(plan.message, "(combined from similar events): message"));
		if (first[0] == '\0')
			memcpy(first, plan.name, sizeof(first));
		assert_string_equal(plan.name, first);
	}
	/* After ten quiet minutes each stands for itself again. */
	struct event_note n = note("web", "u1", "BadPort", "another");
	assert_true(event_filter_take(&filter, &n, 700, &plan));
	assert_false(plan.is_combined);
	event_filter_fini(&filter);
}

static void one_object_cannot_flood(void **state)
{
	struct event_filter filter;
	struct event_plan plan;
	struct event_note n = note("web", "u1", "R", "m");
	struct event_note other = note("api", "u2", "R", "m");
	int taken = 0;
	(void)state;
	event_filter_init(&filter);
	for (int i = 0; i < 100; i++)
		taken += event_filter_take(&filter, &n, 1, &plan);
	assert_int_equal(taken, EVENT_BURST);
	assert_true(event_filter_take(&filter, &other, 1, &plan));
	assert_false(event_filter_take(&filter, &n, 290, &plan));
	assert_true(event_filter_take(&filter, &n, 600, &plan));
	event_filter_fini(&filter);
}

static void messages_are_cut_where_a_character_ends(void **state)
{
	struct event_filter filter;
	struct event_plan plan;
	char message[2000];
	(void)state;
	event_filter_init(&filter);
	for (size_t shift = 0; shift < 3; shift++) {
		memset(message, 'x', shift);
		for (size_t i = shift; i + 3 < sizeof(message); i += 3)
			memcpy(message + i, "\xe2\x82\xac", 4);
		struct event_note n = note("web", "u1", "R", message);
		assert_true(event_filter_take(&filter, &n, 1, &plan));
		assert_true(strlen(plan.message) <= EVENT_MESSAGE_MAX &&
			    strlen(plan.message) > EVENT_MESSAGE_MAX - 3);
		assert_true(str_is_utf8(str_from(plan.message)));
	}
	event_filter_fini(&filter);
}

static void memory_is_bounded(void **state)
{
	struct event_filter filter;
	struct event_plan plan;
	(void)state;
	event_filter_init(&filter);
	for (int i = 0; i < 3 * EVENT_MEMORY; i++) {
		char uid[16];
		snprintf(uid, sizeof(uid), "%d", i);
		struct event_note n = note("web", uid, "R", "m");
		assert_true(event_filter_take(&filter, &n, 1, &plan));
	}
	assert_int_equal(filter.objects.count, EVENT_MEMORY);
	assert_int_equal(filter.reasons.count, EVENT_MEMORY);
	event_filter_fini(&filter);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_same_thing_said_has_the_same_name_in_every_life),
		cmocka_unit_test(different_things_have_different_names),
		cmocka_unit_test(long_names_are_cut_to_valid_ones),
		cmocka_unit_test(many_similar_ones_become_one),
		cmocka_unit_test(one_object_cannot_flood),
		cmocka_unit_test(messages_are_cut_where_a_character_ends),
		cmocka_unit_test(memory_is_bounded),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
