// SPDX-License-Identifier: Apache-2.0
#include "common/ws.h"

#include "http_world.h"

#include "common/json.h"
#include "common/xalloc.h"

#include <stdio.h>

/* What a WebSocket told. */
static struct talk {
	char url[512];
	struct ws *ws;
	bool open;
	unsigned texts;
	struct buf text; /* the newest */
	bool closed;
	long http_status;
	char reason[256];
	void (*on_open)(void);
	void (*on_text)(void);
	void (*on_closed)(void);
} talk;

static void on_open(void *ctx)
{
	assert_ptr_equal(ctx, &talk);
	assert_false(world.in_call || talk.open || talk.closed);
	talk.open = true;
	if (talk.on_open != NULL)
		talk.on_open();
}

static void on_text(void *ctx, struct str message)
{
	assert_ptr_equal(ctx, &talk);
	assert_true(talk.open);
	assert_false(world.in_call || talk.closed);
	buf_clear(&talk.text);
	assert_int_equal(buf_append_str(&talk.text, message), 0);
	talk.texts++;
	if (talk.on_text != NULL)
		talk.on_text();
}

static void on_closed(void *ctx, long http_status, const char *reason)
{
	assert_ptr_equal(ctx, &talk);
	assert_false(world.in_call || talk.closed);
	talk.closed = true;
	talk.http_status = http_status;
	snprintf(talk.reason, sizeof(talk.reason), "%s", reason);
	if (talk.on_closed != NULL)
		talk.on_closed();
}

static struct ws_call call_ws(int port, const char *path)
{
	static const struct http_peer insecure = {.insecure = true};
	buf_fini(&talk.text);
	talk = (struct talk){0};
	buf_init(&talk.text, 1 << 22);
	snprintf(talk.url, sizeof(talk.url), "%s://127.0.0.1:%d/ws/%s",
		port == PORT_HTTP ? "ws" : "wss", world.ports[port], path);
	return (struct ws_call){.loop = world.loop,
		.url = talk.url,
		.user_agent = "test/1",
		.peer = &insecure,
		.message_max = 100 * 1000,
		.connect_timeout_s = 10,
		.ping_after_s = 10,
		.dead_after_s = 20,
		.on_open = on_open,
		.on_text = on_text,
		.on_closed = on_closed,
		.ctx = &talk};
}

static void open_ws(const struct ws_call *call)
{
	CALL(talk.ws = ws_open(call));
}

static void free_ws(void)
{
	CALL(ws_free(talk.ws));
	talk.ws = NULL;
}

static void open_path(int port, const char *path)
{
	struct ws_call call = call_ws(port, path);
	open_ws(&call);
}

static void assert_text(const char *want)
{
	if (!str_eq_c(buf_str(&talk.text), want))
		fail_msg("\"%.*s\", not \"%s\"", STR_FMT(buf_str(&talk.text)), want);
}

/* What the server heard from the client of that name at the end. */
static void assert_heard(const char *name, const char *want)
{
	const char *got = ask("/heard/%s", name);
	for (int tries = 0; got[0] == '\0' && tries < 500; tries++) {
		run_for(0.01);
		got = ask("/heard/%s", name);
	}
	assert_string_equal(got, want);
}

static void takes_texts_however_they_are_cut(void **state)
{
	(void)state;
	static const struct {
		const char *path;
		unsigned texts;
		const char *last;
	} rows[] = {
		{"hello", 1, "hello"},
		{"glued", 2, "second"},
		{"binary", 1, "after"},
		{"fragments", 2, "10 now"},
		{"long/99999", 2, "after"},
		{"long/65535", 2, "after"},
		{"long/126", 2, "after"},
		{"long/0", 2, "after"},
	};
	for (int port = PORT_HTTP; port <= PORT_HTTPS; port++) {
		for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
			open_path(port, rows[i].path);
			WAIT_FOR(talk.closed || talk.texts == rows[i].texts);
			assert_string_equal(talk.reason, "");
			assert_text(rows[i].last);
			free_ws();
		}
	}
	open_path(PORT_HTTP, "bytewise");
	WAIT_FOR(talk.texts == 2);
	assert_int_equal(buf_len(&talk.text), 200);
	free_ws();
}

static void joins_fragments(void)
{
	if (talk.texts == 1)
		assert_text("fragmented \xc3\xa4");
}

static void puts_messages_together(void **state)
{
	(void)state;
	struct ws_call call = call_ws(PORT_HTTP, "fragments");
	talk.on_text = joins_fragments;
	open_ws(&call);
	WAIT_FOR(talk.texts == 2);
	free_ws();
	open_path(PORT_HTTP, "ones/50000");
	WAIT_FOR(talk.texts == 1);
	assert_int_equal(buf_len(&talk.text), 50000);
	free_ws();
}

static void bounds_messages(void **state)
{
	(void)state;
	static const struct {
		const char *path;
		const char *name; /* heard of us, when the frame alone said enough */
	} rows[] = {
		{"long/100001?name=long", "long"},
		{"ones/100001", NULL},
		/* 2^62 bytes are announced, and the first one sent. */
		{"raw/817f400000000000000061?name=huge", "huge"},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		open_path(PORT_HTTP, rows[i].path);
		WAIT_FOR(talk.closed);
		assert_string_equal(talk.reason, "a message is too long");
		assert_int_equal(talk.texts, 0);
		free_ws();
		if (rows[i].name != NULL)
			assert_heard(rows[i].name, "1009");
	}
	open_path(PORT_HTTP, "long/100000");
	WAIT_FOR(talk.texts == 2);
	free_ws();
}

static void refuses_broken_frames(void **state)
{
	(void)state;
	static const struct {
		const char *frames;
		const char *reason;
	} rows[] = {
		{"81850000000068656c6c6f", "a frame is malformed"}, /* masked */
		{"c10568656c6c6f", "a frame is malformed"},         /* a reserved bit */
		{"830568656c6c6f", "a frame is malformed"},         /* a reserved opcode */
		{"800568656c6c6f", "a frame is malformed"},         /* goes on with nothing */
		{"01016881016d", "a frame is malformed"},           /* begins within another */
		{"0900", "a frame is malformed"},                   /* half a ping */
		{"897e007e", "a frame is malformed"},               /* a ping of 126 bytes */
		{"8102c328", "a message is no UTF-8"},              /* broken UTF-8 */
		{"8101c3", "a message is no UTF-8"},                /* unfinished UTF-8 */
		{"880203e7", "a frame is malformed"},               /* code 999 */
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char path[128];
		snprintf(path, sizeof(path), "raw/%s", rows[i].frames);
		open_path(PORT_HTTP, path);
		WAIT_FOR(talk.closed);
		if (!talk.open || talk.texts != 0 || strcmp(talk.reason, rows[i].reason) != 0)
			fail_msg("%s: %s", rows[i].frames, talk.reason);
		free_ws();
	}
}

static void tells_how_the_server_closed(void **state)
{
	(void)state;
	static const struct {
		const char *path;
		const char *reason;
		const char *name;
		const char *heard;
	} rows[] = {
		{"close/1000?name=c1", "the server closed the connection (1000)", "c1", "1000"},
		{"close/4001?name=c2", "the server closed the connection (4001)", "c2", "4001"},
		{"close/0?name=c3", "the server closed the connection (1005)", "c3", "cut"},
		{"cut", "the connection was cut", NULL, NULL},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		open_path(PORT_HTTP, rows[i].path);
		WAIT_FOR(talk.closed);
		assert_true(talk.open);
		assert_string_equal(talk.reason, rows[i].reason);
		assert_int_equal(talk.http_status, 0);
		free_ws();
		if (rows[i].name != NULL)
			assert_heard(rows[i].name, rows[i].heard);
	}
}

static void tells_why_it_was_not_upgraded(void **state)
{
	(void)state;
	static const char wrong_key[] = "the answer to the upgrade has the wrong key";
	static const char else_where[] = "the answer to the upgrade upgrades to something else";
	static const char cut[] = "the connection was cut before the upgrade was answered";
	static const struct {
		const char *path;
		long http_status;
		const char *reason;
	} rows[] = {
		{"refused/401", 401, "the server refused the upgrade"},
		{"refused/404", 404, "the server refused the upgrade"},
		{"refused/200", 200, "the server refused the upgrade"},
		{"refused/302", 302, "the server refused the upgrade"},
		{"changed/Sec-WebSocket-Accept/c29tZXRoaW5nIGVsc2UgYWx0b2c=", 0, wrong_key},
		{"changed/Sec-WebSocket-Accept", 0, wrong_key},
		{"changed/Upgrade", 0, else_where},
		{"changed/Upgrade/h2c", 0, else_where},
		{"changed/Connection/close", 0, else_where},
		{"changed/Connection/upgraded", 0, else_where},
		{"changed/Sec-WebSocket-Extensions/permessage-deflate", 0,
			"the answer to the upgrade has an extension that was not offered"},
		{"hello?status-line=HTTP/1.0+101+OK", 0,
			"the answer to the upgrade is no HTTP/1.1"},
		{"plain/SSH-2.0", 0, "the answer to the upgrade is no HTTP/1.1"},
		{"plain/HTTP", 0, "the answer to the upgrade is no HTTP/1.1"},
		{"plain/HTTP%2F1.1_999_x", 0, "the answer to the upgrade is no HTTP/1.1"},
		{"nothing", 0, cut},
		{"long-head", 0, "the answer to the upgrade is too long"},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		open_path(i % 2 == 0 ? PORT_HTTP : PORT_HTTPS, rows[i].path);
		WAIT_FOR(talk.closed);
		if (talk.open || strcmp(talk.reason, rows[i].reason) != 0 ||
			talk.http_status != rows[i].http_status)
			fail_msg("%s: %ld %s", rows[i].path, talk.http_status, talk.reason);
		free_ws();
	}
}

static void assert_never_opens(const struct ws_call *call)
{
	open_ws(call);
	WAIT_FOR(talk.closed);
	assert_false(talk.open);
	assert_int_equal(talk.http_status, 0);
	assert_true(talk.reason[0] != '\0');
	free_ws();
}

static void tells_why_it_did_not_connect(void **state)
{
	(void)state;
	static const char *const broken_headers[] = {"X: y\r\nZ: z", NULL};
	struct ws_call call = call_ws(PORT_HTTP, "hello");
	call.url = "ftp://127.0.0.1/";
	assert_never_opens(&call);
	call = call_ws(PORT_HTTP, "hello");
	call.url = "no url";
	assert_never_opens(&call);
	call = call_ws(PORT_HTTP, "hello");
	call.headers = broken_headers;
	assert_never_opens(&call);
	/* Verified, against an authority that it does not have. */
	call = call_ws(PORT_HTTPS, "hello");
	call.peer = NULL;
	assert_never_opens(&call);
	call = call_ws(PORT_HTTP, "never-answers");
	call.connect_timeout_s = 0.2;
	assert_never_opens(&call);
	assert_string_equal(talk.reason, "the upgrade was not answered in time");
}

static void asks_a_silent_server(void **state)
{
	(void)state;
	struct ws_call call = call_ws(PORT_HTTP, "pinged/3");
	call.ping_after_s = 0.05;
	call.dead_after_s = 5;
	open_ws(&call);
	WAIT_FOR(talk.texts == 1 || talk.closed);
	assert_string_equal(talk.reason, "");
	assert_text("enough");
	free_ws();
	call = call_ws(PORT_HTTP, "mute");
	call.ping_after_s = 0.05;
	call.dead_after_s = 0.3;
	open_ws(&call);
	WAIT_FOR(talk.closed);
	assert_true(talk.open);
	assert_string_equal(talk.reason, "the server is silent");
	free_ws();
}

static void gives_up_on_a_server_that_only_asks(void **state)
{
	(void)state;
	open_path(PORT_HTTP, "pings");
	WAIT_FOR(talk.closed);
	assert_string_equal(talk.reason, "the server asks and does not read the answers");
	free_ws();
}

static void sends_headers_and_credentials(void **state)
{
	(void)state;
	static const char *const headers[] = {"X-One: 1", "X-Two: 2", NULL};
	struct secret password = {0};
	struct http_peer peer = {
		.ca_file = path_of("ca.crt"), .server_name = xstrdup("api.example.test")};
	assert_int_equal(secret_set(&password, STR("word")), 0);
	for (int port = PORT_HTTP; port <= PORT_HTTPS; port++) {
		char want[512];
		struct ws_call call = call_ws(port, "headers?a=b");
		call.headers = headers;
		call.username = "user";
		call.password = &password;
		call.peer = &peer;
		open_ws(&call);
		WAIT_FOR(talk.texts == 1 || talk.closed);
		snprintf(want, sizeof(want), "[\"Host\", \"127.0.0.1:%d\"]", world.ports[port]);
		struct str text = buf_str(&talk.text);
		assert_non_null(memmem(text.p, text.len, want, strlen(want)));
		static const char *const wants[] = {"[\"X-One\", \"1\"]", "[\"X-Two\", \"2\"]",
			"[\"Authorization\", \"Basic dXNlcjp3b3Jk\"]",
			"[\"User-Agent\", \"test/1\"]", "[\"Sec-WebSocket-Version\", \"13\"]"};
		for (size_t i = 0; i < sizeof(wants) / sizeof(wants[0]); i++)
			assert_non_null(memmem(text.p, text.len, wants[i], strlen(wants[i])));
		free_ws();
	}
	http_peer_fini(&peer);
	secret_fini(&password);
}

static void goes_through_a_proxy(void **state)
{
	(void)state;
	struct http_peer peer = {.insecure = true};
	peer.proxy_url = xasprintf("http://127.0.0.1:%d", world.ports[PORT_HTTP]);
	for (int port = PORT_HTTP; port <= PORT_HTTPS; port++) {
		struct ws_call call = call_ws(port, "hello");
		call.peer = &peer;
		open_ws(&call);
		WAIT_FOR(talk.texts == 1 || talk.closed);
		assert_text("hello");
		free_ws();
	}
	http_peer_fini(&peer);
}

static void leaves_room_for_others(void **state)
{
	(void)state;
	struct answer answer = {0};
	open_path(PORT_HTTP, "flood");
	WAIT_FOR(talk.texts > 1000);
	struct http_call call = call_of(&answer, PORT_HTTP, "/hello");
	run(&call);
	assert_int_equal(answer.outcome, HTTP_ANSWERED);
	assert_false(talk.closed);
	free_ws();
	answer_fini(&answer);
}

static void may_be_freed_anywhere(void **state)
{
	(void)state;
	struct ws_call call = call_ws(PORT_HTTP, "flood");
	talk.on_text = free_ws;
	open_ws(&call);
	WAIT_FOR(talk.texts == 1);
	run_for(0.05);
	assert_int_equal(talk.texts, 1);
	call = call_ws(PORT_HTTP, "glued");
	talk.on_open = free_ws;
	open_ws(&call);
	WAIT_FOR(talk.open);
	run_for(0.05);
	assert_int_equal(talk.texts, 0);
	call = call_ws(PORT_HTTP, "refused/401");
	talk.on_closed = free_ws;
	open_ws(&call);
	WAIT_FOR(talk.closed);
	assert_null(talk.ws);
	call = call_ws(PORT_HTTP, "hello");
	open_ws(&call);
	free_ws();
	call = call_ws(PORT_HTTPS, "never-answers");
	open_ws(&call);
	run_for(0.1);
	free_ws();
	run_for(0.05);
	assert_false(talk.open || talk.closed);
	ws_free(NULL);
}

static void says_good_bye(void **state)
{
	(void)state;
	for (int port = PORT_HTTP; port <= PORT_HTTPS; port++) {
		const char *name = port == PORT_HTTP ? "bye" : "bye-tls";
		char path[64];
		snprintf(path, sizeof(path), "hello?name=%s", name);
		open_path(port, path);
		WAIT_FOR(talk.texts == 1);
		free_ws();
		assert_heard(name, "1001");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(takes_texts_however_they_are_cut),
		cmocka_unit_test(puts_messages_together),
		cmocka_unit_test(bounds_messages),
		cmocka_unit_test(refuses_broken_frames),
		cmocka_unit_test(tells_how_the_server_closed),
		cmocka_unit_test(tells_why_it_was_not_upgraded),
		cmocka_unit_test(tells_why_it_did_not_connect),
		cmocka_unit_test(asks_a_silent_server),
		cmocka_unit_test(gives_up_on_a_server_that_only_asks),
		cmocka_unit_test(sends_headers_and_credentials),
		cmocka_unit_test(goes_through_a_proxy),
		cmocka_unit_test(leaves_room_for_others),
		cmocka_unit_test(may_be_freed_anywhere),
		cmocka_unit_test(says_good_bye),
	};
	int failed = cmocka_run_group_tests(tests, world_start, world_stop);
	buf_fini(&talk.text);
	return failed;
}
