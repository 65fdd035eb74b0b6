// SPDX-License-Identifier: Apache-2.0
/* The command socket, and clients that connect to it without being a provider. */
#include "provider-supervisor/control.h"

#include "common/unix_socket.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

static struct ev_loop *loop;
static struct control *control;
static char dir[] = "/tmp/sluice-control-XXXXXX";
static char path[64];
static int clients;
static int commands;
static int removals;

static void on_client(void *ctx, struct client *client)
{
	(void)ctx;
	clients++;
	control_tell(control, client, "greeting");
}

static void on_command(void *ctx, struct client *client, struct str word, struct str argument)
{
	(void)ctx;
	(void)client;
	assert_true(str_eq(word, STR("check")));
	assert_true(str_eq(argument, STR("5")));
	commands++;
}

static void on_gone(void *ctx, struct client *client)
{
	(void)ctx;
	(void)client;
	clients--;
}

static void on_socket_gone(void *ctx, const char *socket, bool is_inherited)
{
	(void)ctx;
	assert_string_equal(socket, path);
	assert_false(is_inherited);
	removals++;
}

static const struct control_ops ops = {on_client, on_command, on_gone, on_socket_gone};

static int setup(void **state)
{
	int err = 0;
	(void)state;
	loop = ev_default_loop(0);
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/supervisor.sock", dir);
	control = control_new(loop, path, &ops, NULL, &err);
	assert_non_null(control);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	control_free(control);
	(void)unlink(path);
	return rmdir(dir);
}

static void await(const int *value, int want)
{
	ev_tstamp end = ev_time() + 10;
	while (*value != want) {
		if (ev_time() > end)
			fail_msg("waited in vain for %d, have %d", want, *value);
		ev_run(loop, EVRUN_NOWAIT);
		usleep(500);
	}
}

static void send_text(int fd, const char *text)
{
	assert_int_equal(send(fd, text, strlen(text), MSG_NOSIGNAL), (ssize_t)strlen(text));
}

static void there_are_places_for_some(void **state)
{
	int fds[CONTROL_CLIENTS_MAX];
	char byte;
	(void)state;
	for (int i = 0; i < CONTROL_CLIENTS_MAX; i++) {
		fds[i] = unix_connect(path);
		assert_true(fds[i] >= 0);
		await(&clients, i + 1);
	}
	int more = unix_connect(path);
	assert_true(more >= 0);
	ssize_t got = -1;
	for (ev_tstamp end = ev_time() + 10; got != 0 && ev_time() < end; usleep(500)) {
		ev_run(loop, EVRUN_NOWAIT);
		got = recv(more, &byte, 1, MSG_DONTWAIT);
	}
	assert_int_equal(got, 0);
	assert_int_equal(clients, CONTROL_CLIENTS_MAX);
	close(more);
	for (int i = 0; i < CONTROL_CLIENTS_MAX; i++)
		close(fds[i]);
	await(&clients, 0);
}

/* A client that only listens may stay; one that begins a command must finish it. */
static void a_command_that_drips_is_not_awaited_for_ever(void **state)
{
	(void)state;
	int quiet = unix_connect(path);
	int slow = unix_connect(path);
	assert_true(quiet >= 0 && slow >= 0);
	await(&clients, 2);
	send_text(slow, "che");
	send_text(quiet, "check\t5\n");
	await(&commands, 1);
	ev_tstamp begun = ev_time();
	for (ev_tstamp next = 0; clients == 2; usleep(500)) {
		if (ev_time() > begun + 10)
			fail_msg("who drips keeps his place");
		if (ev_time() > next) {
			(void)send(slow, "c", 1, MSG_NOSIGNAL);
			next = ev_time() + 0.1;
		}
		ev_run(loop, EVRUN_NOWAIT);
	}
	send_text(quiet, "check\t5\n");
	await(&commands, 2);
	assert_int_equal(clients, 1);
	close(quiet);
	close(slow);
	await(&clients, 0);
}

/* Nobody can connect any more. Those who are connected stay; a socket that its owner closes is not missed. */
static void a_socket_whose_file_is_removed_is_missed(void **state)
{
	int err = 0;
	(void)state;
	control_stop_listening(control);
	ev_run(loop, EVRUN_NOWAIT);
	assert_int_equal(removals, 0);
	control_free(control);
	control = control_new(loop, path, &ops, NULL, &err);
	assert_non_null(control);
	int client = unix_connect(path);
	await(&clients, 1);
	assert_int_equal(unlink(path), 0);
	await(&removals, 1);
	assert_int_equal(clients, 1);
	close(client);
	await(&clients, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(there_are_places_for_some),
		cmocka_unit_test(a_command_that_drips_is_not_awaited_for_ever),
		cmocka_unit_test(a_socket_whose_file_is_removed_is_missed),
	};
	return cmocka_run_group_tests(tests, setup, teardown);
}
