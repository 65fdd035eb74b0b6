// SPDX-License-Identifier: Apache-2.0
#include "provider-elb/priorities.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { RULES_MAX = 16, TAKEN_MAX = 8 };

#define E(number)                     \
	{                             \
		BAND_EXACT, number, 0 \
	}
#define W(number)                        \
	{                                \
		BAND_WILDCARD, number, 0 \
	}
#define A(number)                   \
	{                           \
		BAND_ANY, number, 0 \
	}

static const struct {
	const char *name;
	size_t count;
	struct priority_rule rules[RULES_MAX];
	size_t taken_count;
	uint64_t taken[TAKEN_MAX];
	uint64_t want[RULES_MAX];
} cases[] = {
	{"no rules", 0, {{0}}, 0, {0}, {0}},
	{"an empty band is filled around its middle", 3, {E(0), E(0), E(0)}, 0, {0},
		{15399, 15499, 15599}},
	{"each band by itself", 3, {E(0), W(0), A(0)}, 0, {0}, {15499, 37499, 47499}},
	{"what is right stays", 3, {E(5), E(1000), E(29999)}, 0, {0}, {0}},
	{"what increases stays", 3, {E(1000), E(1001), W(30000)}, 0, {0}, {1000, 1001, 30000}},
	{"a new one gets the middle", 3, {E(1000), E(0), E(1100)}, 0, {0}, {1000, 1050, 1100}},
	{"several share a gap", 5, {E(1000), E(0), E(0), E(0), E(1100)}, 0, {0},
		{1000, 1025, 1050, 1075, 1100}},
	{"at the end there is room for more", 2, {E(2000), E(0)}, 0, {0}, {2000, 2100}},
	{"at the beginning, too", 2, {E(0), E(2000)}, 0, {0}, {1900, 2000}},
	{"at the end with little room", 2, {E(29900), E(0)}, 0, {0}, {29900, 29950}},
	{"at the beginning with little room", 2, {A(0), A(45002)}, 0, {0}, {45000, 45002}},
	{"one is moved, the others stay", 4, {E(1100), E(1300), E(1200), E(1400)}, 0, {0},
		{1100, 1150, 1200, 1400}},
	{"two swap: one moves", 2, {E(1200), E(1100)}, 0, {0}, {1049, 1100}},
	{"the last becomes the first", 3, {E(1300), E(1100), E(1200)}, 0, {0}, {1049, 1100, 1200}},
	{"out of its band", 2, {E(1100), W(1200)}, 0, {0}, {1100, 37499}},
	{"no gap: a neighbour moves", 4, {E(1000), E(0), E(1001), E(1100)}, 0, {0},
		{1000, 1033, 1066, 1100}},
	{"no gap at the end of the band", 3, {A(49000), A(49999), A(0)}, 0, {0},
		{49000, 49100, 49200}},
	{"no gap at both sides", 4, {A(45000), A(0), A(45001), A(45002)}, 0, {0}, {0}},
	{"numbers of others are left out", 3, {E(1000), E(0), E(1100)}, 3, {1049, 1050, 1051},
		{1000, 1048, 1100}},
	{"numbers of others fill a gap", 3, {E(1000), E(0), E(1003)}, 2, {1001, 1002},
		{1000, 1102, 1202}},
	{"numbers of others at the beginning", 2, {E(0), E(1003)}, 3, {1000, 1001, 1002}, {0}},
};

static void check(const char *name, const struct priority_rule *rules, size_t count,
	const uint64_t *taken, size_t taken_count)
{
	static const uint64_t ends[][2] = {{1000, 29999}, {30000, 44999}, {45000, 49999}};
	for (size_t i = 0; i < count; i++) {
		bool is_good = rules[i].wanted >= ends[rules[i].band][0] &&
			       rules[i].wanted <= ends[rules[i].band][1] &&
			       (i == 0 || rules[i].wanted > rules[i - 1].wanted);
		for (size_t j = 0; j < taken_count; j++)
			is_good = is_good && rules[i].wanted != taken[j];
		if (!is_good)
			fail_msg("%s: rule %zu has %zu", name, i, (size_t)rules[i].wanted);
	}
}

static void table(void **state)
{
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct priority_rule rules[RULES_MAX];
		memcpy(rules, cases[i].rules, sizeof(rules));
		if (!priorities_assign(rules, cases[i].count, cases[i].taken, cases[i].taken_count))
			fail_msg("%s: full", cases[i].name);
		check(cases[i].name, rules, cases[i].count, cases[i].taken, cases[i].taken_count);
		for (size_t j = 0; j < cases[i].count; j++) {
			if (cases[i].want[0] != 0 && rules[j].wanted != cases[i].want[j])
				fail_msg("%s: rule %zu has %zu", cases[i].name, j,
					(size_t)rules[j].wanted);
		}
	}
}

/* The band for any host has 5000 numbers. */
static void a_band_may_be_full(void **state)
{
	struct priority_rule *rules = calloc(5001, sizeof(*rules));
	uint64_t taken[] = {46000};
	for (size_t i = 0; i < 5001; i++)
		rules[i] = (struct priority_rule){BAND_ANY, 0, 0};
	assert_true(priorities_assign(rules, 5000, NULL, 0));
	check("full", rules, 5000, NULL, 0);
	assert_int_equal(rules[0].wanted, 45000);
	assert_false(priorities_assign(rules, 5001, NULL, 0));
	assert_false(priorities_assign(rules, 5000, taken, 1));
	assert_true(priorities_assign(rules, 4999, taken, 1));
	check("nearly full", rules, 4999, taken, 1);
	free(rules);
}

static size_t moved(const struct priority_rule *rules, size_t count)
{
	size_t moves = 0;
	for (size_t i = 0; i < count; i++)
		moves += rules[i].current != 0 && rules[i].current != rules[i].wanted;
	return moves;
}

/* Whatever is inserted and wherever, the order holds, and hardly any rule moves for it. */
static void a_thousand_insertions(void **state)
{
	enum { COUNT = 1000 };
	struct priority_rule *rules = calloc(COUNT, sizeof(*rules));
	uint64_t taken[] = {1000, 15000, 15001, 15002, 15500, 15599, 20000};
	size_t moves = 0, most_of_first = 0;
	srandom(1);
	for (size_t count = 0; count < COUNT; count++) {
		size_t at = count < 100 ? count / 2 : (size_t)random() % (count + 1);
		memmove(&rules[at + 1], &rules[at], (count - at) * sizeof(*rules));
		rules[at] = (struct priority_rule){BAND_EXACT, 0, 0};
		assert_true(priorities_assign(rules, count + 1, taken, 7));
		check("insertion", rules, count + 1, taken, 7);
		size_t now = moved(rules, count + 1);
		moves += now;
		if (count < 100 && now > most_of_first)
			most_of_first = now;
		for (size_t i = 0; i <= count; i++)
			rules[i].current = rules[i].wanted;
	}
	assert_true(moves < 5 * COUNT);
	assert_true(most_of_first < 50);
	free(rules);
}

/* What is to be made later gets the same number then: it does not matter how many calls it takes. */
static void one_after_the_other_gives_the_same(void **state)
{
	struct priority_rule rules[] = {E(1000), E(0), E(0), E(0), E(1100), E(0), W(0), W(0)};
	uint64_t first[8];
	assert_true(priorities_assign(rules, 8, NULL, 0));
	for (size_t i = 0; i < 8; i++)
		first[i] = rules[i].wanted;
	for (size_t i = 0; i < 8; i++) {
		rules[i].current = rules[i].wanted;
		assert_true(priorities_assign(rules, 8, NULL, 0));
		assert_int_equal(moved(rules, 8), 0);
		for (size_t j = 0; j < 8; j++)
			assert_in_range(rules[j].wanted, first[j] - 1, first[j] + 1);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(table),
		cmocka_unit_test(a_band_may_be_full),
		cmocka_unit_test(a_thousand_insertions),
		cmocka_unit_test(one_after_the_other_gives_the_same),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
