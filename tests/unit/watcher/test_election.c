// SPDX-License-Identifier: Apache-2.0
/* Several of them against one Lease, with a clock of our own. */
#include "watcher/election.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum { REPLICAS = 3 };

/* The server's side: one Lease, with revisions. */
static struct {
	bool exists;
	int revision;
	char holder[32];
	char renewed[32];
	double duration_s;
	int64_t transitions;
	char text[32];
} stored;

static double now;
static struct election replicas[REPLICAS];
static bool is_cut_off[REPLICAS]; /* no answer */
static const char *const names[REPLICAS] = {"a", "b", "c"};

static int set_up(void **state)
{
	(void)state;
	memset(&stored, 0, sizeof(stored));
	memset(is_cut_off, 0, sizeof(is_cut_off));
	now = 1000;
	for (size_t i = 0; i < REPLICAS; i++)
		election_init(
			&replicas[i], &(struct election_config){.identity = str_from(names[i]),
					      .duration_s = 15,
					      .deadline_s = 10,
					      .retry_s = 2});
	return 0;
}

static struct election_lease read_stored(void)
{
	snprintf(stored.text, sizeof(stored.text), "%d", stored.revision);
	return (struct election_lease){
		.revision = str_from(stored.text),
		.holder = str_from(stored.holder),
		.renewed = str_from(stored.renewed),
		.acquired = STR("2026-01-01T00:00:00.000000Z"),
		.duration_s = stored.duration_s,
		.transitions = stored.transitions,
	};
}

static void store(size_t i)
{
	const struct election *e = &replicas[i];
	stored.transitions = election_transitions(e);
	stored.exists = true;
	stored.revision++;
	snprintf(stored.holder, sizeof(stored.holder), "%s", names[i]);
	snprintf(stored.renewed, sizeof(stored.renewed), "%f", now);
	stored.duration_s = e->config.duration_s;
}

static enum election_answer serve(size_t i, enum election_step step)
{
	char revision[32];
	if (is_cut_off[i])
		return ELECTION_FAILED;
	snprintf(revision, sizeof(revision), "%d", stored.revision);
	switch (step) {
	case ELECTION_READ:
		return stored.exists ? ELECTION_OK : ELECTION_NOT_FOUND;
	case ELECTION_CREATE:
		if (stored.exists)
			return ELECTION_FAILED;
		store(i);
		return ELECTION_OK;
	case ELECTION_WRITE:
		if (!stored.exists || strcmp(replicas[i].revision, revision) != 0)
			return ELECTION_FAILED;
		store(i);
		return ELECTION_OK;
	case ELECTION_WAIT:
		break;
	}
	return ELECTION_FAILED;
}

static void run_one(size_t i)
{
	enum election_step step = election_next(&replicas[i], now);
	while (step != ELECTION_WAIT) {
		enum election_answer answer = serve(i, step);
		struct election_lease lease = read_stored();
		step = election_answered(&replicas[i], answer, &lease, now, (double)i / REPLICAS);
	}
}

/* How many lead; never more than one. */
static int leaders(void)
{
	int count = 0;
	for (size_t i = 0; i < REPLICAS; i++)
		count += election_leads(&replicas[i], now);
	assert_in_range(count, 0, 1);
	return count;
}

static void run_for(double seconds)
{
	for (double end = now + seconds; now < end; now += 0.1) {
		for (size_t i = 0; i < REPLICAS; i++)
			run_one(i);
		(void)leaders();
	}
}

static void test_one_leads_and_goes_on(void **state)
{
	(void)state;
	run_one(0);
	assert_true(election_leads(&replicas[0], now));
	assert_int_equal(stored.transitions, 0);
	run_for(300);
	assert_true(election_leads(&replicas[0], now));
	assert_int_equal(stored.transitions, 0);
	assert_true(election_keeps_acquired(&replicas[0]));
}

static void test_one_that_is_cut_off_stops_before_another_begins(void **state)
{
	(void)state;
	run_for(20);
	assert_true(election_leads(&replicas[0], now));
	is_cut_off[0] = true;
	run_for(13);
	assert_int_equal(leaders(), 0);
	run_for(8);
	assert_int_equal(leaders(), 1);
	assert_false(election_leads(&replicas[0], now));
	assert_int_equal(stored.transitions, 1);
	/* It comes back, and waits. */
	is_cut_off[0] = false;
	run_for(60);
	assert_false(election_leads(&replicas[0], now));
	assert_int_equal(stored.transitions, 1);
}

static void test_what_is_given_away_is_taken_at_once(void **state)
{
	(void)state;
	run_for(20);
	is_cut_off[0] = true;
	replicas[0].until = 0;
	stored.holder[0] = '\0';
	stored.revision++;
	run_for(5);
	assert_int_equal(leaders(), 1);
}

static void test_a_stranger_that_died_is_waited_for(void **state)
{
	(void)state;
	stored.exists = true;
	stored.revision = 7;
	stored.duration_s = 40;
	snprintf(stored.holder, sizeof(stored.holder), "stranger");
	run_for(39);
	assert_int_equal(leaders(), 0);
	run_for(6);
	assert_int_equal(leaders(), 1);
}

/* The Lease was touched by somebody (an annotation, say): the revision is old, the holder is not. */
static void test_a_touched_lease_is_read_again(void **state)
{
	(void)state;
	run_for(20);
	stored.revision++;
	run_for(30);
	assert_true(election_leads(&replicas[0], now));
	assert_int_equal(stored.transitions, 0);
}

static void test_a_deleted_lease_is_made_again(void **state)
{
	(void)state;
	run_for(20);
	stored.exists = false;
	run_for(4);
	assert_true(stored.exists);
	assert_int_equal(leaders(), 1);
}

/* An answer that comes late counts from when it was asked for. */
static void test_a_late_answer(void **state)
{
	struct election_lease lease;
	(void)state;
	assert_int_equal(election_next(&replicas[0], now), ELECTION_READ);
	assert_int_equal(
		election_answered(&replicas[0], ELECTION_NOT_FOUND, NULL, now, 0), ELECTION_CREATE);
	store(0);
	now += 9;
	lease = read_stored();
	election_answered(&replicas[0], ELECTION_OK, &lease, now, 0);
	assert_true(election_leads(&replicas[0], now));
	assert_false(election_leads(&replicas[0], now + 1.1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_one_leads_and_goes_on, set_up),
		cmocka_unit_test_setup(
			test_one_that_is_cut_off_stops_before_another_begins, set_up),
		cmocka_unit_test_setup(test_what_is_given_away_is_taken_at_once, set_up),
		cmocka_unit_test_setup(test_a_stranger_that_died_is_waited_for, set_up),
		cmocka_unit_test_setup(test_a_touched_lease_is_read_again, set_up),
		cmocka_unit_test_setup(test_a_deleted_lease_is_made_again, set_up),
		cmocka_unit_test_setup(test_a_late_answer, set_up),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
