// SPDX-License-Identifier: Apache-2.0
/* The sockets of a process, and from one process to another, through real ones. */
#include "provider-supervisor/listeners.h"

#include <arpa/inet.h>
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <cmocka.h>

static int listen_somewhere(void)
{
	struct sockaddr_in address = {.sin_family = AF_INET};
	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(listen(fd, 1), 0);
	return fd;
}

/* An HAProxy that hands out `count` listening sockets and one that is none, and claims to have `claimed`. */
struct giver {
	char folder[32];
	char path[64];
	int listener;
	size_t count;
	int claimed;
	struct str records;
	pthread_t thread;
};

static void *give(void *ctx)
{
	const struct giver *giver = ctx;
	char request[sizeof(TRANSFER_REQUEST)];
	int fds[4];
	int fd = accept(giver->listener, NULL, NULL);
	(void)!read(fd, request, sizeof(request));
	(void)!write(fd, &giver->claimed, sizeof(giver->claimed));
	for (size_t i = 0; i < giver->count; i++)
		fds[i] = listen_somewhere();
	fds[giver->count] = dup(0);
	(void)listeners_send(fd, giver->records, fds, giver->count + 1);
	for (size_t i = 0; i <= giver->count; i++)
		close(fds[i]);
	close(fd);
	return NULL;
}

static void begin(struct giver *giver)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	snprintf(giver->folder, sizeof(giver->folder), "/tmp/sluice-give-XXXXXX");
	assert_non_null(mkdtemp(giver->folder));
	snprintf(giver->path, sizeof(giver->path), "%s/sock", giver->folder);
	snprintf(address.sun_path, sizeof(address.sun_path), "%s", giver->path);
	giver->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(giver->listener, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(listen(giver->listener, 1), 0);
	assert_int_equal(pthread_create(&giver->thread, NULL, give, giver), 0);
}

static void end(struct giver *giver)
{
	pthread_join(giver->thread, NULL);
	close(giver->listener);
	unlink(giver->path);
	rmdir(giver->folder);
}

static const char three_records[] = "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0";

static void test_of_haproxy(void **unused)
{
	static const struct {
		const char *name;
		int claimed;
		size_t records_len;
		int want;
	} cases[] = {
		{"whole", 3, sizeof(three_records), 0},
		{"more is claimed than comes", 4, sizeof(three_records), -ECONNRESET},
		{"fewer records than sockets", 3, sizeof(three_records) - 1, -EBADMSG},
		{"more than any proxy has", TRANSFER_SOCKETS_MAX + 1, sizeof(three_records),
			-E2BIG},
		{"less than nothing", -1, sizeof(three_records), -E2BIG},
	};
	(void)unused;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct listeners listeners = {0};
		struct giver giver = {.count = 2,
			.claimed = cases[i].claimed,
			.records = {three_records, cases[i].records_len}};
		begin(&giver);
		int err = listeners_of_haproxy(giver.path, &listeners);
		end(&giver);
		if (err != cases[i].want)
			fail_msg("%s: %d", cases[i].name, err);
		/* The one that does not listen was closed. */
		assert_int_equal(listeners.count, err == 0 ? 2 : 0);
		listeners_fini(&listeners);
	}
}

static void test_answer_is_understood(void **unused)
{
	int fds[2] = {listen_somewhere(), listen_somewhere()};
	struct listeners listeners = {fds, 2};
	int ends[2];
	int total = 0;
	struct buf records;
	struct listeners got = {0};
	size_t received = 0;
	(void)unused;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
	listeners_make_patient(ends[0]);
	/* Request and answer stand in the socket before they are asked for. */
	assert_int_equal(write(ends[1], TRANSFER_REQUEST "\0\0\0\0", 14), 14);
	assert_int_equal(listeners_answer(ends[0], &listeners), 0);
	assert_int_equal(read(ends[1], &total, sizeof(total)), sizeof(total));
	assert_int_equal(total, 2);
	buf_init(&records, TRANSFER_RECORD_MAX * 2);
	assert_true(listeners_receive(ends[1], &records, &got, &received) > 0);
	assert_true(transfer_are_records(buf_str(&records), 2));
	char before[LISTENERS_ADDRESS_MAX];
	char after[LISTENERS_ADDRESS_MAX];
	assert_int_equal(got.count, 2);
	for (size_t i = 0; i < 2; i++) {
		assert_true(listeners_describe(fds[i], before));
		assert_true(listeners_describe(got.fds[i], after));
		assert_string_equal(before, after);
		assert_int_equal(strncmp(after, "127.0.0.1\t", 10), 0);
		close(fds[i]);
	}
	/* Anything but the request is not answered. */
	assert_int_equal(write(ends[1], "show info \n", 11), 11);
	assert_int_equal(listeners_answer(ends[0], &got), -EBADMSG);
	listeners_fini(&got);
	buf_fini(&records);
	close(ends[0]);
	close(ends[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_of_haproxy),
		cmocka_unit_test(test_answer_is_understood),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
