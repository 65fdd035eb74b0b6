// SPDX-License-Identifier: Apache-2.0
/* Answers that take their time: streams, flow control, time-outs. */
#include "http_world.h"

#include "common/xalloc.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

static struct answer got;
static struct answer other;
static struct answer third;

static char *lines(int count)
{
	struct buf text;
	buf_init(&text, 1 << 20);
	for (int i = 0; i < count; i++)
		assert_int_equal(buf_printf(&text, "line %d\n", i), 0);
	char *copy = str_dup(buf_str(&text));
	buf_fini(&text);
	return copy;
}

/* ---- streams ---- */

static void hands_over_pieces_in_order(void **state)
{
	(void)state;
	char *want = lines(5000);
	struct http_call call = stream_of(&got, PORT_HTTP, "/pieces/5000");
	call.body_max = 10;
	run(&call);
	assert_int_equal(got.outcome, HTTP_ANSWERED);
	assert_true(got.pieces > 1);
	assert_true(str_eq_c(text_of(&got), want));
	/* Headers behind the body are none of the answer's. */
	assert_true(got.retry_after_s < 0);
	assert_int_equal(got.heads, 1);
	free(want);
}

static void hands_over_what_is_there_at_once(void **state)
{
	(void)state;
	struct http_call call = stream_of(&got, PORT_HTTP, "/stream?gate=at-once");
	start(world.http, &call);
	WAIT_FOR(buf_len(&got.text) == 6);
	ask("/release/at-once");
	WAIT_FOR(buf_len(&got.text) == 13);
	assert_true(str_eq_c(text_of(&got), "first\nsecond\n"));
	assert_false(got.done);
	cancel(&got);
}

static void collects_what_is_no_200(void **state)
{
	(void)state;
	struct http_call call = stream_of(&got, PORT_HTTP, "/status/410");
	run(&call);
	assert_int_equal(got.outcome, HTTP_ANSWERED);
	assert_int_equal(got.status, 410);
	assert_int_equal(got.pieces, 0);
	assert_true(str_eq_c(text_of(&got), "status 410"));
	call = stream_of(&got, PORT_HTTP, "/status/503");
	call.body_max = 9;
	run(&call);
	assert_int_equal(got.outcome, HTTP_E_TOO_LONG);
}

static void keeps_what_came_before_a_cut(void **state)
{
	(void)state;
	struct http_call call = stream_of(&got, PORT_HTTP, "/cut-chunks");
	run(&call);
	assert_int_equal(got.outcome, HTTP_E_CUT);
	assert_int_equal(got.status, 200);
	assert_true(str_starts_with(text_of(&got), STR("whole\n")));
}

static int refuse(struct answer *answer)
{
	return answer->pieces == 2 ? -EPROTO : 0;
}

static void ends_when_data_is_refused(void **state)
{
	(void)state;
	struct http_call call = stream_of(&got, PORT_HTTP, "/flood");
	got.on_data = refuse;
	run(&call);
	assert_int_equal(got.outcome, HTTP_E_REFUSED_DATA);
	assert_int_equal(got.pieces, 2);
}

/* ---- time ---- */

static void gives_up_in_time(void **state)
{
	(void)state;
	static const struct {
		const char *path;
		double timeout_s;
		double idle_timeout_s;
		long status;
	} rows[] = {
		{"/silent", 0.2, 0, 0},
		{"/silent", 0, 0.2, 0},
		{"/stall", 0.2, 0, 200},
		{"/stall", 0, 0.2, 200},
		{"/stall", 15, 0.2, 200},
		{"/drip/1000", 0.4, 0.3, 200},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct http_call call = call_of(&got, PORT_HTTP, "%s", rows[i].path);
		call.timeout_s = rows[i].timeout_s;
		call.idle_timeout_s = rows[i].idle_timeout_s;
		run(&call);
		assert_int_equal(got.outcome, HTTP_E_TIMEOUT);
		assert_int_equal(got.status, rows[i].status);
	}
	/* Slow is not idle. */
	struct http_call call = call_of(&got, PORT_HTTP, "/drip/12");
	call.idle_timeout_s = 0.4;
	run(&call);
	assert_int_equal(got.outcome, HTTP_ANSWERED);
	assert_true(str_eq_c(text_of(&got), "............"));
}

/* A server that takes the connection and says nothing to our TLS greeting. */
static void gives_up_connecting(void **state)
{
	(void)state;
	struct sockaddr_in address = {
		.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(address);
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&address, len), 0);
	assert_int_equal(listen(fd, 1), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &len), 0);
	struct http_call call = call_of(&got, PORT_HTTP, "/");
	snprintf(got.url, sizeof(got.url), "https://127.0.0.1:%d/", ntohs(address.sin_port));
	call.connect_timeout_s = 0.2;
	call.timeout_s = 0;
	run(&call);
	assert_int_equal(got.outcome, HTTP_E_TIMEOUT);
	assert_int_equal(got.status, 0);
	close(fd);
}

static void waiting_for_a_connection_is_not_idleness(void **state)
{
	(void)state;
	world_replace_http(1);
	struct http_call call = call_of(&got, PORT_HTTP, "/hold?gate=waiting");
	start(world.http, &call);
	ask("/peak?held=1");
	call = call_of(&other, PORT_HTTP, "/hello");
	call.idle_timeout_s = 0.1;
	call.connect_timeout_s = 0.1;
	call.timeout_s = 0;
	start(world.http, &call);
	call = call_of(&third, PORT_HTTP, "/hello");
	call.timeout_s = 0.2;
	run(&call);
	/* Only the time of the whole counts there. */
	assert_int_equal(third.outcome, HTTP_E_TIMEOUT);
	run_for(0.2);
	assert_false(other.done);
	ask("/release/waiting");
	WAIT_FOR(got.done && other.done);
	assert_int_equal(got.outcome, HTTP_ANSWERED);
	assert_int_equal(other.outcome, HTTP_ANSWERED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hands_over_pieces_in_order),
		cmocka_unit_test(hands_over_what_is_there_at_once),
		cmocka_unit_test(collects_what_is_no_200),
		cmocka_unit_test(keeps_what_came_before_a_cut),
		cmocka_unit_test(ends_when_data_is_refused),
		cmocka_unit_test(gives_up_in_time),
		cmocka_unit_test(gives_up_connecting),
		cmocka_unit_test(waiting_for_a_connection_is_not_idleness),
	};
	int failed = cmocka_run_group_tests(tests, world_start, world_stop);
	answer_fini(&got);
	answer_fini(&other);
	answer_fini(&third);
	return failed;
}
