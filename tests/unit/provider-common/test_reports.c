// SPDX-License-Identifier: Apache-2.0
#include "provider-common/reports.h"

#include "objects.h"
#include "provider-common/metrics.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

enum { BALANCERS = 3, EVENTS_MAX = 4 };

struct fixture {
	struct state *state;
	struct reports *reports;
	struct message_reader *reader;
	struct arena arena;
	struct buf buf;
	struct object *lbs[BALANCERS];
	enum lb_state says; /* of all of them */
	const char *message;
	bool is_silent;
	int unsendable;
};

static bool fill_status(
	void *ctx, struct object *load_balancer, struct arena *arena, struct lb_status *status)
{
	struct fixture *f = ctx;
	status->state = f->says;
	status->message =
		arena_printf(arena, "%s %.*s", f->message, STR_FMT(object_id(load_balancer)));
	return !f->is_silent;
}

static void on_unsendable(void *ctx, struct str id, const char *why)
{
	struct fixture *f = ctx;
	(void)id;
	(void)why;
	f->unsendable++;
}

static const struct reports_ops ops = {fill_status, on_unsendable};

static int set_up(void **ret_fixture)
{
	static const struct state_config config = {.want_touched = false};
	struct fixture *f = calloc(1, sizeof(*f));
	struct schema_error error = {""};
	f->state = state_new(&config);
	f->reports = reports_new(EVENTS_MAX, &ops, f);
	f->reader = message_reader_new();
	f->message = "of";
	arena_init(&f->arena);
	buf_init(&f->buf, FRAME_LEN_MAX);
	static const char *const ids[BALANCERS] = {"a", "b", "c"};
	struct state_commit commit;
	for (int i = 0; i < BALANCERS; i++) {
		struct load_balancer lb = make_load_balancer(ids[i], ids[i]);
		struct message message;
		if (message_open(f->reader, encode_upsert(&f->buf, &lb), &message, &error) != 0 ||
			state_stage_upsert(f->state, &message, &f->arena, &error) != 0)
			return -1;
	}
	state_commit(f->state, &commit);
	state_commit_done(f->state);
	for (int i = 0; i < BALANCERS; i++)
		f->lbs[i] = state_find(f->state, LB_LOAD_BALANCER, str_from(ids[i]));
	*ret_fixture = f;
	return 0;
}

static int tear_down(void **fixture)
{
	struct fixture *f = *fixture;
	for (int i = 0; i < BALANCERS; i++)
		reports_forget(f->reports, f->lbs[i]);
	reports_free(f->reports);
	state_free(f->state);
	message_reader_free(f->reader);
	arena_fini(&f->arena);
	buf_fini(&f->buf);
	free(f);
	return 0;
}

/* Takes everything; "a:applied b:pending event:Reason". */
static const char *take_all(struct fixture *f)
{
	static char text[256];
	static const char *const states[] = {"pending", "applied", "failed"};
	struct str payload;
	struct schema_error error = {""};
	text[0] = '\0';
	while (reports_take(f->reports, &payload)) {
		struct message message;
		size_t len = strlen(text);
		assert_int_equal(message_open(f->reader, payload, &message, &error), 0);
		if (message.type == MESSAGE_LB_STATUS) {
			struct lb_status status;
			assert_int_equal(message_decode(&message, &f->arena, &status, &error), 0);
			assert_true(status.rev ==
				    object_rev(state_find(f->state, LB_LOAD_BALANCER, status.id)));
			snprintf(text + len, sizeof(text) - len, "%s%.*s:%s", len != 0 ? " " : "",
				STR_FMT(status.id), states[status.state]);
		} else {
			struct lb_event event;
			assert_int_equal(message.type, MESSAGE_LB_EVENT);
			assert_int_equal(message_decode(&message, &f->arena, &event, &error), 0);
			snprintf(text + len, sizeof(text) - len, "%sevent:%.*s",
				len != 0 ? " " : "", STR_FMT(event.reason));
		}
	}
	return text;
}

static void tells_what_is_true_when_it_is_taken(void **fixture)
{
	struct fixture *f = *fixture;
	reports_mark(f->reports, f->lbs[1]);
	reports_mark(f->reports, f->lbs[0]);
	reports_mark(f->reports, f->lbs[1]);
	f->says = LB_STATE_APPLIED;
	assert_string_equal(take_all(f), "b:applied a:applied");
	assert_string_equal(take_all(f), "");
}

static void tells_nothing_twice(void **fixture)
{
	struct fixture *f = *fixture;
	reports_mark(f->reports, f->lbs[0]);
	assert_string_equal(take_all(f), "a:pending");
	reports_mark(f->reports, f->lbs[0]);
	assert_string_equal(take_all(f), "");
	f->message = "something else of";
	reports_mark(f->reports, f->lbs[0]);
	assert_string_equal(take_all(f), "a:pending");
	reports_forget_told(f->reports);
	reports_mark(f->reports, f->lbs[0]);
	assert_string_equal(take_all(f), "a:pending");
}

static void may_have_nothing_to_say_yet(void **fixture)
{
	struct fixture *f = *fixture;
	f->is_silent = true;
	reports_mark(f->reports, f->lbs[0]);
	assert_string_equal(take_all(f), "");
	f->is_silent = false;
	reports_mark(f->reports, f->lbs[0]);
	assert_string_equal(take_all(f), "a:pending");
}

static void forgets_what_is_removed(void **fixture)
{
	struct fixture *f = *fixture;
	reports_mark(f->reports, f->lbs[0]);
	reports_mark(f->reports, f->lbs[2]);
	reports_forget(f->reports, f->lbs[0]);
	assert_false(object_report(f->lbs[0])->is_marked);
	assert_int_equal(object_report(f->lbs[0])->told_in, 0);
	assert_string_equal(take_all(f), "c:pending");
}

static void keeps_the_newest_events(void **fixture)
{
	struct fixture *f = *fixture;
	char reason[16];
	for (int i = 0; i < EVENTS_MAX + 2; i++) {
		snprintf(reason, sizeof(reason), "R%d", i);
		struct lb_event event = {
			.id = STR("a"), .reason = str_from(reason), .message = STR("m")};
		reports_add_event(f->reports, &event);
	}
	reports_mark(f->reports, f->lbs[0]);
	assert_string_equal(take_all(f), "a:pending event:R2 event:R3 event:R4 event:R5");
}

static void leaves_out_what_breaks_the_protocol(void **fixture)
{
	struct fixture *f = *fixture;
	static char long_text[8192];
	memset(long_text, 'x', sizeof(long_text) - 1);
	f->message = long_text;
	reports_mark(f->reports, f->lbs[0]);
	assert_string_equal(take_all(f), "");
	assert_int_equal(f->unsendable, 1);
	struct lb_event event = {
		.id = STR("a"), .reason = STR("R"), .message = str_from(long_text)};
	reports_add_event(f->reports, &event);
	assert_int_equal(f->unsendable, 2);
	assert_string_equal(take_all(f), "");
}

static double applies(void)
{
	return provider_metrics[PROVIDER_APPLIES].values[0];
}

static void counts_a_change_whose_status_says_the_same(void **fixture)
{
	struct fixture *f = *fixture;
	double before = applies();
	f->says = LB_STATE_APPLIED;
	reports_set_time(f->reports, 1);
	reports_note_same(f->reports, f->lbs[0]);
	reports_mark(f->reports, f->lbs[0]);
	assert_string_equal(take_all(f), "a:applied");
	assert_true(applies() == before);
	reports_note_change(f->reports, f->lbs[0]);
	reports_note_same(f->reports, f->lbs[0]);
	assert_true(applies() == before + 1);
	assert_string_equal(take_all(f), "");
	/* One that is to be made is made, and counts then. */
	reports_note_change(f->reports, f->lbs[0]);
	reports_mark(f->reports, f->lbs[0]);
	reports_note_same(f->reports, f->lbs[0]);
	assert_true(applies() == before + 1);
	f->message = "something else of";
	assert_string_equal(take_all(f), "a:applied");
	assert_true(applies() == before + 2);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(tells_what_is_true_when_it_is_taken),
		TEST(tells_nothing_twice),
		TEST(may_have_nothing_to_say_yet),
		TEST(forgets_what_is_removed),
		TEST(keeps_the_newest_events),
		TEST(leaves_out_what_breaks_the_protocol),
		TEST(counts_a_change_whose_status_says_the_same),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
