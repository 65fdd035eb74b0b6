// SPDX-License-Identifier: Apache-2.0
/* Questions about passwords, as HAProxy asks them, and as nobody should. */
#include "provider-supervisor/check_socket.h"

#include "common/unix_socket.h"
#include "provider-supervisor/password.h"
#include "provider-supervisor/check_threads.h"

#include <errno.h>
#include <poll.h>
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

/* "password" in hexadecimal digits, and its hashes: by SHA-1, and two by bcrypt, which last some tens and some hundreds of milliseconds. */
#define PASSWORD "70617373776F7264"
#define FAST     "{SHA}W6ph5Mm5Pz8GgiULbPgzG37mj9g="
#define SLOW     "$2b$10$abcdefghijklmnopqrstuu0000000000000000000000000000000"
#define SLOWEST  "$2b$12$abcdefghijklmnopqrstuu0000000000000000000000000000000"

#define LONG_LIST                                                                          \
	"password "                                                                        \
	"abcdefghijklmnopqrstuvwxyz-abcdefghijklmnopqrstuvwxyz-abcdefghijklmnopqrstuvwxyz" \
	" 70 70\n"

static struct ev_loop *loop;
static struct check_socket *server;
static char dir[64];
static char path[96];
static int removals;

static void on_gone(void *ctx, const char *socket, bool is_inherited)
{
	(void)ctx;
	assert_string_equal(socket, path);
	assert_false(is_inherited);
	removals++;
}

static int set_up(void **state)
{
	int err = 0;
	(void)state;
	strcpy(dir, "/dev/shm/sluice-checks-XXXXXX");
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/checks.sock", dir);
	loop = ev_loop_new(EVFLAG_AUTO);
	server = check_socket_new(loop, path, on_gone, NULL, &err);
	assert_non_null(server);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	check_socket_free(server);
	ev_loop_destroy(loop);
	assert_int_not_equal(access(path, F_OK), 0);
	return rmdir(dir);
}

/* Sends the text; the caller closes the connection. */
static int begin(const char *text)
{
	int fd = unix_connect(path);
	assert_true(fd >= 0);
	while (*text != 0) {
		ssize_t sent = send(fd, text, strlen(text), MSG_NOSIGNAL);
		/* Cut off before the end, as it should be. */
		if (sent < 0 && (errno == EPIPE || errno == ECONNRESET))
			break;
		if (sent > 0)
			text += sent;
		ev_run(loop, EVRUN_NOWAIT);
	}
	return fd;
}

/* What comes until the connection ends or a line does. */
static void finish(int fd, char *ret_line)
{
	size_t len = 0;
	for (;;) {
		ssize_t got = recv(fd, ret_line + len, 15 - len, 0);
		if (got == 0 || (got < 0 && errno != EAGAIN))
			break;
		len += got > 0 ? (size_t)got : 0;
		if (len != 0 && ret_line[len - 1] == '\n')
			break;
		ev_run(loop, got < 0 ? EVRUN_ONCE : EVRUN_NOWAIT);
	}
	ret_line[len] = 0;
	close(fd);
}

static const char *ask(const char *text)
{
	static char line[16];
	finish(begin(text), line);
	return line;
}

static const char *hex(const char *text)
{
	static char digits[2 * PASSWORD_HASH_LEN_MAX + 1];
	for (size_t i = 0; text[i] != 0; i++)
		snprintf(digits + 2 * i, 3, "%02X", text[i]);
	return digits;
}

static char *question(const char *list, const char *hash, const char *password)
{
	static char text[1024];
	snprintf(text, sizeof(text), "password %s %s %s\n", list, hex(hash), password);
	return text;
}

static void a_question_is_answered(void **state)
{
	(void)state;
	assert_string_equal(ask(question("u", FAST, PASSWORD)), "yes\n");
	assert_string_equal(ask(question("u", FAST, "70")), "no\n");
	assert_string_equal(ask(question("u", FAST, "")), "no\n");
	assert_string_equal(ask(question("u", SLOW, PASSWORD)), "no\n");
}

static void what_is_no_question_is_not_checked(void **state)
{
	static const char *const ended[] = {"\n", " \n", "password\n", "password \n", "u 70 70\n",
		"password  70 70\n", "password u 70 70\npassword u 70 70\n", LONG_LIST};
	static const char *const none[] = {"password u\n", "password u 7\n", "password u  70\n",
		"password u 70 7\n", "password u 70 7g\n", "password u 70 7G\n",
		"password u xx 70\n", "password u 70 70 70\n", "certificate u\n",
		"certificate u 1\n", "certificate u 0 70 70 70 70\n",
		"certificate u 17 70 70 70 70\n", "certificate u 1 70 70 70 70\n",
		"certificate u 1 70  70 70\n", "certificate u 1 7 70 70 70\n"};
	(void)state;
	for (size_t i = 0; i < sizeof(ended) / sizeof(ended[0]); i++)
		assert_string_equal(ask(ended[i]), "");
	for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++)
		assert_string_equal(ask(none[i]), "none\n");
	char *longest = calloc(256 * 1024, 1);
	memset(longest, '7', 256 * 1024 - 1);
	assert_string_equal(ask(longest), "");
	memcpy(longest, "password u 70 ", 14);
	assert_string_equal(ask(longest), "");
	free(longest);
}

static void who_leaves_is_forgotten(void **state)
{
	(void)state;
	for (int i = 0; i < 40; i++) {
		close(begin(question("gone", SLOW, PASSWORD)));
		close(begin("password u 70"));
	}
	assert_string_equal(ask(question("u", FAST, PASSWORD)), "yes\n");
}

/* As many of one list as there is room for, and then one of another: it is not the last. */
static void a_list_does_not_keep_others_waiting(void **state)
{
	enum { COUNT = 40 };
	int slow[COUNT];
	char line[16];
	(void)state;
	for (int i = 0; i < COUNT; i++)
		slow[i] = begin(question("slow", SLOW, PASSWORD));
	assert_string_equal(ask(question("other", FAST, PASSWORD)), "yes\n");
	struct pollfd last = {.fd = slow[COUNT - 1], .events = POLLIN};
	assert_int_equal(poll(&last, 1, 0), 0);
	for (int i = 0; i < COUNT; i++) {
		finish(slow[i], line);
		assert_string_equal(line, "no\n");
	}
}

/* Those beyond the room are told so at once; nobody else is. The checks last so long that there is no more room before all have asked. */
static void more_than_can_wait_are_told(void **state)
{
	enum { COUNT = CHECKS_WAITING_MAX + 20 };
	int asked[COUNT];
	char line[16];
	(void)state;
	for (int i = 0; i < COUNT; i++)
		asked[i] = begin(question("many", SLOWEST, PASSWORD));
	finish(asked[COUNT - 1], line);
	assert_string_equal(line, "busy\n");
	for (int i = 0; i < CHECKS_WAITING_MAX; i++) {
		ssize_t got = recv(asked[i], line, sizeof(line), MSG_DONTWAIT);
		assert_true(got < 0 || strncmp(line, "no\n", (size_t)got) == 0);
	}
	for (int i = 0; i < COUNT - 1; i++)
		close(asked[i]);
	assert_string_equal(ask(question("u", FAST, PASSWORD)), "yes\n");
}

/* The end does not wait for the thread that is at it. */
static void it_ends_with_checks_under_way(void **state)
{
	(void)state;
	close(begin(question("u", "$6$rounds=1000000$saltsalt$x", PASSWORD)));
	int fd = begin(question("u", "$6$rounds=1000000$saltsalt$y", PASSWORD));
	ev_run(loop, EVRUN_NOWAIT);
	close(fd);
}

static void a_socket_whose_file_is_removed_is_missed(void **state)
{
	(void)state;
	removals = 0;
	assert_int_equal(unlink(path), 0);
	for (ev_tstamp end = ev_time() + 10; removals == 0 && ev_time() < end; usleep(500))
		ev_run(loop, EVRUN_NOWAIT);
	assert_int_equal(removals, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_question_is_answered, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			what_is_no_question_is_not_checked, set_up, tear_down),
		cmocka_unit_test_setup_teardown(who_leaves_is_forgotten, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			a_list_does_not_keep_others_waiting, set_up, tear_down),
		cmocka_unit_test_setup_teardown(more_than_can_wait_are_told, set_up, tear_down),
		cmocka_unit_test_setup_teardown(it_ends_with_checks_under_way, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			a_socket_whose_file_is_removed_is_missed, set_up, tear_down),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
