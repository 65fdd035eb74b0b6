// SPDX-License-Identifier: Apache-2.0
#include "watcher/list_reader.h"

#include "common/xalloc.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

static int take_item(void *ctx, struct str item)
{
	struct buf *seen = ctx;
	assert_int_equal(buf_append_str(seen, item), 0);
	assert_int_equal(buf_append(seen, "|", 1), 0);
	return 0;
}

struct row {
	const char *name;
	const char *body;
	const char *items; /* each ended by '|' */
	const char *frame; /* NULL: malformed */
};

static const struct row rows[] = {
	{"a list as the server writes it",
		"{\"kind\":\"IngressList\",\"metadata\":{\"resourceVersion\":\"7\"},\"items\":[{"
		"\"a\":1},{\"b\":[1,2]}]}",
		"{\"a\":1}|{\"b\":[1,2]}|",
		"{\"kind\":\"IngressList\",\"metadata\":{\"resourceVersion\":\"7\"},\"items\":[]}"},
	{"members in another order", "{\"items\":[{\"a\":1}],\"metadata\":{}}\n", "{\"a\":1}|",
		"{\"items\":[],\"metadata\":{}}\n"},
	{"no items", "{\"items\":[]}", "", "{\"items\":[]}"},
	{"items that are null", "{\"items\":null,\"x\":[1]}", "", "{\"items\":null,\"x\":[1]}"},
	{"no member of that name", "{\"metadata\":{\"items\":[1,2]}}", "",
		"{\"metadata\":{\"items\":[1,2]}}"},
	{"indented", "{\n \"items\" : [\n  {\n \"a\" : 1\n }\n ,\n {\"b\":2}\n ]\n}",
		"{\n \"a\" : 1\n }\n |{\"b\":2}\n |", "{\n \"items\" : []\n}"},
	{"brackets, quotes and commas within text",
		"{\"items\":[{\"a\":\"]},\\\"{[\"},{\"b\":\"\\\\\"}]}",
		"{\"a\":\"]},\\\"{[\"}|{\"b\":\"\\\\\"}|", "{\"items\":[]}"},
	{"the word in a value does not count", "{\"a\":\"items\",\"b\":[1]}", "",
		"{\"a\":\"items\",\"b\":[1]}"},
	{"a longer word", "{\"theitems\":[1],\"items2\":[2]}", "",
		"{\"theitems\":[1],\"items2\":[2]}"},
	{"elements that are no objects", "{\"items\":[1,\"two\",null]}", "1|\"two\"|null|",
		"{\"items\":[]}"},
	{"not ended", "{\"items\":[{\"a\":1}", "", NULL},
	{"half an element", "{\"items\":[{\"a\":1}, {\"b\"", "{\"a\":1}|", NULL},
	{"no object", "[1,2]", "", NULL},
	{"plain text", "404 page not found\n", "", NULL},
	{"HTML", "<html><body>{}</body></html>", "", NULL},
	{"text behind the end", "{\"items\":[]} x", "", NULL},
	{"too many closing brackets", "{\"items\":[{}]}]", "{}|", NULL},
	{"a closing bracket that does not fit", "{\"items\":[}]}", "", NULL},
	{"nothing", "", "", NULL},
};

static void check_row(const struct row *row, size_t step)
{
	struct list_reader reader;
	struct buf seen;
	struct str frame;
	size_t len = strlen(row->body);
	int outcome = LIST_OK;
	list_reader_init(&reader, LIST_BODY_MAX, step % 2 == 0);
	buf_init(&seen, 1 << 20);
	for (size_t at = 0; at < len && outcome == LIST_OK; at += step) {
		struct str piece = {row->body + at, len - at < step ? len - at : step};
		outcome = list_reader_feed(&reader, piece, take_item, &seen);
	}
	if (outcome == LIST_OK)
		outcome = list_reader_end(&reader, &frame);
	if (row->frame == NULL) {
		assert_int_equal(outcome, LIST_E_MALFORMED);
	} else {
		assert_int_equal(outcome, LIST_OK);
		if (!str_eq_c(frame, row->frame) ||
			!str_eq_c(buf_len(&seen) != 0 ? buf_str(&seen) : STR(""), row->items))
			fail_msg("%s, step %zu: items %.*s frame %.*s", row->name, step,
				(int)buf_len(&seen), (const char *)seen.data, STR_FMT(frame));
	}
	buf_fini(&seen);
	list_reader_fini(&reader);
}

static void takes_bodies_apart_however_they_are_split(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		for (size_t step = 1; step <= strlen(rows[i].body) + 1; step++)
			check_row(&rows[i], step);
	}
}

static void tells_a_body_over_its_limit(void **state)
{
	(void)state;
	struct list_reader reader;
	struct buf seen;
	list_reader_init(&reader, 20, false);
	buf_init(&seen, 1000);
	assert_int_equal(list_reader_feed(&reader, STR("{\"items\":["), take_item, &seen), LIST_OK);
	assert_int_equal(
		list_reader_feed(&reader, STR("{},{},{},{}"), take_item, &seen), LIST_E_TOO_LONG);
	buf_fini(&seen);
	list_reader_fini(&reader);
}

struct cut_items {
	const struct list_reader *reader;
	size_t whole;
	size_t cut;
};

static int count_item(void *ctx, struct str item)
{
	struct cut_items *seen = ctx;
	if (!seen->reader->item_lost) {
		seen->whole++;
		return 0;
	}
	seen->cut++;
	assert_int_equal(item.len, LIST_ITEM_MAX);
	assert_true(str_starts_with(item, STR("{\"b\":\"xx")));
	return 0;
}

static void cuts_an_item_over_its_limit_and_no_other(void **state)
{
	(void)state;
	struct list_reader reader;
	struct str frame;
	struct cut_items seen = {.reader = &reader};
	size_t len = LIST_ITEM_MAX;
	char *big = xmalloc(len);
	memset(big, 'x', len);
	list_reader_init(&reader, LIST_BODY_MAX, false);
	assert_int_equal(list_reader_feed(&reader, STR("{\"items\":[{\"a\":1},{\"b\":\""),
				 count_item, &seen),
		LIST_OK);
	assert_int_equal(
		list_reader_feed(&reader, (struct str){big, len}, count_item, &seen), LIST_OK);
	assert_int_equal(
		list_reader_feed(&reader, STR("\"},{\"c\":2}]}"), count_item, &seen), LIST_OK);
	assert_int_equal(list_reader_end(&reader, &frame), LIST_OK);
	assert_int_equal(seen.whole, 2);
	assert_int_equal(seen.cut, 1);
	free(big);
	list_reader_fini(&reader);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(takes_bodies_apart_however_they_are_split),
		cmocka_unit_test(tells_a_body_over_its_limit),
		cmocka_unit_test(cuts_an_item_over_its_limit_and_no_other),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
