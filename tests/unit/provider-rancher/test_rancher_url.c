// SPDX-License-Identifier: Apache-2.0
#include "provider-rancher/rancher_url.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

static void every_form_of_the_url_becomes_v2_beta(void **state)
{
	static const struct {
		const char *in;
		const char *want; /* NULL: refused */
	} rows[] = {
		{"http://rancher:8080", "http://rancher:8080/v2-beta"},
		{"http://rancher:8080/", "http://rancher:8080/v2-beta"},
		{"http://rancher:8080/v1", "http://rancher:8080/v2-beta"},
		{"http://rancher:8080/v1/", "http://rancher:8080/v2-beta"},
		{"http://rancher:8080/v1/projects/1a5", "http://rancher:8080/v2-beta/projects/1a5"},
		{"http://rancher:8080/v1/projects/1a5/schemas",
			"http://rancher:8080/v2-beta/projects/1a5"},
		{"http://rancher:8080/v2-beta", "http://rancher:8080/v2-beta"},
		{"https://rancher/v2-beta/projects/1a5/", "https://rancher/v2-beta/projects/1a5"},
		{"https://rancher/v2-beta/schemas", "https://rancher/v2-beta"},
		{"HTTPS://rancher/sub/v2-beta?x=1#y", "https://rancher/sub/v2-beta"},
		{"http://[::1]:8080/v1", "http://[::1]:8080/v2-beta"},
		{"http://rancher/v10", "http://rancher/v10"},
		{"rancher:8080/v1", NULL},
		{"ftp://rancher/v1", NULL},
		{"http://", NULL},
		{"http:///v1", NULL},
		{"http://key:secret@rancher/v1", NULL},
		{"http://ran cher/v1", NULL},
		{"http://rancher/v1\r\nX: y", NULL},
		{"", NULL},
	};
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const char *problem = "untouched";
		char *got = rancher_url_base(str_from(rows[i].in), &problem);
		if (rows[i].want == NULL) {
			assert_null(got);
			assert_non_null(problem);
		} else {
			assert_non_null(got);
			assert_string_equal(got, rows[i].want);
		}
		free(got);
	}
}

static void the_subscription_is_a_websocket_of_the_same_kind(void **state)
{
	(void)state;
	char *plain = rancher_url_subscribe("http://rancher:8080/v2-beta/projects/1a5");
	assert_string_equal(plain,
		"ws://rancher:8080/v2-beta/projects/1a5/subscribe?eventNames=resource.change");
	char *tls = rancher_url_subscribe("https://rancher/v2-beta");
	assert_string_equal(tls, "wss://rancher/v2-beta/subscribe?eventNames=resource.change");
	free(plain);
	free(tls);
}

static void the_next_page_is_asked_for_at_our_own_address(void **state)
{
	static const char page[] = "https://public/v2-beta/stacks?limit=2";
	static const struct {
		const char *next;
		const char *want;
	} rows[] = {
		{"http://inside:8080/v2-beta/projects/1a5/stacks?limit=2&marker=m2",
			"https://public/v2-beta/stacks?limit=2&marker=m2"},
		{"http://evil/?marker=m2#x", "https://public/v2-beta/stacks?marker=m2"},
		{"http://inside/stacks", NULL},
		{"http://inside/stacks?", NULL},
		{"http://inside/stacks?a=b c", NULL},
		{"", NULL},
	};
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char *got = rancher_url_next(page, str_from(rows[i].next));
		if (rows[i].want == NULL)
			assert_null(got);
		else
			assert_string_equal(got, rows[i].want);
		free(got);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_form_of_the_url_becomes_v2_beta),
		cmocka_unit_test(the_subscription_is_a_websocket_of_the_same_kind),
		cmocka_unit_test(the_next_page_is_asked_for_at_our_own_address),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
