// SPDX-License-Identifier: Apache-2.0
/* The log lines about the status and finalizer of one object. */
#pragma once

#include "watcher/status_plan.h"
#include "watcher/store.h"

/* `target`: the addresses as they were written; NULL: none. */
void status_log_written(
	const struct store_object *object, enum status_step step, const char *target);
/* `retry_s` < 0: it is not retried. */
void status_log_failed(const struct store_object *object, enum status_step step, const char *reason,
	double retry_s);
void status_log_forbidden(const struct store_object *object, const char *reason, double retry_s);
/* This many of the addresses that the translator wishes for an object are invalid. */
void status_log_bad_addresses(const struct record_key *key, size_t count);
/* We leave the object to another controller for `retry_s`; `by` NULL: its name is not known. */
void status_log_fight(const struct store_object *object, const char *by, double retry_s);
