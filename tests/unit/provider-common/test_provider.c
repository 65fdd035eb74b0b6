// SPDX-License-Identifier: Apache-2.0
/* A provider and the translator's end of its link, in one loop. */
#include "provider-common/provider.h"

#include "objects.h"
#include "common/must.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <cmocka.h>

struct fixture {
	struct ev_loop *loop;
	char dir[64];
	char path[96];
	struct link *translator;
	struct provider *provider;
	struct arena arena;
	struct capabilities capabilities;
	/* What each side has seen: */
	char log[1024];
	uint64_t serial;
	enum lb_state says;
	bool peer_is_up;
	ev_timer limit;
};

[[gnu::format(printf, 2, 3)]] static void note(struct fixture *f, const char *format, ...)
{
	size_t len = strlen(f->log);
	va_list args;
	va_start(args, format);
	if (len != 0)
		len += (size_t)snprintf(f->log + len, sizeof(f->log) - len, " ");
	vsnprintf(f->log + len, sizeof(f->log) - len, format, args);
	va_end(args);
}

/* ---- the provider ---- */

static void on_commit(void *ctx, const struct state_commit *commit)
{
	note(ctx, "commit:%zu%s", commit->change_count, commit->is_snapshot ? "s" : "");
}

static bool fill_status(
	void *ctx, struct object *load_balancer, struct arena *arena, struct lb_status *status)
{
	struct fixture *f = ctx;
	(void)load_balancer;
	(void)arena;
	status->state = f->says;
	return true;
}

static void on_link(void *ctx, bool is_up)
{
	note(ctx, is_up ? "up" : "down");
}

static const struct provider_ops provider_ops = {
	.on_commit = on_commit,
	.fill_status = fill_status,
	.on_link = on_link,
};

/* ---- the translator ---- */

static const char *peer_up(void *ctx, struct link *link, const struct hello *peer)
{
	struct fixture *f = ctx;
	(void)link;
	f->peer_is_up = true;
	f->serial = 0;
	note(f, "hello:%.*s%s", STR_FMT(peer->name),
		peer->capabilities->grouping == GROUPING_PER_INGRESS ? "" : "?");
	return NULL;
}

static int peer_message(void *ctx, struct link *link, const struct message *message)
{
	static const char *const states[] = {"pending", "applied", "failed"};
	struct fixture *f = ctx;
	if (message->type == MESSAGE_LB_STATUS) {
		struct lb_status status;
		must(link_decode(link, message, &f->arena, &status) == 0);
		note(f, "%.*s=%s", STR_FMT(status.id), states[status.state]);
	} else if (message->type == MESSAGE_LB_APPLIED) {
		struct lb_applied applied;
		must(link_decode(link, message, &f->arena, &applied) == 0);
		note(f, "applied:%llu", (unsigned long long)applied.serial);
	} else if (message->type == MESSAGE_LB_EVENT) {
		struct lb_event event;
		must(link_decode(link, message, &f->arena, &event) == 0);
		note(f, "event=%.*s", STR_FMT(event.reason));
	}
	return 0;
}

static void peer_dry(void *ctx, struct link *link)
{
	(void)ctx;
	(void)link;
}

static void peer_down(void *ctx, struct link *link)
{
	struct fixture *f = ctx;
	(void)link;
	f->peer_is_up = false;
	note(f, "bye");
}

static const struct link_ops peer_ops = {peer_up, peer_message, peer_dry, peer_dry, peer_down};

static void listen_as_translator(struct fixture *f)
{
	int err = 0;
	struct link_config config = {
		.loop = f->loop,
		.path = f->path,
		.socket_name = "provider.sock",
		.hello = {.version_min = 1,
			.version_max = 1,
			.role = ROLE_TRANSLATOR,
			.name = STR("translator"),
			.software = STR("test")},
		.peer_role = ROLE_PROVIDER,
		.ops = &peer_ops,
		.ctx = f,
	};
	f->translator = link_listen(&config, &err);
	must(f->translator != NULL);
}

static void begin(struct fixture *f)
{
	struct sync_mark mark = {.kind = RECORD_NONE};
	must(link_send(f->translator, MESSAGE_SYNC_BEGIN, &mark) == 0);
}

static void send_lb(struct fixture *f, const char *id)
{
	struct schema_error error = {""};
	uint64_t rev;
	struct load_balancer lb = make_load_balancer(id, id);
	must(message_encode_object(&lb, link_out(f->translator), &rev, &error) == 0);
	link_flush(f->translator);
}

static void send_commit(struct fixture *f)
{
	struct lb_commit commit = {.serial = ++f->serial};
	must(link_send(f->translator, MESSAGE_COMMIT, &commit) == 0);
}

/* ---- waiting ---- */

static void too_late(struct ev_loop *loop, ev_timer *timer, int events)
{
	(void)timer;
	(void)events;
	ev_break(loop, EVBREAK_ALL);
}

/* Runs the loop until the log is as wanted, and empties it. */
static void expect(struct fixture *f, const char *want)
{
	ev_tstamp until = ev_time() + 20.;
	while (strcmp(f->log, want) != 0 && ev_time() < until) {
		f->limit.repeat = 0.2;
		ev_timer_again(f->loop, &f->limit);
		ev_run(f->loop, EVRUN_ONCE);
	}
	ev_timer_stop(f->loop, &f->limit);
	assert_string_equal(f->log, want);
	f->log[0] = '\0';
}

/* A round trip through both ends, for proving that nothing came. */
static void expect_nothing(struct fixture *f)
{
	send_commit(f);
	expect(f, "commit:0");
}

static int set_up(void **ret_fixture)
{
	struct fixture *f = calloc(1, sizeof(*f));
	f->loop = ev_loop_new(EVFLAG_AUTO);
	snprintf(f->dir, sizeof(f->dir), "/tmp/sluice-test-XXXXXX");
	if (mkdtemp(f->dir) == NULL)
		return -1;
	snprintf(f->path, sizeof(f->path), "%s/provider.sock", f->dir);
	arena_init(&f->arena);
	ev_init(&f->limit, too_late);
	listen_as_translator(f);
	struct provider_config config = {
		.loop = f->loop,
		.socket_path = f->path,
		.name = STR("test"),
		.software = STR("test 1"),
		.capabilities = &f->capabilities,
		.want_touched = true,
		.ops = &provider_ops,
		.ctx = f,
	};
	f->provider = provider_new(&config);
	*ret_fixture = f;
	return 0;
}

static int tear_down(void **fixture)
{
	struct fixture *f = *fixture;
	provider_free(f->provider, "end of test");
	link_free(f->translator, "end of test");
	arena_fini(&f->arena);
	ev_loop_destroy(f->loop);
	unlink(f->path);
	rmdir(f->dir);
	free(f);
	return 0;
}

static struct object *lb(struct fixture *f, const char *id)
{
	return state_find(provider_state(f->provider), LB_LOAD_BALANCER, str_from(id));
}

static void wait_for_snapshot_of_two(struct fixture *f)
{
	expect(f, "hello:test up");
	begin(f);
	send_lb(f, "a");
	send_lb(f, "b");
	send_commit(f);
	expect(f, "commit:2s a=pending b=pending");
}

static void tells_statuses_after_the_snapshot_and_when_they_change(void **fixture)
{
	struct fixture *f = *fixture;
	wait_for_snapshot_of_two(f);
	f->says = LB_STATE_APPLIED;
	provider_status_changed(f->provider, lb(f, "b"));
	provider_status_changed(f->provider, lb(f, "b"));
	expect(f, "b=applied");
	provider_status_changed(f->provider, lb(f, "b"));
	expect_nothing(f);
}

static void a_new_connection_is_told_everything_again(void **fixture)
{
	struct fixture *f = *fixture;
	wait_for_snapshot_of_two(f);
	link_free(f->translator, "restart");
	listen_as_translator(f);
	f->says = LB_STATE_FAILED;
	expect(f, "down hello:test up");
	assert_non_null(lb(f, "a"));
	struct lb_event event = {.id = STR("a"), .reason = STR("Meanwhile"), .message = STR("m")};
	provider_event(f->provider, &event);
	begin(f);
	send_lb(f, "a");
	send_commit(f);
	expect(f, "commit:1s a=failed event=Meanwhile");
	assert_null(lb(f, "b"));
}

static void the_newest_commit_that_is_applied_is_told_once(void **fixture)
{
	struct fixture *f = *fixture;
	provider_set_applied(f->provider, true); /* nothing, so far */
	expect(f, "hello:test up");
	provider_set_applied(f->provider, false);
	begin(f);
	send_lb(f, "a");
	send_commit(f);
	send_commit(f);
	expect(f, "commit:1s commit:0 a=pending");
	provider_set_applied(f->provider, true);
	provider_set_applied(f->provider, true);
	expect(f, "applied:2");
	provider_set_applied(f->provider, false);
	provider_set_applied(f->provider, true);
	expect_nothing(f);
	link_free(f->translator, "restart");
	listen_as_translator(f);
	expect(f, "down hello:test up");
	begin(f);
	send_lb(f, "a");
	send_commit(f);
	expect(f, "commit:0s a=pending applied:1");
}

static void half_a_snapshot_removes_nothing(void **fixture)
{
	struct fixture *f = *fixture;
	wait_for_snapshot_of_two(f);
	link_free(f->translator, "restart");
	listen_as_translator(f);
	expect(f, "down hello:test up");
	begin(f);
	send_lb(f, "c");
	link_free(f->translator, "restart");
	listen_as_translator(f);
	expect(f, "down hello:test up");
	assert_non_null(lb(f, "a"));
	assert_non_null(lb(f, "b"));
	assert_null(lb(f, "c"));
}

static void a_peer_that_breaks_the_rules_loses_the_link(void **fixture)
{
	struct fixture *f = *fixture;
	expect(f, "hello:test up");
	send_lb(f, "a");
	expect(f, "down bye hello:test up");
	begin(f);
	send_commit(f);
	f->serial++;
	send_commit(f);
	expect(f, "commit:0s down bye hello:test up");
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(tells_statuses_after_the_snapshot_and_when_they_change),
		TEST(a_new_connection_is_told_everything_again),
		TEST(the_newest_commit_that_is_applied_is_told_once),
		TEST(half_a_snapshot_removes_nothing),
		TEST(a_peer_that_breaks_the_rules_loses_the_link),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
