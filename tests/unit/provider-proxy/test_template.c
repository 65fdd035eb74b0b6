// SPDX-License-Identifier: Apache-2.0
#include "provider-proxy/test.tmpl.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

struct world {
	struct str name;
	size_t item_count;
	size_t item;
	char letter;
	unsigned escaped; /* values that passed through escape() */
	unsigned handed;  /* values that were asked for */
};

static struct world *seen;

static struct str value(void *ctx, unsigned name)
{
	struct world *world = ctx;
	world->handed++;
	world->letter = (char)('a' + world->item % 26);
	switch ((enum test_value)name) {
	case TEST_VALUE_NAME:
		return world->name;
	case TEST_VALUE_LETTER:
		return (struct str){&world->letter, 1};
	}
	return STR_NONE;
}

static bool turn(void *ctx, unsigned block, size_t index)
{
	struct world *world = ctx;
	switch ((enum test_block)block) {
	case TEST_BLOCK_ITEM:
		world->item = index;
		return index < world->item_count;
	case TEST_BLOCK_INNER:
		return index < world->item;
	}
	return false;
}

/* Shows where a value stands; refuses what begins with `!`. */
static int escape(struct buf *out, struct str text, bool is_quoted)
{
	seen->escaped++;
	if (str_starts_with(text, STR("!")))
		return -EINVAL;
	return buf_printf(out, is_quoted ? "<%.*s>" : "(%.*s)", STR_FMT(text));
}

static const struct template_source source = {value, turn, escape};

static int render(struct world *world, struct buf *out)
{
	seen = world;
	return template_render(&test_template, &source, world, out);
}

static void blocks_are_repeated(void **state)
{
	static const struct {
		size_t item_count;
		const char *want;
	} rows[] = {
		{0, "first (x) \"say <x>\"\nlast\n"},
		{1, "first (x) \"say <x> <a>\"\n\t(a):  { not a tag } \\\"\nlast\n"},
		{3, "first (x) \"say <x> <a> <b> <c>\"\n\t(a):  { not a tag } \\\"\n"
		    "\t(b): [(x)] { not a tag } \\\"\n\t(c): [(x)][(x)] { not a tag } "
		    "\\\"\nlast\n"},
	};
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct world world = {.name = STR("x"), .item_count = rows[i].item_count};
		struct buf out;
		buf_init(&out, 1024);
		assert_int_equal(render(&world, &out), 0);
		assert_true(str_eq_c(buf_str(&out), rows[i].want));
		assert_int_equal(world.escaped, world.handed);
		buf_fini(&out);
	}
}

static void a_refused_value_leaves_nothing(void **state)
{
	struct world world = {.name = STR("!"), .item_count = 1};
	struct buf out;
	(void)state;
	buf_init(&out, 1024);
	assert_int_equal(buf_append(&out, "before", 6), 0);
	assert_int_equal(render(&world, &out), -EINVAL);
	assert_true(str_eq_c(buf_str(&out), "before"));
	buf_fini(&out);
}

static void the_ceiling_holds(void **state)
{
	struct world world = {.name = STR("x"), .item_count = SIZE_MAX};
	struct buf out;
	(void)state;
	buf_init(&out, 4096);
	assert_int_equal(render(&world, &out), -EMSGSIZE);
	assert_int_equal(buf_len(&out), 0);
	buf_fini(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(blocks_are_repeated),
		cmocka_unit_test(a_refused_value_leaves_nothing),
		cmocka_unit_test(the_ceiling_holds),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
