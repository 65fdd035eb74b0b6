// SPDX-License-Identifier: Apache-2.0
/* Two ends of a link on one loop, and raw sockets that misbehave. */
#include "proto/link.h"

#include "common/unix_socket.h"
#include "proto/frame.h"
#include "proto/log_events.h"

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

struct peer {
	struct link *link;
	int ups;
	int downs;
	int rooms;
	int dries;
	int statuses;
	const char *refusal;
	bool fail_messages;
	char peer_name[32];
};

static struct ev_loop *loop;
static char dir[] = "/tmp/sluice-link-XXXXXX";
static char path[64];

/* Lines that say a connection was dropped, on either side. */
static int link_down_lines;

static void count_lines(void *ctx, const struct log_event *event, struct str line)
{
	(void)ctx;
	(void)line;
	if (event == &EV_LINK_DOWN)
		link_down_lines++;
}

static const char *on_up(void *ctx, struct link *link, const struct hello *hello)
{
	struct peer *peer = ctx;
	(void)link;
	snprintf(peer->peer_name, sizeof(peer->peer_name), "%.*s", STR_FMT(hello->name));
	peer->ups++;
	return peer->refusal;
}

static int on_message(void *ctx, struct link *link, const struct message *message)
{
	struct peer *peer = ctx;
	struct lb_status status;
	struct arena arena;
	arena_init(&arena);
	assert_int_equal(message->type, MESSAGE_LB_STATUS);
	assert_int_equal(link_decode(link, message, &arena, &status), 0);
	arena_fini(&arena);
	peer->statuses++;
	return peer->fail_messages ? -1 : 0;
}

static void on_dry(void *ctx, struct link *link)
{
	(void)link;
	((struct peer *)ctx)->dries++;
}

static void on_room(void *ctx, struct link *link)
{
	(void)link;
	((struct peer *)ctx)->rooms++;
}

static void on_down(void *ctx, struct link *link)
{
	(void)link;
	((struct peer *)ctx)->downs++;
}

static const struct link_ops ops = {on_up, on_message, on_dry, on_room, on_down};

static struct link_config config_of(struct peer *peer, enum peer_role role, enum peer_role other)
{
	return (struct link_config){
		.loop = loop,
		.path = path,
		.socket_name = "provider.sock",
		.hello = {.version_min = 1,
			.version_max = 1,
			.role = role,
			.name = role == ROLE_PROVIDER ? STR("p") : STR("t"),
			.software = STR("test 1")},
		.peer_role = other,
		.ping_after_s = 0.02,
		.dead_after_s = 0.3,
		.ops = &ops,
		.ctx = peer,
	};
}

static void listen_as_translator(struct peer *peer)
{
	struct link_config config = config_of(peer, ROLE_TRANSLATOR, ROLE_PROVIDER);
	int err = 0;
	peer->link = link_listen(&config, &err);
	assert_non_null(peer->link);
}

static void connect_as(struct peer *peer, enum peer_role role, uint64_t version)
{
	struct link_config config = config_of(peer, role, ROLE_TRANSLATOR);
	config.hello.version_min = config.hello.version_max = version;
	peer->link = link_connect(&config);
}

/* Runs the loop until *value is at least want; fails after ten seconds. */
static void await_count(const int *value, int want)
{
	ev_tstamp end = ev_time() + 10;
	while (*value < want) {
		if (ev_time() > end)
			fail_msg("waited in vain for %d, have %d", want, *value);
		ev_run(loop, EVRUN_NOWAIT);
		usleep(500);
	}
}

static void send_status(struct peer *peer)
{
	struct lb_status status = {.id = STR("a"), .state = LB_STATE_APPLIED};
	assert_int_equal(link_send(peer->link, MESSAGE_LB_STATUS, &status), 0);
}

static void both_come_up_and_talk(void **state)
{
	struct peer translator = {0};
	struct peer provider = {0};
	(void)state;
	connect_as(&provider, ROLE_PROVIDER, 1);
	listen_as_translator(&translator);
	await_count(&provider.ups, 1);
	await_count(&translator.ups, 1);
	assert_string_equal(translator.peer_name, "p");
	assert_string_equal(provider.peer_name, "t");
	assert_int_equal(provider.rooms, 1);
	send_status(&provider);
	send_status(&provider);
	await_count(&translator.statuses, 2);
	await_count(&translator.dries, 1);
	link_free(provider.link, "done");
	await_count(&translator.downs, 1);
	link_free(translator.link, "done");
}

static void a_lost_listener_is_found_again(void **state)
{
	struct peer translator = {0};
	struct peer provider = {0};
	(void)state;
	connect_as(&provider, ROLE_PROVIDER, 1);
	for (int i = 1; i <= 3; i++) {
		listen_as_translator(&translator);
		await_count(&provider.ups, i);
		link_free(translator.link, "restart");
		await_count(&provider.downs, i);
	}
	link_free(provider.link, "done");
}

static void versions_and_roles_must_fit(void **state)
{
	struct peer translator = {0};
	struct peer stranger = {0};
	(void)state;
	listen_as_translator(&translator);
	link_down_lines = 0;
	connect_as(&stranger, ROLE_PROVIDER, 2);
	await_count(&link_down_lines, 4);
	assert_int_equal(stranger.ups + translator.ups, 0);
	link_free(stranger.link, "done");
	link_down_lines = 0;
	connect_as(&stranger, ROLE_WATCHER, 1);
	await_count(&link_down_lines, 4);
	assert_int_equal(translator.ups, 0);
	link_free(stranger.link, "done");
	link_free(translator.link, "done");
}

static void an_owner_may_refuse(void **state)
{
	struct peer translator = {.refusal = "no capabilities"};
	struct peer provider = {0};
	(void)state;
	listen_as_translator(&translator);
	connect_as(&provider, ROLE_PROVIDER, 1);
	await_count(&translator.downs, 2);
	link_free(provider.link, "done");
	link_free(translator.link, "done");
}

/* Without a hello of its own, and with one that is on its way when the connection is closed. */
static void a_second_peer_is_told_why(void **state)
{
	struct peer translator = {0};
	struct peer provider = {0};
	(void)state;
	listen_as_translator(&translator);
	connect_as(&provider, ROLE_PROVIDER, 1);
	await_count(&translator.ups, 1);
	for (int says_hello = 0; says_hello < 2; says_hello++) {
		char said[1024] = "";
		size_t len = 0;
		bool is_over = false;
		int fd = unix_connect(path);
		assert_true(fd >= 0);
		if (says_hello)
			assert_int_equal(send(fd, "\0\0\1\0", 4, MSG_NOSIGNAL), 4);
		for (ev_tstamp end = ev_time() + 10; !is_over && ev_time() < end;) {
			ev_run(loop, EVRUN_NOWAIT);
			ssize_t got = recv(fd, said + len, sizeof(said) - len, MSG_DONTWAIT);
			is_over = got == 0 || (got < 0 && errno != EAGAIN);
			len += got > 0 ? (size_t)got : 0;
			usleep(200);
		}
		assert_true(is_over);
		assert_non_null(memmem(said, len,
			"\xa3"
			"bye",
			4));
		static const char words[] = "another provider is connected, \"p\"";
		assert_non_null(memmem(said, len, words, sizeof(words) - 1));
		close(fd);
	}
	assert_int_equal(translator.downs, 0);
	link_free(provider.link, "done");
	link_free(translator.link, "done");
}

/* A raw peer that says hello properly and then sends what it likes. */
static int connect_raw(struct peer *translator, const char *bytes, size_t len, bool hello)
{
	struct hello value = {.version_min = 1,
		.version_max = 1,
		.role = ROLE_PROVIDER,
		.name = STR("raw"),
		.software = STR("raw 1")};
	struct schema_error error;
	struct buf out;
	int ups = translator->ups;
	buf_init(&out, 65536);
	int fd = unix_connect(path);
	assert_true(fd >= 0);
	if (hello)
		assert_int_equal(message_encode(MESSAGE_HELLO, &value, &out, &error), 0);
	assert_int_equal(buf_append(&out, bytes, len), 0);
	/* Byte by byte, so that every split is seen. */
	for (size_t i = 0; i < buf_len(&out); i++) {
		if (send(fd, buf_data(&out) + i, 1, MSG_NOSIGNAL) != 1)
			break;
		ev_run(loop, EVRUN_NOWAIT);
	}
	buf_fini(&out);
	if (hello)
		await_count(&translator->ups, ups + 1);
	return fd;
}

static void await_cut(int fd)
{
	char bytes[4096];
	ssize_t got = -1;
	ev_tstamp end = ev_time() + 10;
	while (got != 0 && ev_time() < end) {
		ev_run(loop, EVRUN_NOWAIT);
		got = recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT);
		usleep(200);
	}
	assert_int_equal(got, 0);
	close(fd);
}

static void faults_cut_the_link_and_nothing_else(void **state)
{
	static const struct {
		const char *name;
		const char *bytes;
		size_t len;
		bool hello;
	} cases[] = {
		{"garbage instead of hello", "GET / HTTP/1.1\r\n\r\n", 18, false},
		{"message before hello", "\0\0\0\x0c\x92\xa4ping\x81\xa3seq\x01", 16, false},
		{"too long", "\xff\xff\xff\xff", 4, true},
		{"empty", "\0\0\0\0", 4, true},
		{"no msgpack", "\0\0\0\1\xc1", 5, true},
		{"two hellos", "\0\0\0\x08\x92\xa5hello\x80", 12, true},
		{"malformed", "\0\0\0\x08\x92\xa4ping\x81\xc0", 12, true},
		{"bye",
			"\0\0\0\x0f\x92\xa3"
			"bye\x81\xa6reason\xa1x",
			19, true},
		{"silence after hello", "", 0, true},
		{"silence instead of hello", "", 0, false},
		{"half a frame", "\0\0\0\x0c\x92\xa4", 6, true},
	};
	struct peer translator = {0};
	(void)state;
	listen_as_translator(&translator);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		int fd = connect_raw(&translator, cases[i].bytes, cases[i].len, cases[i].hello);
		await_cut(fd);
		assert_int_equal(translator.ups, translator.downs);
	}
	/* And a good peer is served afterwards. */
	struct peer provider = {0};
	int ups = translator.ups;
	connect_as(&provider, ROLE_PROVIDER, 1);
	await_count(&translator.ups, ups + 1);
	link_free(provider.link, "done");
	link_free(translator.link, "done");
}

/* A frame of 64 kB, a byte now and then, until the connection is cut: the last words are to say why. */
static void drip_until_cut(int fd, const char *why)
{
	static const char head[] = {0, 1, 0, 0};
	char said[4096];
	size_t len = 0;
	ev_tstamp end = ev_time() + 10;
	ev_tstamp next = 0;
	size_t sent = 0;
	ssize_t got = -1;
	while (got != 0 && ev_time() < end) {
		if (ev_time() >= next) {
			(void)send(fd, sent < sizeof(head) ? &head[sent] : "x", 1, MSG_NOSIGNAL);
			sent++;
			next = ev_time() + 0.02;
		}
		ev_run(loop, EVRUN_NOWAIT);
		got = recv(fd, said + len, sizeof(said) - len, MSG_DONTWAIT);
		len += got > 0 ? (size_t)got : 0;
		usleep(500);
	}
	if (got != 0)
		fail_msg("who drips keeps his place");
	if (memmem(said, len, why, strlen(why)) == NULL)
		fail_msg("the last words do not say \"%s\"", why);
	close(fd);
}

/* Each byte is a sign of life, but none by which a place is kept. */
static void who_drips_does_not_keep_his_place(void **state)
{
	struct peer translator = {0};
	struct peer provider = {0};
	(void)state;
	listen_as_translator(&translator);
	int fd = unix_connect(path);
	assert_true(fd >= 0);
	drip_until_cut(fd, "no hello");
	assert_int_equal(translator.ups, 0);
	drip_until_cut(connect_raw(&translator, "", 0, true), "was begun and not ended");
	assert_int_equal(translator.downs, 1);
	/* The place is free for another. */
	connect_as(&provider, ROLE_PROVIDER, 1);
	await_count(&translator.ups, 2);
	link_free(provider.link, "done");
	link_free(translator.link, "done");
}

static void a_refused_message_cuts_the_link(void **state)
{
	struct peer translator = {.fail_messages = true};
	struct peer provider = {0};
	(void)state;
	listen_as_translator(&translator);
	connect_as(&provider, ROLE_PROVIDER, 1);
	await_count(&provider.ups, 1);
	send_status(&provider);
	await_count(&provider.downs, 1);
	assert_int_equal(translator.statuses, 1);
	link_free(provider.link, "done");
	link_free(translator.link, "done");
}

static void idle_peers_keep_each_other_alive(void **state)
{
	struct peer translator = {0};
	struct peer provider = {0};
	(void)state;
	listen_as_translator(&translator);
	connect_as(&provider, ROLE_PROVIDER, 1);
	await_count(&translator.ups, 1);
	ev_tstamp end = ev_time() + 1.0;
	while (ev_time() < end) {
		ev_run(loop, EVRUN_NOWAIT);
		usleep(2000);
	}
	assert_int_equal(translator.downs + provider.downs, 0);
	link_free(provider.link, "done");
	link_free(translator.link, "done");
}

static void a_slow_reader_fills_and_then_makes_room(void **state)
{
	struct peer translator = {0};
	(void)state;
	listen_as_translator(&translator);
	int fd = connect_raw(&translator, "", 0, true);
	char payload[] = "\x92\xa3zap\x80";
	int sent = 0;
	while (!link_is_full(translator.link)) {
		link_send_payload(translator.link, (struct str){payload, sizeof(payload) - 1});
		sent++;
	}
	int rooms = translator.rooms;
	char bytes[65536];
	size_t total = 0;
	ev_tstamp end = ev_time() + 10;
	while (translator.rooms == rooms && ev_time() < end) {
		ev_run(loop, EVRUN_NOWAIT);
		ssize_t got = recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT);
		total += got > 0 ? (size_t)got : 0;
	}
	assert_int_equal(translator.rooms, rooms + 1);
	assert_true(total > 0 && sent > 0);
	close(fd);
	await_count(&translator.downs, 1);
	link_free(translator.link, "done");
}

/* However much it says meanwhile. */
static void who_reads_nothing_is_cut(void **state)
{
	static const char ping[] = "\0\0\0\x0c\x92\xa4ping\x81\xa3seq\x01";
	char payload[] = "\x92\xa3zap\x80";
	struct peer translator = {0};
	(void)state;
	listen_as_translator(&translator);
	int fd = connect_raw(&translator, "", 0, true);
	while (!link_is_full(translator.link))
		link_send_payload(translator.link, (struct str){payload, sizeof(payload) - 1});
	ev_tstamp end = ev_time() + 10;
	while (translator.downs == 0 && ev_time() < end) {
		(void)send(fd, ping, sizeof(ping) - 1, MSG_NOSIGNAL | MSG_DONTWAIT);
		ev_run(loop, EVRUN_NOWAIT);
		usleep(5000);
	}
	assert_int_equal(translator.downs, 1);
	close(fd);
	link_free(translator.link, "done");
}

static void a_living_listener_is_not_replaced(void **state)
{
	struct peer translator = {0};
	struct peer second = {0};
	(void)state;
	listen_as_translator(&translator);
	struct link_config config = config_of(&second, ROLE_TRANSLATOR, ROLE_PROVIDER);
	int err = 0;
	assert_null(link_listen(&config, &err));
	assert_int_equal(err, -98);
	link_free(translator.link, "done");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(both_come_up_and_talk),
		cmocka_unit_test(a_lost_listener_is_found_again),
		cmocka_unit_test(versions_and_roles_must_fit),
		cmocka_unit_test(an_owner_may_refuse),
		cmocka_unit_test(a_second_peer_is_told_why),
		cmocka_unit_test(faults_cut_the_link_and_nothing_else),
		cmocka_unit_test(who_drips_does_not_keep_his_place),
		cmocka_unit_test(a_refused_message_cuts_the_link),
		cmocka_unit_test(idle_peers_keep_each_other_alive),
		cmocka_unit_test(a_slow_reader_fills_and_then_makes_room),
		cmocka_unit_test(who_reads_nothing_is_cut),
		cmocka_unit_test(a_living_listener_is_not_replaced),
	};
	loop = ev_default_loop(0);
	if (mkdtemp(dir) == NULL)
		return 1;
	snprintf(path, sizeof(path), "%s/provider.sock", dir);
	log_set_sink(count_lines, NULL);
	int failed = cmocka_run_group_tests(tests, NULL, NULL);
	unlink(path);
	rmdir(dir);
	ev_loop_destroy(loop);
	return failed;
}
