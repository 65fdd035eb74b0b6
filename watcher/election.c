// SPDX-License-Identifier: Apache-2.0
#include "watcher/election.h"

#include "common/must.h"

#include <string.h>

/* client-go's JitterFactor: the upper bound by which candidates lengthen their wait. */
static const double JITTER = 1.2;

void election_init(struct election *election, const struct election_config *config)
{
	must(config->duration_s > config->deadline_s && config->deadline_s > config->retry_s);
	*election = (struct election){.config = *config};
}

static bool is_ours(const struct election *election)
{
	return election->is_seen && str_eq_c(election->config.identity, election->holder);
}

bool election_leads(const struct election *election, double now)
{
	return now < election->until;
}

static enum election_step begin(struct election *election, enum election_step step, double now)
{
	election->step = step;
	election->started_at = now;
	return step;
}

enum election_step election_next(struct election *election, double now)
{
	if (election->step != ELECTION_WAIT || now < election->next_at)
		return ELECTION_WAIT;
	bool renews = is_ours(election) && election_leads(election, now);
	return begin(election, renews ? ELECTION_WRITE : ELECTION_READ, now);
}

static enum election_step wait_for_next(struct election *election, double now, double chance)
{
	double wait_s = election->config.retry_s;
	if (!election_leads(election, now))
		wait_s += wait_s * JITTER * chance;
	election->next_at = now + wait_s;
	election->step = ELECTION_WAIT;
	return ELECTION_WAIT;
}

static void keep_text(char *to, struct str from)
{
	size_t len = from.len < ELECTION_TEXT_MAX ? from.len : 0;
	if (len != 0)
		memcpy(to, from.p, len);
	to[len] = '\0';
}

/* True if somebody has written since we last saw it. */
static bool differs(const struct election *election, const struct election_lease *lease)
{
	return !election->is_seen || !str_eq_c(lease->revision, election->revision) ||
	       !str_eq_c(lease->holder, election->holder) ||
	       !str_eq_c(lease->renewed, election->renewed);
}

static void observe(struct election *election, const struct election_lease *lease, double now)
{
	if (!differs(election, lease))
		return;
	election->is_seen = true;
	election->seen_at = now;
	keep_text(election->revision, lease->revision);
	keep_text(election->holder, lease->holder);
	keep_text(election->acquired, lease->acquired);
	keep_text(election->renewed, lease->renewed);
	election->duration_s = lease->duration_s;
	election->transitions = lease->transitions;
}

static bool is_held_by_another(const struct election *election, double now)
{
	return election->holder[0] != '\0' && !is_ours(election) &&
	       now < election->seen_at + election->duration_s;
}

static enum election_step answered_read(struct election *election, enum election_answer answer,
	const struct election_lease *lease, double now, double chance)
{
	if (answer == ELECTION_NOT_FOUND) {
		election->is_seen = false;
		return begin(election, ELECTION_CREATE, now);
	}
	if (answer != ELECTION_OK)
		return wait_for_next(election, now, chance);
	observe(election, lease, now);
	/* Somebody has taken over the Lease that we believed to hold. */
	if (!is_ours(election))
		election->until = 0;
	if (is_held_by_another(election, now))
		return wait_for_next(election, now, chance);
	return begin(election, ELECTION_WRITE, now);
}

enum election_step election_answered(struct election *election, enum election_answer answer,
	const struct election_lease *lease, double now, double chance)
{
	enum election_step step = election->step;
	must(step != ELECTION_WAIT);
	if (step == ELECTION_READ)
		return answered_read(election, answer, lease, now, chance);
	if (answer == ELECTION_OK) {
		observe(election, lease, now);
		/* Counted from before the request: the server may have written at once and answered late. */
		election->until = election->started_at + election->config.deadline_s;
		return wait_for_next(election, now, chance);
	}
	/* A renewal failed: the Lease was modified, or taken over. */
	if (step == ELECTION_WRITE && election_leads(election, now) && is_ours(election)) {
		election->is_seen = false;
		return begin(election, ELECTION_READ, now);
	}
	return wait_for_next(election, now, chance);
}

bool election_keeps_acquired(const struct election *election)
{
	return is_ours(election) && election->acquired[0] != '\0';
}

int64_t election_transitions(const struct election *election)
{
	if (!election->is_seen)
		return 0;
	return election->transitions + (is_ours(election) ? 0 : 1);
}
