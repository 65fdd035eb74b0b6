// SPDX-License-Identifier: Apache-2.0
/*
 * The queue of calls: token buckets for the classes of calls, which an account shares with everybody who uses it, and whose turn is next. Whoever wants to
 * call joins with a class and a rank, is called when its turn comes, makes one call, and tells how it ended. Each decides what to send only when its turn has
 * come, so a long queue costs nothing but its length, and what changed meanwhile is sent once.
 *
 * Classes take turns, each at its rate, so that none waits for another one. One that is throttled pauses, goes at half its rate, and gets a tenth back for
 * each quiet minute (call_bucket.h); the others are not held up. In an outage all wait, and one at a time is let through until one succeeds. Writes wait
 * at a gate while another replica acts.
 */
#pragma once

#include "provider-elb/service.h"

#include <bsd/sys/queue.h>
#include <ev.h>
#include <stddef.h>
#include <stdint.h>

enum call_class {
	CALL_TARGETS, /* RegisterTargets, DeregisterTargets */
	CALL_WRITE,   /* all other writes of ELB */
	CALL_READ,    /* Describe* of ELB */
	CALL_OTHER,   /* EC2, ACM, tagging */
	CALL_DNS, /* Route 53, which has an endpoint of its own for all regions: how its calls end says nothing about an outage of the others */
	CALL_CLASS_COUNT,
};

/* Of one class, the lower one goes first; equals in the order in which they came. */
enum call_rank {
	RANK_CHANGE, /* somebody waits for it */
	RANK_CREATE, /* first writes of what is new */
	RANK_POLL,   /* states of what is in progress */
	RANK_SWEEP,  /* looks for what others changed, and for leftovers */
	RANK_COUNT,
};

struct call_queue;
struct call_list;

struct call_entry {
	TAILQ_ENTRY(call_entry) link;
	void (*on_turn)(struct call_entry *entry);
	enum call_class bucket;
	enum call_rank rank;
	bool is_write;
	bool is_waiting;
	bool is_held; /* it has its turn */
	/* Of the queue. */
	struct call_list *list;
	enum call_class waits_in;
	enum call_rank waits_as;
	uint64_t order;
};

struct call_rate {
	double per_s;
	double burst;
};

struct call_queue_config {
	struct ev_loop *loop;
	struct call_rate rates[CALL_CLASS_COUNT];
	size_t parallel_max; /* turns at the same time */
	/* An outage begins, with its reason, or ends (NULL); from the loop. */
	void (*on_outage)(void *ctx, const char *reason);
	void *ctx;
};

struct call_queue *call_queue_new(const struct call_queue_config *config);
void call_queue_free(struct call_queue *queue);
/* No write gets a turn while it is closed; followed by call_queue_wake() when it may have opened. */
void call_queue_set_gate(struct call_queue *queue, bool (*is_open)(void *ctx), void *ctx);
void call_queue_wake(struct call_queue *queue);

/* bucket, rank, is_write and on_turn are set. on_turn() comes from the loop. Joining twice does nothing, but for a better rank; nor does
 * joining during one's turn: who wants a further one joins again after call_queue_done(). */
void call_queue_join(struct call_queue *queue, struct call_entry *entry);
/* Ends the turn after its call, and says how it went; `reason` is for people. AWS_FAILED of several entries in a row is an outage, too. */
void call_queue_done(struct call_queue *queue, struct call_entry *entry, enum aws_outcome outcome,
	const char *reason, double retry_after_s);
/* Stops waiting, or gives the turn back unused. */
void call_queue_leave(struct call_queue *queue, struct call_entry *entry);

/* The cause of an outage may be gone, such as when there are new credentials: lets one call through at once. */
void call_queue_retry_now(struct call_queue *queue);

size_t call_queue_waiting(const struct call_queue *queue);
const char *call_queue_outage_reason(const struct call_queue *queue);
/* The present rate of a class, in calls a second. */
double call_queue_rate(struct call_queue *queue, enum call_class bucket);
