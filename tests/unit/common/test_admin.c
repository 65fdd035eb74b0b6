// SPDX-License-Identifier: Apache-2.0
#include "common/admin_server.h"

#include "common/admin_http.h"
#include "common/xalloc.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

enum { PATIENCE_S = 30, CLIENTS_MAX = ADMIN_CONNECTIONS_MAX + 8 };

/* ---- heads ---- */

struct head_case {
	const char *text;
	int status; /* 0: good, -1: more is needed */
	const char *path;
	const char *query;
	const char *accept;
	bool keeps_alive;
};

static const struct head_case head_cases[] = {
	{"GET / HTTP/1.1\r\n\r\n", 0, "/", "", "", true},
	{"\r\nGET /a/b?x=1&y HTTP/1.1\r\nHost: h\r\n\r\n", 0, "/a/b", "x=1&y", "", true},
	{"HEAD /a HTTP/1.1\r\nConnection: close\r\n\r\n", 0, "/a", "", "", false},
	{"GET /a HTTP/1.0\r\n\r\n", 0, "/a", "", "", false},
	{"GET /a HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", 0, "/a", "", "", true},
	{"GET http://host:1/a?b HTTP/1.1\r\n\r\n", 0, "/a", "b", "", true},
	{"GET /a HTTP/1.1\r\naCCept: one\r\nX: y\r\nAccept: two\r\n\r\n", 0, "/a", "", "one,two",
		true},
	{"GET /a HTTP/1.1\r\nAccept-Language: de\r\nContent-Length: 0\r\n\r\n", 0, "/a", "", "",
		true},
	{"GET /a HTTP/1.1\r\nUpgrade: h2c\r\nConnection: Upgrade\r\n\r\n", 0, "/a", "", "", true},
	{"GET /a HTTP/1.1\r\n", -1},
	{"GET", -1},
	{"POST /a HTTP/1.1\r\n\r\n", 405},
	{"CONNECT host:1 HTTP/1.1\r\n\r\n", 405},
	{"GET /a HTTP/1.1\r\nContent-Length: 1\r\n\r\n", 413},
	{"GET /a HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n", 413},
	{"GET /a HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", 400},
	{"GET /a HTTP/1.1\r\nContent-Length: -1\r\n\r\n", 400},
	{"get /a HTTP/1.1\r\n\r\n", 400},
	{"GET a HTTP/1.1\r\n\r\n", 400},
	{"GET /a\x01 HTTP/1.1\r\n\r\n", 400},
	{"\x16\x03\x01\x02", 400},
	{"GET /a HTTP/1.1\r\nHost: a\r\nhost: b\r\n\r\n", 400},
	{"GET /a HTTP/1.1\r\nHost:\r\nHost: b\r\n\r\n", 400},
	{"GET /a HTTP/1.1\r\nSec-Fetch-Site: none\r\nSec-Fetch-Site: same-origin\r\n\r\n", 400},
	{"GET /a HTTP/1.1\r\nSec-Fetch-Site: cross-site-and-more\r\n\r\n", 400},
};

static void test_who_is_meant_and_who_asks(void **state)
{
	struct admin_head head;
	struct admin_request request;
	size_t used = 0;
	(void)state;
	admin_head_init(&head);
	assert_int_equal(admin_head_feed(&head,
				 STR("GET / HTTP/1.1\r\nHosts: no\r\nHOST: here:1\r\n"
				     "sec-fetch-site: same-origin\r\nHos: no\r\n\r\n"),
				 &used),
		ADMIN_HEAD_READY);
	admin_head_request(&head, &request);
	assert_true(str_eq_c(request.host, "here:1"));
	assert_true(str_eq_c(request.site, "same-origin"));
	admin_head_init(&head);
	assert_int_equal(
		admin_head_feed(&head, STR("GET / HTTP/1.1\r\n\r\n"), &used), ADMIN_HEAD_READY);
	admin_head_request(&head, &request);
	assert_int_equal(request.host.len + request.site.len, 0);
}

/* Feeds so many bytes at a time. */
static void check_head(const struct head_case *want, size_t step)
{
	struct admin_head head;
	struct admin_request request;
	struct str text = str_from(want->text);
	enum admin_head_outcome outcome = ADMIN_HEAD_PARTIAL;
	admin_head_init(&head);
	while (text.len != 0 && outcome == ADMIN_HEAD_PARTIAL) {
		size_t used = 0;
		outcome = admin_head_feed(
			&head, (struct str){text.p, text.len < step ? text.len : step}, &used);
		text = str_skip(text, used);
	}
	if (want->status != 0) {
		assert_int_equal(outcome, want->status < 0 ? ADMIN_HEAD_PARTIAL : ADMIN_HEAD_BAD);
		assert_int_equal(head.status, want->status < 0 ? 0 : want->status);
		return;
	}
	assert_int_equal(outcome, ADMIN_HEAD_READY);
	assert_int_equal(text.len, 0);
	admin_head_request(&head, &request);
	assert_true(str_eq_c(request.path, want->path));
	assert_true(str_eq_c(request.query, want->query));
	assert_true(str_eq_c(request.accept, want->accept));
	assert_int_equal(head.keeps_alive, want->keeps_alive);
}

static void test_heads(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(head_cases) / sizeof(head_cases[0]); i++) {
		check_head(&head_cases[i], SIZE_MAX);
		check_head(&head_cases[i], 1);
	}
}

/* Feeds `begin`, then `filler` until it is refused; returns the status. */
static int status_when_full(const char *begin, const char *filler, size_t *ret_len)
{
	struct admin_head head;
	size_t used = 0;
	admin_head_init(&head);
	enum admin_head_outcome outcome = admin_head_feed(&head, str_from(begin), &used);
	while (outcome == ADMIN_HEAD_PARTIAL)
		outcome = admin_head_feed(&head, str_from(filler), &used);
	assert_int_equal(outcome, ADMIN_HEAD_BAD);
	*ret_len = head.len;
	return head.status;
}

static void test_limits_of_heads(void **state)
{
	size_t len = 0;
	(void)state;
	assert_int_equal(status_when_full("GET /", "a", &len), 414);
	assert_true(len <= ADMIN_TARGET_LEN_MAX + 16);
	assert_int_equal(status_when_full("GET / HTTP/1.1\r\nA: b", "c", &len), 431);
	assert_int_equal(len, ADMIN_HEAD_LEN_MAX);
	assert_int_equal(status_when_full("GET / HTTP/1.1\r\n", "Accept: x\r\n", &len), 431);
	assert_int_equal(status_when_full("", "\r\n", &len), 431);
	assert_int_equal(status_when_full("GET / HTTP/1.1\r\nHost: b", "c", &len), 400);
}

static void test_queries(void **state)
{
	static const struct {
		const char *query;
		const char *name;
		const char *want; /* NULL: none */
	} cases[] = {
		{"a=1&b=2", "b", "2"},
		{"a=1&b=2", "c", NULL},
		{"", "a", NULL},
		{"&&a=x", "a", "x"},
		{"a", "a", ""},
		{"a=", "a", ""},
		{"ab=1&a=2", "a", "2"},
		{"a=%2fb+c%3D", "a", "/b c="},
		{"a=%", "a", NULL},
		{"a=%4", "a", NULL},
		{"a=%zz", "a", NULL},
		{"a=x%00y", "a", NULL},
		{"a=1234567", "a", "1234567"},
		{"a=12345678", "a", NULL},
	};
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char value[8] = "";
		bool is_there =
			admin_query(str_from(cases[i].query), cases[i].name, value, sizeof(value));
		assert_int_equal(is_there, cases[i].want != NULL);
		if (is_there)
			assert_string_equal(value, cases[i].want);
	}
}

/* ---- an admin server, and its clients ---- */

struct client {
	int fd;
	ev_io io;
	struct buf got;
	bool is_closed;
};

static struct {
	struct ev_loop *loop;
	struct admin_server *admin;
	char dir[32];
	char path[64];
	struct client clients[CLIENTS_MAX];
	size_t client_count;
	/* The answer in pieces: */
	struct admin_reply *reply;
	size_t pieces_left;
	size_t piece_len;
	size_t produced;
	unsigned waits;
	unsigned releases;
} world;

static void on_client(struct ev_loop *loop, ev_io *io, int events)
{
	struct client *client = io->data;
	uint8_t *place = buf_reserve(&client->got, 64 * 1024);
	(void)events;
	assert_non_null(place);
	ssize_t len = recv(client->fd, place, 64 * 1024, 0);
	if (len > 0) {
		buf_commit(&client->got, (size_t)len);
		return;
	}
	client->is_closed = true;
	ev_io_stop(loop, io);
}

static struct client *add_client(int fd)
{
	assert_true(world.client_count < CLIENTS_MAX);
	struct client *client = &world.clients[world.client_count++];
	client->fd = fd;
	client->is_closed = false;
	buf_init(&client->got, 64 * 1024 * 1024);
	ev_io_init(&client->io, on_client, fd, EV_READ);
	client->io.data = client;
	ev_io_start(world.loop, &client->io);
	return client;
}

static struct client *connect_unix(void)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	memcpy(address.sun_path, world.path, strlen(world.path) + 1);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	return add_client(fd);
}

static struct client *connect_tcp(void)
{
	struct sockaddr_in address = {.sin_family = AF_INET,
		.sin_port = htons((uint16_t)admin_port(world.admin)),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
	return add_client(fd);
}

static void say(struct client *client, const char *text)
{
	assert_int_equal(send(client->fd, text, strlen(text), MSG_NOSIGNAL), strlen(text));
}

static void fail_at_last(struct ev_loop *loop, ev_timer *timer, int events)
{
	(void)loop;
	(void)timer;
	(void)events;
	fail_msg("what was waited for did not come");
}

static bool has(const struct client *client, const char *text)
{
	return buf_len(&client->got) != 0 &&
	       memmem(buf_data(&client->got), buf_len(&client->got), text, strlen(text)) != NULL;
}

/* Turns the loop until the client has got the text, or is closed when that is NULL. */
static void wait_for(struct client *client, const char *text)
{
	ev_timer patience;
	ev_timer_init(&patience, fail_at_last, PATIENCE_S, 0.);
	ev_timer_start(world.loop, &patience);
	while (text != NULL ? !has(client, text) : !client->is_closed)
		ev_run(world.loop, EVRUN_ONCE);
	ev_timer_stop(world.loop, &patience);
}

static void answer_hello(void *ctx, const struct admin_request *request, struct admin_reply *reply)
{
	assert_ptr_equal(ctx, &world);
	admin_reply_text(reply, 200, "hello %.*s%s\n", STR_FMT(request->rest),
		request->is_local ? " locally" : "");
}

static void answer_long(void *ctx, const struct admin_request *request, struct admin_reply *reply)
{
	const size_t *len = ctx;
	char *text = xmalloc(*len);
	(void)request;
	memset(text, 'x', *len);
	admin_reply_bytes(reply, 200, "text/x-long", (struct str){text, *len});
	free(text);
}

static enum admin_turn produce(void *state, struct buf *out)
{
	assert_ptr_equal(state, &world);
	if (world.pieces_left == 0) {
		world.waits++;
		return world.piece_len == 0 ? ADMIN_END : ADMIN_WAIT;
	}
	uint8_t *place = buf_reserve(out, world.piece_len);
	assert_non_null(place);
	memset(place, 'p', world.piece_len);
	buf_commit(out, world.piece_len);
	world.pieces_left--;
	world.produced += world.piece_len;
	return ADMIN_MORE;
}

static enum admin_turn produce_to_the_end(void *state, struct buf *out)
{
	enum admin_turn turn = produce(state, out);
	return turn == ADMIN_MORE && world.pieces_left == 0 ? ADMIN_END : turn;
}

static void release(void *state)
{
	assert_ptr_equal(state, &world);
	world.releases++;
	world.reply = NULL;
}

static void answer_live(void *ctx, const struct admin_request *request, struct admin_reply *reply)
{
	static const struct admin_producer live = {produce, release};
	static const struct admin_producer finite = {produce_to_the_end, release};
	world.reply = reply;
	admin_reply_stream(
		reply, 200, "text/x-live", str_eq_c(request->query, "end") ? &finite : &live, ctx);
}

static void on_gone(void *state)
{
	assert_ptr_equal(state, &world);
	world.releases++;
	world.reply = NULL;
}

static void answer_later(void *ctx, const struct admin_request *request, struct admin_reply *reply)
{
	world.reply = reply;
	admin_reply_later(reply, on_gone, ctx);
	if (str_eq_c(request->query, "now"))
		admin_reply_text(reply, 200, "at once\n");
}

static size_t long_len = ADMIN_WHOLE_LEN_MAX;
static size_t too_long_len = ADMIN_WHOLE_LEN_MAX + 1;

static int set_up(void **state)
{
	(void)state;
	memset(&world, 0, sizeof(world));
	world.loop = ev_loop_new(EVFLAG_AUTO);
	world.admin = admin_server_new(world.loop, NULL, 0);
	strcpy(world.dir, "/tmp/admin-test-XXXXXX");
	assert_non_null(mkdtemp(world.dir));
	snprintf(world.path, sizeof(world.path), "%s/it.admin", world.dir);
	assert_int_equal(admin_listen_unix(world.admin, world.path), 0);
	assert_int_equal(admin_listen_tcp(world.admin, "127.0.0.1:0"), 0);
	admin_add_path(world.admin, "/public", ADMIN_PUBLIC, answer_hello, &world);
	admin_add_path(world.admin, "/local", ADMIN_LOCAL, answer_hello, &world);
	admin_add_path(world.admin, "/under/", ADMIN_PUBLIC | ADMIN_PREFIX, answer_hello, &world);
	admin_add_path(world.admin, "/under/long", ADMIN_PUBLIC, answer_long, &long_len);
	admin_add_path(world.admin, "/too-long", ADMIN_PUBLIC, answer_long, &too_long_len);
	admin_add_path(world.admin, "/live", ADMIN_LOCAL, answer_live, &world);
	admin_add_path(world.admin, "/later", ADMIN_PUBLIC, answer_later, &world);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	admin_server_free(world.admin);
	for (size_t i = 0; i < world.client_count; i++) {
		ev_io_stop(world.loop, &world.clients[i].io);
		buf_fini(&world.clients[i].got);
		close(world.clients[i].fd);
	}
	ev_loop_destroy(world.loop);
	assert_int_equal(access(world.path, F_OK), -1);
	assert_int_equal(rmdir(world.dir), 0);
	return 0;
}

/* ---- whole answers ---- */

static void test_public_and_local(void **state)
{
	struct stat info;
	(void)state;
	assert_int_equal(stat(world.path, &info), 0);
	assert_int_equal(info.st_mode & 0777, 0660);
	struct client *here = connect_unix();
	struct client *there = connect_tcp();
	say(here, "GET /public HTTP/1.1\r\n\r\n");
	wait_for(here, "hello  locally\n");
	say(here, "GET /local HTTP/1.1\r\n\r\n");
	wait_for(here, "hello  locally\nHTTP/1.1 200 OK");
	say(there, "GET /public HTTP/1.1\r\n\r\n");
	wait_for(there, "hello \n");
	say(there, "GET /local HTTP/1.1\r\n\r\n");
	wait_for(there, "HTTP/1.1 404 Not Found");
	wait_for(there, "/under/long\n");
	assert_false(has(there, "/local"));
	say(there, "GET /under/the/tree?q HTTP/1.1\r\nConnection: close\r\n\r\n");
	wait_for(there, NULL);
	assert_true(has(there, "hello the/tree\n"));
}

static void test_requests_in_a_row(void **state)
{
	(void)state;
	struct client *client = connect_tcp();
	say(client, "GET /under/1 HTTP/1.1\r\n\r\nGET /under/2 HTTP/1.1\r\n\r\nGET /under/3");
	wait_for(client, "hello 2\n");
	say(client, " HTTP/1.1\r\nConnection: close\r\n\r\nGET /under/4 HTTP/1.1\r\n\r\n");
	wait_for(client, NULL);
	assert_true(has(client, "hello 1\n") && has(client, "hello 3\n"));
	assert_false(has(client, "hello 4\n"));
}

static void test_head_has_no_body(void **state)
{
	(void)state;
	struct client *client = connect_tcp();
	say(client, "HEAD /public HTTP/1.1\r\nConnection: close\r\n\r\n");
	wait_for(client, NULL);
	assert_true(has(client, "Content-Length: 7\r\n"));
	assert_memory_equal(buf_data(&client->got) + buf_len(&client->got) - 4, "\r\n\r\n", 4);
}

static void test_long_answers(void **state)
{
	(void)state;
	struct client *client = connect_tcp();
	say(client, "GET /under/long HTTP/1.1\r\nConnection: close\r\n\r\n");
	wait_for(client, NULL);
	assert_true(buf_len(&client->got) > ADMIN_WHOLE_LEN_MAX);
	assert_true(has(client, "Content-Type: text/x-long\r\n"));
	client = connect_tcp();
	say(client, "GET /too-long HTTP/1.1\r\n\r\n");
	wait_for(client, "HTTP/1.1 500 ");
}

/* ---- peers that misbehave ---- */

static void test_bad_requests_end_their_connection_only(void **state)
{
	static const struct {
		const char *text;
		const char *want;
	} cases[] = {
		{"nonsense\r\n\r\n", "HTTP/1.1 400 "},
		{"POST /public HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc", "Allow: GET, HEAD\r\n"},
		{"GET /public HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc", "HTTP/1.1 413 "},
	};
	(void)state;
	struct client *other = connect_tcp();
	say(other, "GET /pub");
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct client *client = connect_tcp();
		say(client, cases[i].text);
		wait_for(client, NULL);
		assert_true(has(client, cases[i].want));
		assert_true(has(client, "Connection: close\r\n"));
	}
	say(other, "lic HTTP/1.1\r\n\r\n");
	wait_for(other, "hello \n");
}

static void test_a_peer_that_only_asks_is_cut_off(void **state)
{
	static const char ask[] = "GET /under/long HTTP/1.1\r\n\r\n";
	(void)state;
	struct client *client = connect_unix();
	struct client *other = connect_unix();
	ev_io_stop(world.loop, &client->io);
	/* Until it is told, by the end of the stream, that nothing more is answered. */
	for (int i = 0; i < 1000; i++) {
		if (send(client->fd, ask, strlen(ask), MSG_NOSIGNAL) < 0)
			break;
		ev_run(world.loop, EVRUN_NOWAIT);
	}
	ev_io_start(world.loop, &client->io);
	wait_for(client, NULL);
	assert_true(buf_len(&client->got) < (size_t)8 * ADMIN_WHOLE_LEN_MAX);
	say(other, "GET /public HTTP/1.1\r\n\r\n");
	wait_for(other, "hello ");
}

static void test_silent_connections_give_way(void **state)
{
	struct client *silent[ADMIN_CONNECTIONS_MAX];
	(void)state;
	for (size_t i = 0; i < ADMIN_CONNECTIONS_MAX; i++) {
		silent[i] = connect_tcp();
		say(silent[i], "GET /public HTTP/1.1\r\n\r\n");
		wait_for(silent[i], "hello");
	}
	struct client *client = connect_tcp();
	say(client, "GET /public HTTP/1.1\r\n\r\n");
	wait_for(client, "hello");
	wait_for(silent[0], NULL);
	assert_false(silent[1]->is_closed);
}

static void test_too_many_that_are_being_answered(void **state)
{
	(void)state;
	world.piece_len = 1;
	for (size_t i = 0; i < ADMIN_CONNECTIONS_MAX; i++) {
		struct client *client = connect_unix();
		say(client, "GET /live HTTP/1.1\r\n\r\n");
		wait_for(client, "text/x-live");
	}
	struct client *client = connect_unix();
	wait_for(client, NULL);
	assert_true(has(client, "HTTP/1.1 503 "));
	/* The other listener has places of its own. */
	client = connect_tcp();
	say(client, "GET /public HTTP/1.1\r\n\r\n");
	wait_for(client, "hello");
	assert_int_equal(world.releases, 0);
	admin_server_free(world.admin);
	world.admin = NULL;
	assert_int_equal(world.releases, ADMIN_CONNECTIONS_MAX);
}

/* ---- answers in pieces ---- */

static void test_pieces_come_as_the_peer_reads(void **state)
{
	(void)state;
	struct client *client = connect_unix();
	world.pieces_left = 1000;
	world.piece_len = 16 * 1024;
	ev_io_stop(world.loop, &client->io);
	say(client, "GET /live?end HTTP/1.1\r\n\r\n");
	while (world.produced == 0)
		ev_run(world.loop, EVRUN_ONCE);
	for (int i = 0; i < 100; i++)
		ev_run(world.loop, EVRUN_NOWAIT);
	/* What fits the kernel's buffer and ours, and no more. */
	assert_true(world.produced < (size_t)2 * 1024 * 1024);
	ev_io_start(world.loop, &client->io);
	wait_for(client, NULL);
	assert_int_equal(world.produced, (size_t)1000 * 16 * 1024);
	assert_int_equal(world.releases, 1);
	assert_true(has(client, "Transfer-Encoding: chunked\r\n"));
	assert_true(has(client, "\r\n\r\n004000\r\npppp"));
	assert_memory_equal(
		buf_data(&client->got) + buf_len(&client->got) - 8, "p\r\n0\r\n\r\n", 8);
}

static void test_pieces_for_http_1_0(void **state)
{
	(void)state;
	struct client *client = connect_unix();
	world.pieces_left = 2;
	world.piece_len = 3;
	say(client, "GET /live?end HTTP/1.0\r\n\r\n");
	wait_for(client, NULL);
	assert_true(has(client, "\r\n\r\npppppp"));
	assert_false(has(client, "chunked"));
	client = connect_unix();
	say(client, "HEAD /live?end HTTP/1.1\r\n\r\n");
	wait_for(client, NULL);
	assert_int_equal(world.releases, 2);
}

static void test_an_answer_that_waits(void **state)
{
	(void)state;
	struct client *client = connect_unix();
	world.pieces_left = 1;
	world.piece_len = 5;
	say(client, "GET /live HTTP/1.1\r\n\r\n");
	wait_for(client, "000005\r\nppppp\r\n");
	while (world.waits == 0)
		ev_run(world.loop, EVRUN_ONCE);
	world.pieces_left = 1;
	world.piece_len = 6;
	admin_reply_wake(world.reply);
	admin_reply_wake(world.reply);
	wait_for(client, "000006\r\npppppp\r\n");
	/* The peer goes: nobody is asked any more. */
	assert_int_equal(world.releases, 0);
	admin_reply_wake(world.reply);
	(void)shutdown(client->fd, SHUT_RDWR);
	while (world.releases == 0)
		ev_run(world.loop, EVRUN_ONCE);
	assert_null(world.reply);
}

/* ---- answers that are put off ---- */

static void ask_later(struct client *client, const char *request)
{
	world.reply = NULL;
	say(client, request);
	while (world.reply == NULL)
		ev_run(world.loop, EVRUN_ONCE);
}

static void test_an_answer_that_is_put_off(void **state)
{
	(void)state;
	struct client *client = connect_tcp();
	ask_later(client, "GET /later HTTP/1.1\r\n\r\nGET /public HTTP/1.1\r\n\r\n");
	assert_int_equal(buf_len(&client->got), 0);
	admin_reply_text(world.reply, 503, "not now\n");
	wait_for(client, NULL);
	assert_true(has(client, "HTTP/1.1 503 ") && has(client, "Connection: close\r\n"));
	assert_true(has(client, "\r\n\r\nnot now\n"));
	/* The connection has ended with it. */
	assert_false(has(client, "hello"));
	client = connect_tcp();
	ask_later(client, "HEAD /later HTTP/1.1\r\n\r\n");
	admin_reply_text(world.reply, 200, "good\n");
	wait_for(client, NULL);
	assert_true(has(client, "Content-Length: 5\r\n") && !has(client, "good"));
	client = connect_tcp();
	ask_later(client, "GET /later?now HTTP/1.0\r\n\r\n");
	wait_for(client, NULL);
	assert_true(has(client, "at once\n"));
	assert_int_equal(world.releases, 0);
}

static void test_pieces_that_are_put_off(void **state)
{
	static const struct admin_producer finite = {produce_to_the_end, release};
	(void)state;
	for (unsigned round = 1; round <= 2; round++) {
		struct client *client = connect_tcp();
		world.pieces_left = 2;
		world.piece_len = 3;
		ask_later(client, round == 1 ? "GET /later HTTP/1.1\r\n\r\n"
					     : "HEAD /later HTTP/1.1\r\n\r\n");
		admin_reply_stream(world.reply, 200, "text/x-live", &finite, &world);
		wait_for(client, NULL);
		assert_true(has(client, "Transfer-Encoding: chunked\r\n"));
		assert_int_equal(
			has(client, "000003\r\nppp\r\n000003\r\nppp\r\n0\r\n\r\n"), round == 1);
		/* Once: it has not been told that the peer is gone, too. */
		assert_int_equal(world.releases, round);
	}
}

static void test_headers_of_all_answers(void **state)
{
	static const char *const requests[] = {"GET /public HTTP/1.1\r\nConnection: close\r\n\r\n",
		"GET /nothing HTTP/1.1\r\nConnection: close\r\n\r\n",
		"POST /public HTTP/1.1\r\n\r\n", "nonsense\r\n\r\n"};
	(void)state;
	admin_add_headers(world.admin, "X-One: 1\r\nX-Two: 2\r\n");
	for (size_t i = 0; i < sizeof(requests) / sizeof(requests[0]); i++) {
		struct client *client = connect_tcp();
		say(client, requests[i]);
		wait_for(client, NULL);
		assert_true(has(client, "\r\nX-One: 1\r\nX-Two: 2\r\n\r\n"));
	}
}

static void test_a_peer_that_does_not_wait(void **state)
{
	(void)state;
	struct client *client = connect_tcp();
	ask_later(client, "GET /later HTTP/1.1\r\n\r\n");
	(void)shutdown(client->fd, SHUT_RDWR);
	while (world.releases == 0)
		ev_run(world.loop, EVRUN_ONCE);
	assert_null(world.reply);
}

/* Whoever waits for an answer keeps the place, and loses it only with the admin server. */
static void test_too_many_that_wait(void **state)
{
	(void)state;
	for (size_t i = 0; i < ADMIN_CONNECTIONS_MAX; i++)
		ask_later(connect_tcp(), "GET /later HTTP/1.1\r\n\r\n");
	struct client *client = connect_tcp();
	wait_for(client, NULL);
	assert_true(has(client, "HTTP/1.1 503 "));
	assert_int_equal(world.releases, 0);
	admin_server_free(world.admin);
	world.admin = NULL;
	assert_int_equal(world.releases, ADMIN_CONNECTIONS_MAX);
}

/* ---- addresses ---- */

static void test_addresses(void **state)
{
	static const char *const bad[] = {"", ":", "1", "127.0.0.1", "127.0.0.1:", "localhost:80",
		"127.0.0.1:65536", "127.0.0.1:-1", "::1:80", "[::1]", "[::1:80", "[]:80",
		"[127.0.0.1]:80", "300.0.0.1:80", ":80", "]:80", "[:80",
		"127.0.0.1aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa:80"};
	char text[64];
	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(admin_listen_tcp(world.admin, bad[i]), -EINVAL);
	snprintf(text, sizeof(text), "127.0.0.1:%d", admin_port(world.admin));
	assert_int_equal(admin_listen_tcp(world.admin, text), -EADDRINUSE);
	int err = admin_listen_tcp(world.admin, "[::1]:0");
	assert_true(err == 0 || err == -EADDRNOTAVAIL || err == -EAFNOSUPPORT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_heads),
		cmocka_unit_test(test_who_is_meant_and_who_asks),
		cmocka_unit_test(test_limits_of_heads),
		cmocka_unit_test(test_queries),
		cmocka_unit_test_setup_teardown(test_public_and_local, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_requests_in_a_row, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_head_has_no_body, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_long_answers, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			test_bad_requests_end_their_connection_only, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			test_a_peer_that_only_asks_is_cut_off, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			test_silent_connections_give_way, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			test_too_many_that_are_being_answered, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			test_pieces_come_as_the_peer_reads, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_pieces_for_http_1_0, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_an_answer_that_waits, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_an_answer_that_is_put_off, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_pieces_that_are_put_off, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_headers_of_all_answers, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_a_peer_that_does_not_wait, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_too_many_that_wait, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_addresses, set_up, tear_down),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
