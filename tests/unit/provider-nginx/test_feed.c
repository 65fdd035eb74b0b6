// SPDX-License-Identifier: Apache-2.0
/* The control socket and the state file, with the end of nginx in the same loop. */
#include "common/files.h"
#include "common/must.h"
#include "common/unix_socket.h"
#include "common/xalloc.h"
#include "provider-nginx/feed.h"
#include "provider-nginx/journal.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <cmocka.h>

enum { TURNS_MAX = 10000 };

/* One connection at a time; every request of it gets the answer below. */
static struct nginx {
	struct ev_loop *loop;
	char folder[32];
	char socket[64];
	char file[64];
	int listener;
	ev_io accepting;
	ev_io reading;
	struct buf in;
	uint64_t serial;
	unsigned connections;
	unsigned requests;
	bool answers_early; /* having read nothing but the head */
	bool ends_once;     /* the next request gets no answer: its connection ends */
} nginx;

static struct control_answer answered;
static unsigned answers;

static void hang_up(void)
{
	ev_io_stop(nginx.loop, &nginx.reading);
	close(nginx.reading.fd);
	buf_clear(&nginx.in);
}

static void answer(void)
{
	char body[128];
	char text[256];
	int len = snprintf(body, sizeof(body),
		"version=1 serial=%llx generation=1 master=1 free=1 capacity=2\n",
		(unsigned long long)nginx.serial);
	int all = snprintf(text, sizeof(text),
		"HTTP/1.1 200 OK\r\nServer: nginx\r\ncontent-length: %d\r\n\r\n%s", len, body);
	/* Who has cancelled its request does not read it. */
	(void)send(nginx.reading.fd, text, (size_t)all, MSG_NOSIGNAL);
}

static void take_request(struct str text)
{
	struct batch_head head;
	struct str rows;
	size_t len = 0;
	const char *end = memmem(text.p, text.len, "\r\n\r\n", 4);
	const char *length = memmem(text.p, text.len, "Content-Length: ", 16);
	if (end == NULL)
		return;
	size_t body_len = strtoul(length + 16, NULL, 10);
	struct str body = str_skip(text, (size_t)(end - text.p) + 4);
	if (nginx.answers_early) {
		ev_io_stop(nginx.loop, &nginx.reading);
		answer();
		return;
	}
	if (body.len < body_len)
		return;
	nginx.requests++;
	if (nginx.ends_once) {
		nginx.ends_once = false;
		hang_up();
		return;
	}
	if (body_len != 0) {
		assert_int_equal(batch_read(body, &head, &rows, &len), 0);
		nginx.serial = head.serial;
	}
	buf_clear(&nginx.in);
	answer();
}

static void on_reading(struct ev_loop *loop, ev_io *watcher, int events)
{
	uint8_t *place = buf_reserve(&nginx.in, 4096);
	ssize_t len = recv(watcher->fd, place, 4096, 0);
	if (len <= 0) {
		hang_up();
		return;
	}
	buf_commit(&nginx.in, (size_t)len);
	take_request(buf_str(&nginx.in));
}

static void on_accepting(struct ev_loop *loop, ev_io *watcher, int events)
{
	int fd = unix_accept(nginx.listener);
	must(fd >= 0);
	nginx.connections++;
	if (ev_is_active(&nginx.reading))
		hang_up();
	buf_clear(&nginx.in);
	ev_io_set(&nginx.reading, fd, EV_READ);
	ev_io_start(loop, &nginx.reading);
}

static int start_nginx(void **state)
{
	nginx = (struct nginx){.loop = ev_loop_new(0), .folder = "/tmp/test-feed-XXXXXX"};
	must(mkdtemp(nginx.folder) != NULL);
	snprintf(nginx.socket, sizeof(nginx.socket), "%s/control", nginx.folder);
	snprintf(nginx.file, sizeof(nginx.file), "%s/state", nginx.folder);
	nginx.listener = unix_listen(nginx.socket);
	must(nginx.listener >= 0);
	buf_init(&nginx.in, BATCH_LEN_MAX);
	ev_io_init(&nginx.accepting, on_accepting, nginx.listener, EV_READ);
	ev_init(&nginx.reading, on_reading);
	ev_io_start(nginx.loop, &nginx.accepting);
	answers = 0;
	return 0;
}

static int stop_nginx(void **state)
{
	if (ev_is_active(&nginx.reading))
		hang_up();
	ev_io_stop(nginx.loop, &nginx.accepting);
	close(nginx.listener);
	(void)files_remove(nginx.file);
	(void)files_remove(nginx.socket);
	rmdir(nginx.folder);
	buf_fini(&nginx.in);
	ev_loop_destroy(nginx.loop);
	return 0;
}

static void on_done(void *ctx, const struct control_answer *got)
{
	answered = *got;
	answers++;
}

static void wait_answers(unsigned count)
{
	for (int i = 0; i < TURNS_MAX && answers < count; i++)
		ev_run(nginx.loop, EVRUN_ONCE);
	assert_int_equal(answers, count);
}

/* ---- the control socket ---- */

static void test_heads(void **state)
{
	static const struct {
		const char *text;
		int want;
		long status;
		size_t body_len;
	} cases[] = {
		{"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", 0, 200, 5},
		{"HTTP/1.0 409 C\r\nA: b\r\ncontent-length:0\r\nB: c\r\n\r\n12", 0, 409, 0},
		{"", -EAGAIN, 0, 0},
		{"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n", -EAGAIN, 0, 0},
		{"\r\n\r\n", -EBADMSG, 0, 0},
		{"HTTP/1.1 200\r\n\r\n", -EBADMSG, 0, 0},
		{"HTTP/1.1 99 \r\nContent-Length: 5\r\n\r\n", -EBADMSG, 0, 0},
		{"HTTP/2.0 200 OK\r\nContent-Length: 5\r\n\r\n", -EBADMSG, 0, 0},
		{"HTTP/1.1 200 OK\r\nContent-Length:\r\n\r\n", -EBADMSG, 0, 0},
		{"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n", -EBADMSG, 0, 0},
		{"HTTP/1.1 200 OK\r\nContent-Length: 99999\r\n\r\n", -EBADMSG, 0, 0},
		{"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", -EBADMSG, 0,
			0},
	};
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		long status = 0;
		size_t head_len = 0;
		size_t body_len = 0;
		struct str text = str_from(cases[i].text);
		int got = control_read_head(text, &status, &head_len, &body_len);
		assert_int_equal(got, cases[i].want);
		assert_true(
			got != 0 || (status == cases[i].status && body_len == cases[i].body_len &&
					    head_len <= text.len));
	}
}

/* An answer that comes before its request is complete: the rest must not be taken for the next request. */
static void test_early_answer(void **state)
{
	struct control *control = control_new(nginx.loop, nginx.socket);
	struct str batch = {xcalloc(1, BATCH_LEN_MAX), BATCH_LEN_MAX};
	(void)state;
	nginx.answers_early = true;
	control_send(control, batch, on_done, NULL);
	wait_answers(1);
	nginx.answers_early = false;
	control_ask(control, on_done, NULL);
	wait_answers(2);
	assert_int_equal(answered.status, 200);
	assert_int_equal(nginx.connections, 2);
	control_free(control);
	free((char *)(uintptr_t)batch.p);
}

static void test_endless_head(void **state)
{
	char text[64 * 1024];
	long status = 0;
	size_t head_len = 0;
	size_t body_len = 0;
	(void)state;
	memset(text, 'a', sizeof(text));
	assert_int_equal(
		control_read_head((struct str){text, sizeof(text)}, &status, &head_len, &body_len),
		-EBADMSG);
}

static void test_connection_is_kept(void **state)
{
	struct control *control = control_new(nginx.loop, nginx.socket);
	(void)state;
	for (unsigned i = 1; i <= 3; i++) {
		nginx.serial = i;
		control_ask(control, on_done, NULL);
		assert_true(control_is_busy(control));
		wait_answers(i);
		assert_int_equal(answered.status, 200);
		assert_int_equal(answered.serial, i);
	}
	assert_int_equal(nginx.connections, 1);
	control_free(control);
}

/* As when a worker ends with a request on its way: once it is asked again, and only on a connection that was kept. */
static void test_connection_ends(void **state)
{
	struct control *control = control_new(nginx.loop, nginx.socket);
	(void)state;
	nginx.ends_once = true;
	control_ask(control, on_done, NULL);
	wait_answers(1);
	assert_int_equal(answered.status, 0);
	assert_string_equal(answered.problem, "it hangs up");
	control_ask(control, on_done, NULL);
	wait_answers(2);
	nginx.ends_once = true;
	control_ask(control, on_done, NULL);
	wait_answers(3);
	assert_int_equal(answered.status, 200);
	assert_int_equal(nginx.requests, 4);
	control_free(control);
}

static void test_nobody_there(void **state)
{
	struct control *control = control_new(nginx.loop, "/tmp/test-feed-none/control");
	(void)state;
	control_ask(control, on_done, NULL);
	/* Never from within the call. */
	assert_int_equal(answers, 0);
	wait_answers(1);
	assert_int_equal(answered.status, 0);
	control_set_path(control, nginx.socket);
	control_ask(control, on_done, NULL);
	wait_answers(2);
	assert_int_equal(answered.status, 200);
	control_ask(control, on_done, NULL);
	control_cancel(control);
	control_ask(control, on_done, NULL);
	wait_answers(3);
	assert_int_equal(nginx.connections, 2);
	control_free(control);
}

/* ---- the state file ---- */

static const struct str row_host = {"host:lb:a.test", 14};
static const struct str row_other = {"host:lb:b.test", 14};

static void on_change(void *ctx)
{
}

static void on_told(void *ctx, const struct control_answer *got)
{
}

static const struct feed_ops feed_ops = {on_change, on_told, on_change, on_change};

struct line {
	struct rows *routes;
	struct notices *notices;
	struct objects *objects;
	struct feed *feed;
};

static void settle(const struct line *line)
{
	for (int i = 0; i < TURNS_MAX && !feed_is_settled(line->feed); i++)
		ev_run(nginx.loop, EVRUN_ONCE);
	assert_true(feed_is_settled(line->feed));
}

static struct line start_line(void)
{
	struct line line = {.routes = rows_new(), .notices = notices_new(on_change, NULL)};
	line.objects = objects_new(line.notices, NULL, false);
	struct feed_config config = {
		.loop = nginx.loop,
		.state_file = nginx.file,
		.socket_path = nginx.socket,
		.routes = line.routes,
		.objects = line.objects,
		.ops = &feed_ops,
	};
	line.feed = feed_new(&config);
	(void)feed_load(line.feed);
	rows_want(line.routes, ROW_WHOLE, row_host, STR("a.test"));
	feed_set_nginx(line.feed, true);
	feed_kick(line.feed, NULL);
	settle(&line);
	return line;
}

static void end_line(struct line *line)
{
	feed_free(line->feed);
	objects_free(line->objects);
	notices_free(line->notices);
	rows_free(line->routes);
}

struct found {
	bool host;
	bool other;
};

static void on_row(void *ctx, const struct batch_row *row)
{
	struct found *found = ctx;
	struct str key = str_skip(row->key, 1);
	if (str_eq(key, row_host))
		found->host = row->value.p != NULL;
	if (str_eq(key, row_other))
		found->other = row->value.p != NULL;
}

static struct found file_rows(void)
{
	struct found found = {false, false};
	struct journal *journal = journal_new(nginx.file);
	assert_int_equal(journal_read(journal, on_row, &found), 0);
	assert_null(journal_problem(journal));
	assert_int_equal(journal_serial(journal), nginx.serial);
	journal_free(journal);
	return found;
}

/* Serves until nginx has this serial and was answered. */
static void wait_serial(uint64_t serial)
{
	for (int i = 0; i < TURNS_MAX && nginx.serial != serial; i++)
		ev_run(nginx.loop, EVRUN_ONCE);
	assert_int_equal(nginx.serial, serial);
	ev_run(nginx.loop, EVRUN_ONCE);
}

static void test_file_has_what_nginx_has(void **state)
{
	struct line line = start_line();
	(void)state;
	assert_true(file_rows().host);
	rows_want(line.routes, ROW_WHOLE, row_other, STR("b.test"));
	feed_kick(line.feed, NULL);
	/* Before nginx has it. */
	struct found found = {false, false};
	struct journal *journal = journal_new(nginx.file);
	assert_int_equal(journal_read(journal, on_row, &found), 0);
	journal_free(journal);
	assert_true(found.other);
	settle(&line);
	assert_true(file_rows().other);
	end_line(&line);
}

static void test_file_is_removed(void **state)
{
	struct line line = start_line();
	(void)state;
	assert_int_equal(files_remove(nginx.file), 0);
	rows_want(line.routes, ROW_WHOLE, row_other, STR("b.test"));
	feed_kick(line.feed, NULL);
	settle(&line);
	assert_true(file_rows().host && file_rows().other);
	end_line(&line);
}

/* A file written while removals are kept would lack rows that nginx has, and that may come to be wanted again. */
static void test_file_waits_for_removals(void **state)
{
	struct line line = start_line();
	(void)state;
	feed_keep(line.feed, true);
	rows_want(line.routes, ROW_WHOLE, row_host, STR_NONE);
	assert_int_equal(files_remove(nginx.file), 0);
	rows_want(line.routes, ROW_WHOLE, row_other, STR("b.test"));
	uint64_t serial = nginx.serial + 1;
	feed_kick(line.feed, NULL);
	wait_serial(serial);
	feed_ask(line.feed);
	unsigned requests = nginx.requests;
	for (int i = 0; i < TURNS_MAX && nginx.requests == requests; i++)
		ev_run(nginx.loop, EVRUN_ONCE);
	assert_false(feed_is_settled(line.feed));
	assert_false(files_exist(nginx.file));
	feed_keep(line.feed, false);
	settle(&line);
	assert_int_equal(nginx.serial, serial + 1);
	assert_true(!file_rows().host && file_rows().other);
	end_line(&line);
}

/* A row whose removal was kept back is wanted again: nothing happens, and the file still has it. */
static void test_kept_row_is_wanted_again(void **state)
{
	struct line line = start_line();
	(void)state;
	uint64_t serial = nginx.serial;
	feed_keep(line.feed, true);
	rows_want(line.routes, ROW_WHOLE, row_host, STR_NONE);
	feed_kick(line.feed, NULL);
	assert_false(feed_is_settled(line.feed));
	assert_true(file_rows().host);
	rows_want(line.routes, ROW_WHOLE, row_host, STR("a.test"));
	feed_keep(line.feed, false);
	settle(&line);
	assert_int_equal(nginx.serial, serial);
	assert_true(file_rows().host);
	end_line(&line);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_heads),
		cmocka_unit_test(test_endless_head),
		cmocka_unit_test_setup_teardown(test_connection_is_kept, start_nginx, stop_nginx),
		cmocka_unit_test_setup_teardown(test_connection_ends, start_nginx, stop_nginx),
		cmocka_unit_test_setup_teardown(test_early_answer, start_nginx, stop_nginx),
		cmocka_unit_test_setup_teardown(test_nobody_there, start_nginx, stop_nginx),
		cmocka_unit_test_setup_teardown(
			test_file_has_what_nginx_has, start_nginx, stop_nginx),
		cmocka_unit_test_setup_teardown(test_file_is_removed, start_nginx, stop_nginx),
		cmocka_unit_test_setup_teardown(
			test_file_waits_for_removals, start_nginx, stop_nginx),
		cmocka_unit_test_setup_teardown(
			test_kept_row_is_wanted_again, start_nginx, stop_nginx),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
