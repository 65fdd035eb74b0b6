// SPDX-License-Identifier: Apache-2.0
#include "common/xalloc.h"
#include "watcher/status_plan.h"
#include "watcher/status_text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#define A "[{\"ip\":\"192.0.2.1\"}]"
#define B "[{\"ip\":\"192.0.2.2\"}]"

static struct status_view view(const char *revision, const char *status, bool ours)
{
	return (struct status_view){
		.revision = revision, .status = str_from(status), .is_ours = ours};
}

static enum status_step decide(
	struct status_wish *wish, const char *revision, const char *status, bool ours, double now)
{
	struct status_view v = view(revision, status, ours);
	double until = 0;
	return status_decide(wish, &v, now, &until);
}

/* A wish of its own for each test that asks for one. */
static int make_wish(void **state)
{
	*state = xcalloc(1, sizeof(struct status_wish));
	return 0;
}

static int free_wish(void **state)
{
	status_wish_fini(*state);
	free(*state);
	return 0;
}

#define wish_test(test) cmocka_unit_test_setup_teardown(test, make_wish, free_wish)

static void a_write_happens_only_while_the_object_shows_something_else(void **state)
{
	static const struct {
		const char *name;
		const char *want;
		bool release;
		const char *shown;
		bool ours;
		enum status_step step;
	} rows[] = {
		{"new address", A, false, NULL, false, STATUS_WRITE},
		{"the same", A, false, A, false, STATUS_NOTHING},
		{"another", A, false, B, false, STATUS_WRITE},
		{"no addresses any more", NULL, false, A, false, STATUS_WRITE},
		{"none and none", NULL, false, NULL, false, STATUS_NOTHING},
		{"released and ours", NULL, true, A, true, STATUS_WRITE},
		{"released and not ours", NULL, true, A, false, STATUS_NOTHING},
		{"released and empty", NULL, true, NULL, true, STATUS_NOTHING},
	};
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct status_wish wish = {0};
		(void)status_wish_set(&wish, str_from(rows[i].want), rows[i].release);
		enum status_step step = decide(&wish, "5", rows[i].shown, rows[i].ours, 100);
		if (step != rows[i].step)
			fail_msg("%s: %d", rows[i].name, (int)step);
		status_wish_fini(&wish);
	}
}

static struct status_wish written(const char *want, const char *left, const char *left_at)
{
	struct status_wish wish = {0};
	(void)status_wish_set(&wish, str_from(want), false);
	status_begun(&wish, 100);
	status_written(&wish, str_from(want), str_from(left), str_from(left_at), 100);
	return wish;
}

static void a_write_waits_for_the_watch_to_bring_it_back(void **state)
{
	(void)state;
	struct status_wish wish = written(A, A, "20");
	/* The cache is older than our write: neither a difference nor somebody else's doing. */
	struct status_view old = view("10", NULL, false);
	assert_false(status_saw(&wish, &old, 101));
	assert_int_equal(decide(&wish, "10", NULL, false, 101), STATUS_WAIT);
	assert_int_equal(decide(&wish, "20", A, true, 101), STATUS_NOTHING);
	status_wish_fini(&wish);
}

static void what_comes_back_from_a_backup_is_put_right(void **state)
{
	(void)state;
	static const char *const shown[] = {NULL, B};
	for (size_t i = 0; i < 2; i++) {
		struct status_wish wish = written(A, A, "2000");
		assert_int_equal(decide(&wish, "2000", A, true, 101), STATUS_NOTHING);
		/* Revisions begin again below what was answered. That is nobody's doing. */
		struct status_view v = view("30", shown[i], false);
		assert_false(status_saw(&wish, &v, 5000));
		assert_int_equal(decide(&wish, "30", shown[i], false, 5000), STATUS_WRITE);
		status_begun(&wish, 5000);
		status_written(&wish, STR(A), STR(A), STR("31"), 5000);
		assert_int_equal(decide(&wish, "31", A, true, 5001), STATUS_NOTHING);
		assert_int_equal(decide(&wish, "40", B, false, 5020), STATUS_WRITE);
		status_wish_fini(&wish);
	}
}

static void while_a_write_is_under_way_nothing_else_begins(void **state)
{
	struct status_wish *wish = *state;
	(void)status_wish_set(wish, STR(A), false);
	status_begun(wish, 100);
	assert_int_equal(decide(wish, "5", NULL, false, 100), STATUS_NOTHING);
}

static void a_server_that_keeps_less_is_not_written_to_again(void **state)
{
	(void)state;
	struct status_wish wish = written(
		"[{\"ip\":\"192.0.2.1\",\"ports\":[{\"port\":80,\"protocol\":\"TCP\"}]}]", A, "20");
	assert_int_equal(decide(&wish, "20", A, true, 101), STATUS_NOTHING);
	assert_int_equal(decide(&wish, "30", A, true, 101), STATUS_NOTHING); /* some other change */
	assert_int_equal(decide(&wish, "40", B, false, 101), STATUS_WRITE);
	(void)status_wish_set(&wish, STR(B), false);
	assert_int_equal(decide(&wish, "40", A, true, 101), STATUS_WRITE);
	status_wish_fini(&wish);
}

#define A_PORTS "[{\"ip\":\"192.0.2.1\",\"ports\":[{\"port\":80,\"protocol\":\"TCP\"}]}]"

static void ports_are_not_compared_where_the_server_drops_them(void **state)
{
	static const struct {
		enum status_ports ports;
		const char *shown;
		enum status_step step;
	} rows[] = {
		{STATUS_PORTS_UNKNOWN, A, STATUS_WRITE},
		{STATUS_PORTS_KEPT, A, STATUS_WRITE},
		{STATUS_PORTS_DROPPED, A, STATUS_NOTHING},
		{STATUS_PORTS_DROPPED, A_PORTS, STATUS_NOTHING},
		{STATUS_PORTS_DROPPED, B, STATUS_WRITE},
		{STATUS_PORTS_DROPPED, NULL, STATUS_WRITE},
	};
	struct status_wish *wish = *state;
	(void)status_wish_set(wish, STR(A_PORTS), false);
	status_wish_set_without_ports(wish, STR(A));
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct status_view v = view("5", rows[i].shown, true);
		double until = 0;
		v.ports = rows[i].ports;
		assert_int_equal(status_decide(wish, &v, 100, &until), rows[i].step);
	}
	/* The next wish has none. */
	(void)status_wish_set(wish, STR(B), false);
	struct status_view v = view("5", A, true);
	assert_false(status_is_about_ports(wish, &v));
}

static void an_answer_tells_whether_the_server_keeps_ports(void **state)
{
	static const struct {
		const char *written;
		const char *shown;
		enum status_ports known[3]; /* by what was known before */
	} rows[] = {
		{A_PORTS, A_PORTS, {STATUS_PORTS_KEPT, STATUS_PORTS_KEPT, STATUS_PORTS_KEPT}},
		{A_PORTS, A, {STATUS_PORTS_DROPPED, STATUS_PORTS_DROPPED, STATUS_PORTS_DROPPED}},
		{A_PORTS, B, {STATUS_PORTS_UNKNOWN, STATUS_PORTS_KEPT, STATUS_PORTS_DROPPED}},
		/* The answer to what was wished for before. */
		{A, A, {STATUS_PORTS_UNKNOWN, STATUS_PORTS_KEPT, STATUS_PORTS_DROPPED}},
		/* Somebody else may have written it. */
		{NULL, A, {STATUS_PORTS_UNKNOWN, STATUS_PORTS_KEPT, STATUS_PORTS_DROPPED}},
		{NULL, A_PORTS, {STATUS_PORTS_KEPT, STATUS_PORTS_KEPT, STATUS_PORTS_KEPT}},
		{NULL, NULL, {STATUS_PORTS_UNKNOWN, STATUS_PORTS_KEPT, STATUS_PORTS_DROPPED}},
	};
	struct status_wish *wish = *state;
	(void)status_wish_set(wish, STR(A_PORTS), false);
	status_wish_set_without_ports(wish, STR(A));
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		for (enum status_ports known = 0; known <= STATUS_PORTS_DROPPED; known++)
			assert_int_equal(status_learn_ports(known, wish, str_from(rows[i].written),
						 str_from(rows[i].shown)),
				rows[i].known[known]);
	}
}

static void a_release_takes_back_what_was_written_in_this_life(void **state)
{
	(void)state;
	struct status_wish wish = written(A, A, "20");
	(void)status_wish_set(&wish, STR_NONE, true);
	/* Servers without managed fields say nothing of who wrote it. */
	assert_int_equal(decide(&wish, "20", A, false, 101), STATUS_WRITE);
	assert_int_equal(status_target(&wish).len, 0);
	/* Somebody else owns it already. */
	assert_int_equal(decide(&wish, "30", B, false, 101), STATUS_NOTHING);
	status_wish_fini(&wish);
}

static void a_release_before_the_watch_brings_the_write_back_is_kept(void **state)
{
	(void)state;
	struct status_wish wish = written(A, A, "20");
	(void)status_wish_set(&wish, STR_NONE, true);
	/* The object looks as if nothing had to be taken back. */
	struct status_view old = view("10", NULL, false);
	enum status_step step = decide(&wish, "10", NULL, false, 101);
	assert_int_equal(step, STATUS_WAIT);
	assert_false(status_is_done(&wish, &old, step));
	assert_int_equal(decide(&wish, "20", A, true, 101), STATUS_WRITE);
	status_wish_fini(&wish);
}

static void a_conflict_waits_for_the_newer_object(void **state)
{
	struct status_wish *wish = *state;
	double until = 0;
	struct status_view v = view("5", NULL, false);
	(void)status_wish_set(wish, STR(A), false);
	status_begun(wish, 100);
	status_conflicted(wish, STR("5"), 100);
	assert_int_equal(status_decide(wish, &v, 101, &until), STATUS_WAIT);
	assert_float_equal(until, 110, 1e-9);
	/* The newer object may show it already, or not. */
	assert_int_equal(decide(wish, "6", A, false, 102), STATUS_NOTHING);
	assert_int_equal(decide(wish, "6", NULL, false, 102), STATUS_WRITE);
	status_begun(wish, 102);
	status_conflicted(wish, STR("6"), 102);
	/* The watch has not brought it for long: try again. */
	assert_int_equal(decide(wish, "6", NULL, false, 113), STATUS_WRITE);
}

static void a_refusal_lasts_until_the_wish_changes(void **state)
{
	struct status_wish *wish = *state;
	(void)status_wish_set(wish, STR(A), false);
	status_begun(wish, 100);
	status_refused(wish, STR(A));
	assert_int_equal(decide(wish, "9", NULL, false, 1000), STATUS_NOTHING);
	assert_false(status_wish_set(wish, STR(A), false));
	assert_int_equal(decide(wish, "9", NULL, false, 1000), STATUS_NOTHING);
	assert_true(status_wish_set(wish, STR(B), false));
	assert_int_equal(decide(wish, "9", NULL, false, 1000), STATUS_WRITE);
	/* A wish that changed while the write was under way is not what was refused. */
	status_begun(wish, 1000);
	(void)status_wish_set(wish, STR(A), false);
	status_refused(wish, STR(B));
	assert_int_equal(decide(wish, "9", NULL, false, 1000), STATUS_WRITE);
}

static void failures_back_off_and_heed_the_server(void **state)
{
	static const double want[] = {1, 2, 4, 8, 16, 32, 60, 60};
	struct status_wish *wish = *state;
	double now = 100;
	(void)status_wish_set(wish, STR(A), false);
	for (size_t i = 0; i < 8; i++) {
		status_begun(wish, now);
		assert_float_equal(status_failed(wish, -1, 0, now), want[i], 1e-9);
		assert_int_equal(decide(wish, "5", NULL, false, now + want[i] - 0.01), STATUS_WAIT);
		now += 200;
	}
	assert_float_equal(status_failed(wish, 300, 0, now), 300, 1e-9);
	/* A new wish need not wait for what went wrong with the old one. */
	(void)status_wish_set(wish, STR(B), false);
	assert_int_equal(decide(wish, "5", NULL, false, now), STATUS_WRITE);
}

static void one_object_is_not_written_without_pause(void **state)
{
	struct status_wish *wish = *state;
	int count = 0;
	for (int i = 0; i < 100; i++) {
		(void)status_wish_set(wish, i % 2 == 0 ? STR(A) : STR(B), false);
		if (decide(wish, "5", NULL, false, 100) != STATUS_WRITE)
			continue;
		count++;
		status_begun(wish, 100);
		status_written(wish, STR(A), STR_NONE, STR("5"), 100);
	}
	assert_int_equal(count, STATUS_BURST);
	(void)status_wish_set(wish, STR(A), false);
	assert_int_equal(decide(wish, "6", B, false, 100), STATUS_WAIT);
	assert_int_equal(decide(wish, "6", B, false, 103), STATUS_WRITE);
}

/* We write A, the other writes B, again and again. Returns after how many times it was told to be a fight; 0: never. */
static int fight(struct status_wish *wish, double every_s, int rounds)
{
	double now = 1000;
	for (int i = 0; i < rounds; i++) {
		char ours[16];
		char theirs[16];
		snprintf(ours, sizeof(ours), "%d", 100 + 2 * i);
		snprintf(theirs, sizeof(theirs), "%d", 101 + 2 * i);
		if (decide(wish, ours, B, false, now) != STATUS_WRITE)
			return -1;
		status_begun(wish, now);
		status_written(wish, STR(A), STR(A), str_from(ours), now);
		struct status_view v = view(theirs, B, false);
		if (status_saw(wish, &v, now + 1))
			return i + 1;
		now += every_s;
	}
	return 0;
}

static void whoever_replaces_us_five_times_is_yielded_to_for_a_while(void **state)
{
	struct status_wish *wish = *state;
	(void)status_wish_set(wish, STR(A), false);
	assert_int_equal(fight(wish, 30, 10), 5);
	/* The last of them was at 1121. */
	assert_int_equal(decide(wish, "900", B, false, 1720), STATUS_WAIT);
	assert_int_equal(decide(wish, "900", B, false, 1722), STATUS_WRITE);
}

static void a_fight_that_goes_on_is_yielded_to_for_longer_each_time(void **state)
{
	static const double want[] = {1200, 2400, 3600, 3600};
	struct status_wish *wish = *state;
	double now = 1722;
	(void)status_wish_set(wish, STR(A), false);
	(void)fight(wish, 30, 10);
	for (int i = 0; i < 4; i++) {
		char ours[16];
		char theirs[16];
		snprintf(ours, sizeof(ours), "%d", 1000 + 2 * i);
		snprintf(theirs, sizeof(theirs), "%d", 1001 + 2 * i);
		assert_int_equal(decide(wish, "900", B, false, now), STATUS_WRITE);
		status_begun(wish, now);
		status_written(wish, STR(A), STR(A), str_from(ours), now);
		struct status_view v = view(theirs, B, false);
		assert_true(status_saw(wish, &v, now + 1));
		assert_int_equal(decide(wish, theirs, B, false, now + want[i]), STATUS_WAIT);
		now += want[i] + 2;
	}
	/* Whoever lets it stand for longer may begin anew. */
	assert_int_equal(decide(wish, "2000", B, false, now), STATUS_WRITE);
	status_begun(wish, now);
	status_written(wish, STR(A), STR(A), STR("2000"), now);
	struct status_view v = view("2001", B, false);
	assert_false(status_saw(wish, &v, now + 700));
	assert_int_equal(decide(wish, "2001", B, false, now + 700), STATUS_WRITE);
}

static void they_come_round_by_themselves(void **state)
{
	struct status_wish *wish = *state;
	(void)status_wish_set(wish, STR(A), false);
	assert_int_equal(fight(wish, 30, 10), 5);
	assert_int_equal(decide(wish, "901", A, false, 1200), STATUS_NOTHING);
	assert_int_equal(decide(wish, "902", B, false, 1300), STATUS_WRITE);
}

static void seldom_replacements_are_no_fight(void **state)
{
	struct status_wish *wish = *state;
	(void)status_wish_set(wish, STR(A), false);
	assert_int_equal(fight(wish, 200, 20), 0);
}

/* ---- finalizers ---- */

static struct status_view view_held(const char *revision, const char *status, const char *hold)
{
	return (struct status_view){.revision = revision,
		.status = str_from(status),
		.is_ours = true,
		.is_holdable = true,
		.wants_finalizer = strchr(hold, 'w') != NULL,
		.has_finalizer = strchr(hold, 'h') != NULL};
}

static enum status_step decide_held(
	struct status_wish *wish, const char *revision, const char *status, const char *hold)
{
	struct status_view v = view_held(revision, status, hold);
	double until = 0;
	(void)status_saw(wish, &v, 100);
	return status_decide(wish, &v, 100, &until);
}

static bool done(struct status_wish *wish, const char *status, const char *hold)
{
	struct status_view v = view_held("5", status, hold);
	double until = 0;
	return status_is_done(wish, &v, status_decide(wish, &v, 100, &until));
}

/* "w": it is ours and stays; "h": our finalizer stands. */
static void a_service_is_held_first_and_freed_last(void **state)
{
	static const struct {
		const char *name;
		const char *want; /* "-": the translator has said nothing */
		bool release;
		const char *shown;
		const char *hold;
		enum status_step step;
		bool is_done;
	} rows[] = {
		{"ours", "-", false, NULL, "w", STATUS_HOLD, false},
		{"ours and held", "-", false, NULL, "wh", STATUS_NOTHING, true},
		{"addresses, not held", A, false, NULL, "w", STATUS_HOLD, false},
		{"addresses, held", A, false, NULL, "wh", STATUS_WRITE, false},
		{"shown", A, false, A, "wh", STATUS_NOTHING, false},
		{"addresses, going and not held", A, false, NULL, "", STATUS_NOTHING, false},
		{"addresses, going and held", A, false, NULL, "h", STATUS_WRITE, false},
		{"going", "-", false, A, "h", STATUS_NOTHING, true},
		{"released, shown", NULL, true, A, "h", STATUS_WRITE, false},
		{"released, cleared", NULL, true, NULL, "h", STATUS_FREE, false},
		{"released and free", NULL, true, NULL, "", STATUS_NOTHING, true},
		{"released and free, still shown", NULL, true, A, "", STATUS_WRITE, false},
		{"released, and it stays", NULL, true, NULL, "wh", STATUS_NOTHING, false},
		{"no addresses is no release", NULL, false, NULL, "h", STATUS_NOTHING, false},
	};
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct status_wish wish = {.is_wanted = strchr(rows[i].hold, 'w') != NULL};
		if (rows[i].want == NULL || strcmp(rows[i].want, "-") != 0)
			(void)status_wish_set(&wish, str_from(rows[i].want), rows[i].release);
		enum status_step step = decide_held(&wish, "5", rows[i].shown, rows[i].hold);
		if (step != rows[i].step)
			fail_msg("%s: %d", rows[i].name, (int)step);
		if (done(&wish, rows[i].shown, rows[i].hold) != rows[i].is_done)
			fail_msg("%s: done or not", rows[i].name);
		status_wish_fini(&wish);
	}
}

static void a_finalizer_is_put_on_once(void **state)
{
	(void)state;
	struct status_wish wish = {.is_wanted = true};
	assert_int_equal(decide_held(&wish, "5", NULL, "w"), STATUS_HOLD);
	status_begun(&wish, 100);
	assert_int_equal(decide_held(&wish, "5", NULL, "w"), STATUS_NOTHING);
	status_held(&wish, STR("20"), 100);
	/* The cache is behind. */
	assert_int_equal(decide_held(&wish, "5", NULL, "w"), STATUS_WAIT);
	assert_false(done(&wish, NULL, "w"));
	assert_int_equal(decide_held(&wish, "20", NULL, "wh"), STATUS_NOTHING);
	/* Somebody takes it off. */
	assert_int_equal(decide_held(&wish, "30", NULL, "w"), STATUS_HOLD);
	status_wish_fini(&wish);
}

static void a_release_ends_where_a_service_becomes_ours_again(void **state)
{
	(void)state;
	struct status_wish wish = {0};
	(void)status_wish_set(&wish, STR_NONE, true);
	assert_int_equal(decide_held(&wish, "5", NULL, "h"), STATUS_FREE);
	assert_int_equal(decide_held(&wish, "6", NULL, "wh"), STATUS_NOTHING);
	assert_int_equal(decide_held(&wish, "7", NULL, "h"), STATUS_NOTHING);
	/* The same said again is a new release. */
	assert_true(status_wish_set(&wish, STR_NONE, true));
	assert_int_equal(decide_held(&wish, "7", NULL, "h"), STATUS_FREE);
	status_wish_fini(&wish);
	/* One that was said of a Service that stays holds when it goes. */
	wish = (struct status_wish){.is_wanted = true};
	(void)status_wish_set(&wish, STR_NONE, true);
	assert_int_equal(decide_held(&wish, "5", NULL, "wh"), STATUS_NOTHING);
	assert_int_equal(decide_held(&wish, "6", NULL, "h"), STATUS_FREE);
	status_wish_fini(&wish);
}

static void addresses_that_cannot_be_taken_away_hold_up_no_release(void **state)
{
	struct status_wish *wish = *state;
	(void)status_wish_set(wish, STR_NONE, true);
	assert_int_equal(decide_held(wish, "5", A, "h"), STATUS_WRITE);
	status_begun(wish, 100);
	status_refused(wish, STR_NONE);
	assert_int_equal(decide_held(wish, "5", A, "h"), STATUS_FREE);
}

/* ---- the canonical text ---- */

static void lists_that_mean_the_same_are_the_same_text(void **state)
{
	struct address_port ports[] = {
		{443, PROTOCOL_TCP}, {80, PROTOCOL_TCP}, {443, PROTOCOL_TCP}};
	struct address_port sorted[] = {{80, PROTOCOL_TCP}, {443, PROTOCOL_TCP}};
	struct address one[] = {{.hostname = STR("LB.example")}, {.ip = STR("2001:DB8:0::1")},
		{.ip = STR("192.0.2.1"), .ports = {ports, 3}}, {.hostname = STR("lb.EXAMPLE")}};
	struct address other[] = {{.ip = STR("192.0.2.1"), .ports = {sorted, 2}},
		{.ip = STR("2001:db8::1")}, {.hostname = STR("lb.example")}};
	struct arena arena;
	size_t refused = 99;
	(void)state;
	arena_init(&arena);
	struct str a = status_text(one, 4, &arena, &refused);
	assert_int_equal(refused, 0);
	assert_true(str_eq(a, status_text(other, 3, &arena, NULL)));
	assert_true(str_eq_c(a,
		"[{\"hostname\":\"lb.example\"},{\"ip\":\"192.0.2.1\",\"ports\":[{\"port\":80,"
		"\"protocol\":\"TCP\"},{\"port\":443,\"protocol\":\"TCP\"}]},"
		"{\"ip\":\"2001:db8::1\"}]"));
	arena_fini(&arena);
}

static void what_is_no_address_is_left_out_and_counted(void **state)
{
	struct address list[] = {{.ip = STR("lb1")}, {.ip = STR("1.2.3.4.5")},
		{.hostname = STR("a b")}, {.hostname = STR("\xc3\xa4.example")},
		{.ip = STR("192.0.2.1")}, {{0}, {0}, {NULL, 0}}};
	struct arena arena;
	size_t refused = 0;
	(void)state;
	arena_init(&arena);
	assert_true(str_eq_c(status_text(list, 6, &arena, &refused), A));
	assert_int_equal(refused, 5);
	assert_int_equal(status_text(list, 2, &arena, &refused).len, 0);
	assert_int_equal(refused, 2);
	assert_int_equal(status_text(NULL, 0, &arena, &refused).len, 0);
	assert_int_equal(refused, 0);
	arena_fini(&arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_write_happens_only_while_the_object_shows_something_else),
		cmocka_unit_test(a_write_waits_for_the_watch_to_bring_it_back),
		cmocka_unit_test(what_comes_back_from_a_backup_is_put_right),
		wish_test(while_a_write_is_under_way_nothing_else_begins),
		cmocka_unit_test(a_server_that_keeps_less_is_not_written_to_again),
		wish_test(ports_are_not_compared_where_the_server_drops_them),
		wish_test(an_answer_tells_whether_the_server_keeps_ports),
		cmocka_unit_test(a_release_takes_back_what_was_written_in_this_life),
		wish_test(a_release_before_the_watch_brings_the_write_back_is_kept),
		wish_test(a_conflict_waits_for_the_newer_object),
		wish_test(a_refusal_lasts_until_the_wish_changes),
		wish_test(failures_back_off_and_heed_the_server),
		wish_test(one_object_is_not_written_without_pause),
		wish_test(whoever_replaces_us_five_times_is_yielded_to_for_a_while),
		wish_test(a_fight_that_goes_on_is_yielded_to_for_longer_each_time),
		wish_test(they_come_round_by_themselves),
		wish_test(seldom_replacements_are_no_fight),
		cmocka_unit_test(a_service_is_held_first_and_freed_last),
		cmocka_unit_test(a_finalizer_is_put_on_once),
		cmocka_unit_test(a_release_ends_where_a_service_becomes_ours_again),
		wish_test(addresses_that_cannot_be_taken_away_hold_up_no_release),
		cmocka_unit_test(lists_that_mean_the_same_are_the_same_text),
		cmocka_unit_test(what_is_no_address_is_left_out_and_counted),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
