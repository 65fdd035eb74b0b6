// SPDX-License-Identifier: Apache-2.0
/* Requests side by side: reuse of connections, their number, and what callbacks may do. */
#include "http_world.h"

#include "common/json.h"
#include "common/xalloc.h"

static struct answer got;
static struct answer other;
static struct answer third;

/* ---- connections ---- */

static int connection_of(const struct http_call *call)
{
	int64_t id = 0;
	run(call);
	assert_string_equal(got.error, "");
	struct json *document = json_parse(text_of(&got), NULL, NULL);
	assert_non_null(document);
	assert_true(json_get_int(document, "connection", 1, 1 << 30, 0, &id));
	json_free(document);
	return (int)id;
}

static int connection(int port, const struct http_peer *peer)
{
	struct http_call call = call_of(&got, port, "/echo");
	call.peer = peer;
	return connection_of(&call);
}

static void uses_connections_again(void **state)
{
	(void)state;
	struct http_peer peer = {.ca_file = path_of("ca.crt")};
	for (int port = PORT_HTTP; port <= PORT_HTTPS; port++) {
		world_replace_http(20);
		int first = connection(port, &peer);
		assert_int_equal(connection(port, &peer), first);
		CALL(http_drop_idle(world.http));
		int second = connection(port, &peer);
		assert_int_not_equal(second, first);
		assert_int_equal(connection(port, &peer), second);
	}
	http_peer_fini(&peer);
}

/* What runs goes on, and what it ran on is not used again. */
static void drops_connections_that_are_busy_later(void **state)
{
	(void)state;
	world_replace_http(20);
	int first = connection(PORT_HTTP, NULL);
	struct http_call call = call_of(&other, PORT_HTTP, "/hold?gate=busy");
	start(world.http, &call);
	ask("/peak?held=1");
	CALL(http_drop_idle(world.http));
	CALL(http_drop_idle(world.http));
	int second = connection(PORT_HTTP, NULL);
	assert_int_not_equal(second, first);
	ask("/release/busy");
	WAIT_FOR(other.done);
	assert_int_equal(other.outcome, HTTP_ANSWERED);
	assert_int_equal(connection(PORT_HTTP, NULL), second);
}

/* The next request meets a connection that the server gives up just then. */
static void meets_a_dying_connection(const char *method, bool only_once, const char *sent)
{
	static int round;
	world_replace_http(20);
	struct http_call call = call_of(&got, PORT_HTTP, "/last-answer");
	run(&call);
	assert_int_equal(got.outcome, HTTP_ANSWERED);
	call = call_of(&got, PORT_HTTP, "/echo/dying/%d", ++round);
	call.method = method;
	call.only_once = only_once;
	if (strcmp(method, "GET") != 0)
		call.body = STR("a body to be sent again");
	run(&call);
	assert_int_equal(got.outcome, HTTP_ANSWERED);
	assert_int_equal(got.status, 200);
	assert_string_equal(ask("/count?of=/echo/dying/%d", round), sent);
}

static void repeats_what_a_dying_connection_swallowed(void **state)
{
	(void)state;
	meets_a_dying_connection("GET", false, "2");
	/* libcurl does not ask whether a method may be repeated ... */
	meets_a_dying_connection("POST", false, "2");
	meets_a_dying_connection("PATCH", false, "2");
	/* ... but it repeats nothing on a connection of its own. */
	meets_a_dying_connection("POST", true, "1");
	struct http_call call = call_of(&got, PORT_HTTP, "/nothing");
	call.method = "POST";
	call.only_once = true;
	run(&call);
	assert_int_equal(got.outcome, HTTP_E_CUT);
	assert_string_equal(ask("/count?of=/nothing"), "1");
}

static void keeps_to_the_number_of_connections(void **state)
{
	enum { REQUESTS = 40, CONNECTIONS = 4 };
	(void)state;
	world_replace_http(CONNECTIONS);
	struct answer *answers = xcalloc(REQUESTS, sizeof(*answers));
	for (int i = 0; i < REQUESTS; i++) {
		struct http_call call = call_of(&answers[i], PORT_HTTP, "/hold?gate=many");
		start(world.http, &call);
	}
	ask("/peak?held=%d", CONNECTIONS);
	run_for(0.1);
	ask("/release/many");
	for (int i = 0; i < REQUESTS; i++) {
		WAIT_FOR(answers[i].done);
		assert_int_equal(answers[i].outcome, HTTP_ANSWERED);
		answer_fini(&answers[i]);
	}
	assert_string_equal(ask("/peak?held=0"), "4");
	free(answers);
}

static void keeps_watches_apart(void **state)
{
	(void)state;
	world_replace_http(20);
	struct http_call call = stream_of(&got, PORT_HTTP, "/stream?gate=apart");
	start(world.http, &call);
	call = stream_of(&other, PORT_HTTP, "/stream?gate=apart");
	start(world.http, &call);
	call = call_of(&third, PORT_HTTP, "/hello");
	run(&call);
	assert_int_equal(third.outcome, HTTP_ANSWERED);
	WAIT_FOR(got.pieces == 1 && other.pieces == 1);
	cancel(&got);
	ask("/release/apart");
	WAIT_FOR(buf_len(&other.text) == 13);
	cancel(&other);
}

/* ---- what callbacks may do ---- */

static int cancel_data(struct answer *answer)
{
	cancel(answer);
	return 0;
}

static void cancel_head(struct answer *answer)
{
	cancel(answer);
}

static int cancel_other(struct answer *answer)
{
	(void)answer;
	if (other.request != NULL)
		cancel(&other);
	return 0;
}

static void cancel_self_and_other(struct answer *answer)
{
	cancel(answer);
	cancel_other(answer);
}

static void is_silent_once_cancelled(void **state)
{
	(void)state;
	world_replace_http(20);
	struct http_call call = call_of(&got, PORT_HTTP, "/hello");
	start(world.http, &call);
	cancel(&got);
	run_for(0.05);
	assert_false(got.done);

	call = call_of(&got, PORT_HTTP, "/silent");
	start(world.http, &call);
	run_for(0.05);
	cancel(&got);

	call = call_of(&got, PORT_HTTP, "/hello");
	got.on_head = cancel_head;
	start(world.http, &call);
	WAIT_FOR(got.heads == 1);
	run_for(0.05);
	assert_false(got.done);

	call = stream_of(&got, PORT_HTTP, "/flood");
	got.on_data = cancel_data;
	start(world.http, &call);
	WAIT_FOR(got.pieces == 1);
	run_for(0.05);
	assert_false(got.done);
	assert_int_equal(got.pieces, 1);
}

static void cancels_others_and_itself(void **state)
{
	(void)state;
	struct http_call call = stream_of(&other, PORT_HTTP, "/flood");
	start(world.http, &call);
	call = stream_of(&got, PORT_HTTP, "/flood");
	got.on_data = cancel_other;
	start(world.http, &call);
	WAIT_FOR(got.pieces > 10 && other.request == NULL);
	unsigned pieces = other.pieces;
	run_for(0.05);
	assert_int_equal(other.pieces, pieces);
	cancel(&got);

	call = stream_of(&other, PORT_HTTP, "/flood");
	start(world.http, &call);
	call = call_of(&got, PORT_HTTP, "/hello");
	got.on_done = cancel_self_and_other;
	run(&call);
	assert_null(other.request);

	/* Both are answered in one turn of the loop at best. */
	call = call_of(&other, PORT_HTTP, "/hello");
	start(world.http, &call);
	call = call_of(&got, PORT_HTTP, "/hello");
	got.on_done = cancel_self_and_other;
	run(&call);
	run_for(0.05);
}

static void start_third(struct answer *answer)
{
	static struct http_call call;
	(void)answer;
	call = call_of(&third, PORT_HTTP, "/hello");
	start(world.http, &call);
}

static int start_third_once(struct answer *answer)
{
	if (answer->pieces == 1)
		start_third(answer);
	return 0;
}

static void starts_others_anywhere(void **state)
{
	(void)state;
	struct http_call call = stream_of(&got, PORT_HTTP, "/pieces/100");
	got.on_data = start_third_once;
	run(&call);
	WAIT_FOR(third.done);
	assert_int_equal(third.outcome, HTTP_ANSWERED);
	call = call_of(&got, PORT_HTTP, "/hello");
	got.on_head = start_third;
	run(&call);
	WAIT_FOR(third.done);
	call = call_of(&got, PORT_HTTP, "/hello");
	got.on_done = start_third;
	run(&call);
	WAIT_FOR(third.done);
	assert_int_equal(third.outcome, HTTP_ANSWERED);
}

static unsigned restarts;

static void restart(struct answer *answer)
{
	static struct http_call call;
	restarts++;
	call = call_of(answer, PORT_HTTP, "/");
	call.url = "no url";
	answer->on_done = restart;
	start(world.http, &call);
	/* on_done() of the record says afterwards that it has none; it has. */
	third.request = answer->request;
}

/* An owner without patience must not keep the loop from everybody else. */
static void failing_at_once_leaves_room_for_others(void **state)
{
	(void)state;
	struct http_call call = call_of(&other, PORT_HTTP, "/");
	call.url = "no url";
	other.on_done = restart;
	start(world.http, &call);
	call = call_of(&got, PORT_HTTP, "/hello");
	run(&call);
	assert_int_equal(got.outcome, HTTP_ANSWERED);
	assert_true(restarts > 0);
	CALL(http_cancel(third.request));
	third.request = NULL;
}

static int free_all(struct answer *answer)
{
	(void)answer;
	if (world.http != NULL)
		CALL(http_free(world.http));
	world.http = NULL;
	return 0;
}

static void free_all_head(struct answer *answer)
{
	free_all(answer);
}

static void may_be_freed_while_requests_run(void **state)
{
	(void)state;
	for (int round = 0; round < 5; round++) {
		if (world.http != NULL)
			CALL(http_free(world.http));
		world.http = http_new(world.loop, "test/1", 20);
		connection(PORT_HTTP, NULL);
		struct http_call call = stream_of(&other, PORT_HTTP, "/flood");
		start(world.http, &call);
		call = call_of(&third, PORT_HTTP, "/silent");
		start(world.http, &call);
		/* The last one in the middle of an answer. */
		call = round == 4 ? stream_of(&got, PORT_HTTP, "/stream?gate=never")
				  : stream_of(&got, PORT_HTTP, "/pieces/10");
		got.on_head = round == 0 ? free_all_head : NULL;
		got.on_data = round == 1 ? free_all : NULL;
		got.on_done = round == 2 ? free_all_head : NULL;
		start(world.http, &call);
		if (round == 3)
			free_all(NULL);
		else
			WAIT_FOR(round == 4 ? got.pieces == 1 : world.http == NULL);
		if (round == 4)
			free_all(NULL);
		unsigned pieces = other.pieces;
		run_for(0.05);
		assert_int_equal(other.pieces, pieces);
		assert_false(other.done || third.done);
	}
	world.http = http_new(world.loop, "test/1", 20);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(uses_connections_again),
		cmocka_unit_test(drops_connections_that_are_busy_later),
		cmocka_unit_test(repeats_what_a_dying_connection_swallowed),
		cmocka_unit_test(keeps_to_the_number_of_connections),
		cmocka_unit_test(keeps_watches_apart),
		cmocka_unit_test(is_silent_once_cancelled),
		cmocka_unit_test(cancels_others_and_itself),
		cmocka_unit_test(starts_others_anywhere),
		cmocka_unit_test(failing_at_once_leaves_room_for_others),
		cmocka_unit_test(may_be_freed_while_requests_run),
	};
	int failed = cmocka_run_group_tests(tests, world_start, world_stop);
	answer_fini(&got);
	answer_fini(&other);
	answer_fini(&third);
	return failed;
}
