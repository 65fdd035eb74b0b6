// SPDX-License-Identifier: Apache-2.0
#include "provider-proxy/supervisor.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

static void the_last_lines_say_why_it_died(void **state)
{
	static const char end[] =
		"[ALERT] (1) : Current worker (2) exited with code 139 (Segmentation fault)\t"
		"[WARNING] (1) : All workers exited. Exiting... (139)\t";
	struct supervisor_words words = {0};
	char told[2 * SUPERVISOR_WORDS_LEN_MAX] = "";
	(void)state;
	for (size_t i = 0; i < 20; i++)
		strcat(told, "[WARNING] (1) : Server s000001/a is DOWN.\t");
	strcat(told, end);
	supervisor_keep_words(&words, str_from(told));
	const char *last = words.text + words.last;
	assert_int_equal(strlen(words.text), strlen(told));
	assert_true(strlen(last) <= SUPERVISOR_LAST_LEN_MAX);
	assert_int_equal(strncmp(last, "[WARNING] (1) : Server", 22), 0);
	assert_non_null(strstr(last, "(Segmentation fault) [WARNING] (1) : All workers exited."));
	assert_null(strchr(words.text, '\t'));
	/* Nothing is left of what was told before. */
	supervisor_keep_words(&words, STR_NONE);
	assert_string_equal(words.text + words.last, "");
	memset(told, 'x', sizeof(told));
	supervisor_keep_words(&words, (struct str){told, sizeof(told)});
	assert_int_equal(strlen(words.text), SUPERVISOR_WORDS_LEN_MAX);
	assert_int_equal(strlen(words.text + words.last), SUPERVISOR_LAST_LEN_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_last_lines_say_why_it_died),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
