// SPDX-License-Identifier: Apache-2.0
#include "provider-proxy/proxy.h"

#include "common/unix_socket.h"
#include "proto/proxy_folder.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

/* A supervisor in the loop of the test, which tells of everything at once when it is asked to stop. */
static struct ev_loop *loop;
static int listener;
static int client = -1;
static ev_io acceptor, reader;
static unsigned ups, others;
static bool is_asked;

static void say(const char *lines)
{
	assert_int_equal(send(client, lines, strlen(lines), MSG_NOSIGNAL), strlen(lines));
}

static void on_command(struct ev_loop *l, ev_io *watcher, int events)
{
	char text[256];
	(void)events;
	ssize_t len = recv(client, text, sizeof(text) - 1, 0);
	text[len > 0 ? len : 0] = 0;
	if (len > 0 && strncmp(text, "stop\t", 5) != 0)
		return;
	if (len > 0)
		say("workers\t2\nnone\nup\t78\tstarted\t/run\ndown\t1\tkilled\t\nyield\t5\n"
		    "taken\thaproxy\nchecked\tbad\t7\nyield\t\n");
	is_asked = true;
	ev_io_stop(l, watcher);
	close(client);
}

static void on_client(struct ev_loop *l, ev_io *watcher, int events)
{
	(void)events;
	ev_io_stop(l, watcher);
	client = unix_accept(listener);
	assert_true(client >= 0);
	ev_io_init(&reader, on_command, client, EV_READ);
	ev_io_start(l, &reader);
	say("sluice-proxy\t1\tnginx\nup\t77\tstarted\t/run\n");
}

static void on_up(void *ctx, enum proxy_origin origin, const char *dir)
{
	(void)ctx;
	(void)origin;
	(void)dir;
	ups++;
	ev_break(loop, EVBREAK_ALL);
}

static void on_down(void *ctx, const char *why, const char *words, double again_s)
{
	(void)ctx;
	(void)why;
	(void)words;
	(void)again_s;
	others++;
}

static void on_none(void *ctx)
{
	(void)ctx;
	others++;
}

static void on_unreachable(void *ctx, const char *socket)
{
	(void)ctx;
	(void)socket;
	others++;
}

static void on_workers(void *ctx, size_t taking)
{
	(void)ctx;
	(void)taking;
	others++;
}

/* Whoever stops it has freed what it would be told. */
static void nobody_is_told_while_it_stops(void **state)
{
	static const struct proxy_ops ops = {on_up, on_down, on_none, on_unreachable, on_workers};
	char dir[] = "/dev/shm/sluice-proxy-XXXXXX";
	char path[64];
	(void)state;
	loop = ev_loop_new(EVFLAG_AUTO);
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/" SUPERVISOR_SOCKET, dir);
	listener = unix_listen(path);
	assert_true(listener >= 0);
	ev_io_init(&acceptor, on_client, listener, EV_READ);
	ev_io_start(loop, &acceptor);
	struct proxy *proxy = proxy_new(&(struct proxy_config){
		.loop = loop, .kind = "nginx", .state_dir = dir, .proxy_dir = dir, .ops = &ops});
	ev_run(loop, 0);
	assert_int_equal(ups, 1);
	assert_true(proxy_stop(proxy, 10));
	assert_true(is_asked);
	assert_int_equal(ups, 1);
	assert_int_equal(others, 0);
	proxy_free(proxy);
	close(listener);
	unlink(path);
	rmdir(dir);
	ev_loop_destroy(loop);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nobody_is_told_while_it_stops),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
