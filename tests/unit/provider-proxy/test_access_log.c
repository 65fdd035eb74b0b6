// SPDX-License-Identifier: Apache-2.0
/* What --access-log-to may say. */
#include "provider-proxy/access_log.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

struct row {
	const char *in;
	const char *server; /* NULL: it is wrong; empty: none */
};

static const struct row rows[] = {
	{"stdout", ""},
	{"/var/log/access.log", ""},
	{"syslog:192.0.2.1", "192.0.2.1:514"},
	{"syslog:192.0.2.1:5140", "192.0.2.1:5140"},
	{"syslog:2001:db8::1", "[2001:db8::1]:514"},
	{"syslog:[2001:db8::1]:1514", "[2001:db8::1]:1514"},
	{"syslog:/dev/log", "/dev/log"},
	{"", NULL},
	{"/", NULL},
	{"stderr", NULL},
	{"access.log", NULL},
	{"syslog:", NULL},
	{"syslog:/", NULL},
	{"syslog:/dev/l og", NULL},
	{"syslog:/dev/log;", NULL},
	{"syslog:logs.example", NULL},
	{"syslog:192.0.2.1:0", NULL},
	{"syslog:192.0.2.1:65536", NULL},
	{"syslog:192.0.2.1:514 tag", NULL},
	{"syslog:2001:db8::1:51400", NULL},
	{"syslog:[2001:db8::1]", NULL},
};

static void addresses(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char *problem = access_log_problem(rows[i].in);
		if ((problem == NULL) != (rows[i].server != NULL))
			fail_msg("%s: %s", rows[i].in, problem != NULL ? problem : "is taken");
		free(problem);
		char *server = access_log_server(ACCESS_LOG_JSON, rows[i].in);
		const char *wanted = rows[i].server != NULL ? rows[i].server : "";
		assert_string_equal(server != NULL ? server : "", wanted);
		free(server);
		assert_null(access_log_server(ACCESS_LOG_OFF, rows[i].in));
	}
	assert_string_equal(access_log_file(ACCESS_LOG_TEXT, "/var/log/x"), "/var/log/x");
	assert_null(access_log_file(ACCESS_LOG_OFF, "/var/log/x"));
	assert_null(access_log_file(ACCESS_LOG_TEXT, "stdout"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(addresses),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
