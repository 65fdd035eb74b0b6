// SPDX-License-Identifier: Apache-2.0
/*
 * Leader election by a Lease (coordination.k8s.io/v1), as in client-go's tools/leaderelection: whoever has written its name into the Lease
 * leads as long as it renews it; once it has not been renewed for as long as the Lease says, another may take over. Only this machine's
 * clock counts, from the moment at which a change of the Lease was observed; the times written in it are for people. Every write carries the
 * resourceVersion that was read, so of two concurrent writes one fails.
 *
 * Pure: answers go in, the next request comes out. Times are seconds of a monotonic clock.
 *
 *   an attempt:  leads, and knows the revision --> WRITE --failed--> READ
 *                otherwise READ --404--> CREATE
 *                               --another one's, still valid--> wait
 *                               --else--> WRITE
 */
#pragma once

#include "common/str.h"

#include <stdbool.h>
#include <stdint.h>

enum { ELECTION_TEXT_MAX = 256 };

struct election_config {
	struct str identity; /* unique for each process; kept */
	double duration_s;   /* for how long others respect what we write */
	double deadline_s; /* we stop leading after this long without a renewal; less than the duration */
	double retry_s;
};

enum election_step { ELECTION_WAIT, ELECTION_READ, ELECTION_CREATE, ELECTION_WRITE };

/* A Lease as it was read. Texts are valid during the call; those that are too long count as absent. */
struct election_lease {
	struct str revision;
	struct str holder;
	struct str acquired; /* acquireTime, as written */
	struct str renewed;
	double duration_s;
	int64_t transitions;
};

enum election_answer {
	ELECTION_OK,        /* with the Lease as it is now */
	ELECTION_NOT_FOUND, /* 404 */
	ELECTION_FAILED,    /* anything else: somebody was faster, no permission, no answer */
};

struct election {
	struct election_config config;
	enum election_step step; /* under way, or WAIT */
	double started_at;       /* of the request under way */
	double next_at;          /* of the next attempt */
	double until;            /* we lead until then */
	/* The Lease as it was last seen. */
	bool is_seen;
	char revision[ELECTION_TEXT_MAX];
	char holder[ELECTION_TEXT_MAX];
	char acquired[ELECTION_TEXT_MAX];
	char renewed[ELECTION_TEXT_MAX];
	double duration_s;
	int64_t transitions;
	double seen_at; /* when it was seen to change */
};

void election_init(struct election *election, const struct election_config *config);
/* The request to make now; WAIT: none before election->next_at, or one is in flight. Any other step is in flight until
 * election_answered(). */
enum election_step election_next(struct election *election, double now);
/* `chance` from 0 to 1 is the jitter of waits. `lease` with OK only. Returns the next request. */
enum election_step election_answered(struct election *election, enum election_answer answer,
	const struct election_lease *lease, double now, double chance);
bool election_leads(const struct election *election, double now);
/* What a WRITE or CREATE contains besides our name and duration: whether acquireTime stays, and leaseTransitions. */
bool election_keeps_acquired(const struct election *election);
int64_t election_transitions(const struct election *election);
