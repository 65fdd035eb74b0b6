// SPDX-License-Identifier: Apache-2.0
/* What is said in the log about the statuses and finalizers of one object. */
#pragma once

#include "watcher/status_plan.h"
#include "watcher/store.h"

/* `target`: the addresses as they were written; NULL: none. */
void status_log_written(
	const struct store_object *object, enum status_step step, const char *target);
/* `retry_s` < 0: it is not tried again. */
void status_log_failed(const struct store_object *object, enum status_step step, const char *reason,
	double retry_s);
void status_log_forbidden(const struct store_object *object, const char *reason, double retry_s);
/* Of what the translator wishes for an object, so many addresses are none. */
void status_log_bad_addresses(const struct record_key *key, size_t count);
/* Another controller has it for so long; `by` NULL: its name is not known. */
void status_log_fight(const struct store_object *object, const char *by, double retry_s);
