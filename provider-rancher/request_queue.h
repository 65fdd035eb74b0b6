// SPDX-License-Identifier: Apache-2.0
/*
 * The queue of requests: how many may be under way at the same time, and whose is next. Whoever wants to make requests joins it, is
 * called when its turn comes, and leaves it when there is nothing more to send. Each decides what to send only when its turn has come, so
 * a long queue costs nothing but its length.
 *
 * Reads go before writes, and writes wait at a gate while another line acts (request_queue_set_gate()).
 *
 * An outage (no request can succeed) suspends the queue for a growing time; then one at a time is let through, until one of them
 * succeeds. So a server that is down is not hammered, however many want something of it.
 */
#pragma once

#include <bsd/sys/queue.h>
#include <ev.h>
#include <stdbool.h>
#include <stddef.h>

struct request_queue;

struct queue_entry {
	TAILQ_ENTRY(queue_entry) link;
	void (*on_turn)(struct queue_entry *entry);
	bool is_read; /* set once */
	bool is_waiting;
	bool is_held; /* it has its turn */
};

/* on_outage(): an outage begins, with its reason, or ends (NULL). Called from the loop. */
struct request_queue *request_queue_new(struct ev_loop *loop, size_t max,
	void (*on_outage)(void *ctx, const char *reason), void *ctx);
void request_queue_free(struct request_queue *queue);

/* No write gets a turn while the gate is closed; to be followed by request_queue_wake() when it may have opened. */
void request_queue_set_gate(struct request_queue *queue, bool (*is_open)(void *ctx), void *ctx);

void request_queue_wake(struct request_queue *queue);

/* Joins at the end, or at the front if `first`. on_turn() comes from the loop. */
void request_queue_join(struct request_queue *queue, struct queue_entry *entry, bool first);
/* Stops waiting, or ends the turn, whichever it is; nothing otherwise. */
void request_queue_leave(struct request_queue *queue, struct queue_entry *entry);

/* How a request ended. `reason` is for people. */
void request_queue_on_success(struct request_queue *queue);
void request_queue_on_outage(struct request_queue *queue, const char *reason, double at_least_s);
/* It failed, and either the server or the request itself may be the cause: several in a row, by different entries, count as an outage. */
void request_queue_on_failure(
	struct request_queue *queue, const struct queue_entry *entry, const char *reason);

/* The cause of an outage may be gone: lets one request through at once. */
void request_queue_retry_now(struct request_queue *queue);
/* How many wait for their turn. Walks the queue. */
size_t request_queue_waiting(const struct request_queue *queue);
/* NULL: there is none. */
const char *request_queue_outage_reason(const struct request_queue *queue);
