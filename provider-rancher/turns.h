// SPDX-License-Identifier: Apache-2.0
/*
 * Turns: how many requests may be under way at the same time, and who is next. Whoever wants to make
 * requests gets in line, is called when its turn comes, and gives the turn back. Each decides what
 * to send only then, so a long line costs nothing but its length.
 *
 * Questions go before writes, and writes wait at a gate while another line acts (turns_set_gate()).
 *
 * An outage (no request can succeed) suspends the line for a growing time; then one at a time is let
 * through, until one of them succeeds. So a server that is down is not hammered, however many
 * want something of it.
 */
#pragma once

#include <bsd/sys/queue.h>
#include <ev.h>
#include <stdbool.h>
#include <stddef.h>

struct turns;

struct turn {
	TAILQ_ENTRY(turn) entry;
	void (*on_turn)(struct turn *turn);
	bool asks; /* writes nothing; set once */
	bool is_waiting;
	bool is_held;
};

/* on_outage() tells that one begins, with its reason, or ends (NULL); called from the loop. */
struct turns *turns_new(struct ev_loop *loop, size_t max,
	void (*on_outage)(void *ctx, const char *reason), void *ctx);
void turns_free(struct turns *turns);

/* Nobody who writes gets a turn while the gate is closed; turns_look() when it may be open again. */
void turns_set_gate(struct turns *turns, bool (*is_open)(void *ctx), void *ctx);

void turns_look(struct turns *turns);

/* Gets in line, at the front if `first`. on_turn() comes from the loop. */
void turns_wait(struct turns *turns, struct turn *turn, bool first);
/* Leaves the line or gives the turn back, whichever it is; nothing otherwise. */
void turns_leave(struct turns *turns, struct turn *turn);

/* What became of a request. `reason` is for people. */
void turns_succeeded(struct turns *turns);
void turns_outage(struct turns *turns, const char *reason, double at_least_s);
/* The request failed in a way that may be the server's fault or that of what was asked; several in a row, by different ones, are taken
 * for an outage. */
void turns_doubt(struct turns *turns, const struct turn *turn, const char *reason);

/* The cause may be gone: lets one through at once. */
void turns_hurry(struct turns *turns);
/* How many wait for one. Walks the line. */
size_t turns_waiting(const struct turns *turns);
/* NULL: there is none. */
const char *turns_outage_reason(const struct turns *turns);
