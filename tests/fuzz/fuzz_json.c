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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	const char *problem = NULL;
	size_t at = 0;
	struct json *document = json_parse((struct str){(const char *)data, len}, &problem, &at);
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
