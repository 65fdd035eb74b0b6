// SPDX-License-Identifier: Apache-2.0
#include "provider-nginx/bisect.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { COUNT = 64 };

/* Runs it against pieces of which `bad` are refused; returns the tries, -1 when it is hopeless. */
static int run(size_t count, const bool *may_go, const bool *bad, bool *ret_out)
{
	struct bisect *bisect = bisect_new(count, may_go);
	const bool *is_out;
	int tries = 0;
	while ((is_out = bisect_next(bisect)) != NULL) {
		bool is_good = true;
		for (size_t i = 0; i < count; i++)
			is_good = is_good && (is_out[i] || !bad[i]);
		bisect_told(bisect, is_good);
		assert_true(++tries < 2000);
	}
	const bool *result = bisect_result(bisect);
	if (result != NULL && count != 0)
		memcpy(ret_out, result, count * sizeof(bool));
	bool is_hopeless = result == NULL;
	bisect_free(bisect);
	return is_hopeless ? -1 : tries;
}

static void test_finds_exactly_the_bad_ones(void **state)
{
	bool may_go[COUNT];
	(void)state;
	memset(may_go, 1, sizeof(may_go));
	for (size_t count = 1; count <= COUNT; count += 7) {
		for (size_t step = 1; step <= count; step++) {
			bool bad[COUNT] = {false};
			bool out[COUNT] = {false};
			for (size_t i = step - 1; i < count; i += step)
				bad[i] = true;
			assert_true(run(count, may_go, bad, out) > 0);
			assert_memory_equal(out, bad, count * sizeof(bool));
		}
	}
}

static void test_one_bad_piece_is_cheap(void **state)
{
	bool may_go[COUNT];
	bool out[COUNT];
	(void)state;
	memset(may_go, 1, sizeof(may_go));
	for (size_t i = 0; i < COUNT; i++) {
		bool bad[COUNT] = {false};
		bad[i] = true;
		int tries = run(COUNT, may_go, bad, out);
		assert_in_range(tries, 1, 64);
	}
}

static void test_what_may_not_go(void **state)
{
	bool may_go[4] = {false, true, false, true};
	bool bad[4] = {false, false, true, false};
	bool out[4];
	(void)state;
	assert_int_equal(run(4, may_go, bad, out), -1);
	bad[2] = false;
	bad[3] = true;
	assert_true(run(4, may_go, bad, out) > 0);
	assert_memory_equal(out, bad, sizeof(bad));
}

static void test_nothing_may_go(void **state)
{
	bool none[1] = {false};
	bool bad[1] = {true};
	bool out[1] = {false};
	(void)state;
	assert_int_equal(run(1, none, bad, out), -1);
	bad[0] = false;
	assert_int_equal(run(1, none, bad, out), 1);
	assert_int_equal(run(0, none, bad, out), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_finds_exactly_the_bad_ones),
		cmocka_unit_test(test_one_bad_piece_is_cheap),
		cmocka_unit_test(test_what_may_not_go),
		cmocka_unit_test(test_nothing_may_go),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
