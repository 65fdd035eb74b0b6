// SPDX-License-Identifier: Apache-2.0
/*
 * What AWS has refused by itself, and would refuse again: left alone for a while, so that it stops nothing else, and then tried again. Subjects are those
 * of plan_subject(). No I/O.
 */
#pragma once

#include "common/arena.h"
#include "proto/model.h"

enum { HELD_MAX = 64 /* of one load balancer */ };

struct held;

struct held *held_new(void);
void held_free(struct held *held);
/* Replaces an earlier one of that subject. False: there are too many. Both texts are copied. */
bool held_add(
	struct held *held, struct str subject, struct str reason, double until, bool is_denied);
/* It went well. */
void held_remove(struct held *held, struct str subject);
/* What was denied may be tried again. */
void held_forget_denied(struct held *held);
void held_clear(struct held *held);
/* Lets go of those whose time is over. */
void held_expire(struct held *held, double now);
/* All subjects, sorted; good until something changes. */
struct str_list held_subjects(struct held *held);
/* Why the first of them was refused; NULL: there is none. */
const char *held_reason(const struct held *held);
