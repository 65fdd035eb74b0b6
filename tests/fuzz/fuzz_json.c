// SPDX-License-Identifier: Apache-2.0
/* Any text: what is read must print, and be read again as the same document. */
#include "common/json.h"
#include "common/must.h"

#include <stddef.h>
#include <stdint.h>

enum { PRINTED_MAX = 64 * 1024 * 1024 };

static void walk(const struct json *value)
{
	int64_t number = 0;
	for (const struct json *child = json_first(value); child != NULL;
		child = json_next(child)) {
		must(!json_is_object(value) || json_get(value, json_name(child).p) == child);
		must(str_is_utf8(json_text(child)));
		if (json_whole_number(child, -JSON_INT_MAX, JSON_INT_MAX, &number))
			must((double)number == json_number(child));
		walk(child);
	}
}

/* Numbers are printed with so many digits that different ones look different. */
static void assert_prints(const struct json *document, struct str want)
{
	struct buf printed;
	buf_init(&printed, PRINTED_MAX);
	must(document != NULL && json_print(document, &printed) == 0);
	must(str_eq(buf_str(&printed), want));
	buf_fini(&printed);
}

/* What can be read as a whole can be read in part, and never the other way round but for what is left out. */
static void read_in_part(struct str text, size_t outer)
{
	static const struct json_unwanted nothing[] = {{{NULL}, NULL}};
	static const struct json_unwanted some[] = {
		{{"a"}, "b"}, {{"a", "b"}, NULL}, {{"c", "a", "b"}, NULL}, {{NULL}, NULL}};
	const char *problem = NULL;
	struct buf scratch;
	buf_init(&scratch, text.len);
	struct json *whole = json_parse(text, NULL, NULL);
	struct json *same = json_parse_wanted(text, nothing, outer, &scratch, &problem);
	struct json *part = json_parse_wanted(text, some, outer, &scratch, &problem);
	must((whole == NULL) == (same == NULL));
	must(whole == NULL || part != NULL);
	if (whole != NULL) {
		struct buf printed;
		buf_init(&printed, PRINTED_MAX);
		must(json_print(whole, &printed) == 0);
		assert_prints(same, buf_str(&printed));
		buf_fini(&printed);
	}
	must(part != NULL || problem != NULL);
	json_free(whole);
	json_free(same);
	json_free(part);
	buf_fini(&scratch);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	const char *problem = NULL;
	size_t at = 0;
	struct json *document = json_parse((struct str){(const char *)data, len}, &problem, &at);
	read_in_part((struct str){(const char *)data, len}, len % 2);
	if (document == NULL) {
		must(problem != NULL && at <= len);
		return 0;
	}
	struct buf printed;
	buf_init(&printed, PRINTED_MAX);
	walk(document);
	must(json_print(document, &printed) == 0);
	struct json *again = json_parse(buf_str(&printed), NULL, NULL);
	assert_prints(again, buf_str(&printed));
	json_free(again);
	json_free_wiped(document);
	buf_fini(&printed);
	return 0;
}
