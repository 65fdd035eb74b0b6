// SPDX-License-Identifier: Apache-2.0
/*
 * Whether this line may act, where several run side by side (PROTOCOL.md, "lead"). Both receivers of `lead`, the translator and a
 * provider, keep one. Pure but for the clock; until a message arrives there is no election.
 */
#pragma once

#include "proto/model.h"

struct leadership {
	bool is_told;    /* in this connection */
	bool is_elected; /* there is an election */
	uint64_t until_ms;
};

/* A new connection; what was received before stays in force. */
void leadership_connected(struct leadership *leadership);
/* Applies the message: until when this line leads, or that it does not. */
void leadership_take(struct leadership *leadership, const struct lead *lead);
/* `settings` or `sync-begin`: without a `lead` before it there is no election. True when there was one until now. */
bool leadership_settle(struct leadership *leadership);
/* `now_ms`: of leadership_clock_ms(). Without an election this is always true. */
bool leadership_holds(const struct leadership *leadership, uint64_t now_ms);
/* Milliseconds until leadership ends; 0: not leading; UINT64_MAX: it has no end. */
uint64_t leadership_left_ms(const struct leadership *leadership, uint64_t now_ms);

/* CLOCK_BOOTTIME: the same in all processes of a machine, and it goes on while the machine sleeps. */
uint64_t leadership_clock_ms(void);
