// SPDX-License-Identifier: Apache-2.0
/*
 * Values that annotations of several dialects have, parsed and put into the form of PROTOCOL.md. Each function returns NULL, or what is expected
 * instead, for messages. Pure.
 */
#pragma once

#include "common/arena.h"
#include "proto/model.h"

/* Networks, or single addresses, separated by commas and white space. */
const char *value_networks(struct str text, struct arena *arena, struct str_list *ret_networks);
/* 301, 302, 303, 307 or 308. */
const char *value_redirect_status(struct str text, uint64_t *ret_status);
/* "true" or "false", in any of the forms of Go's ParseBool. */
const char *value_switch(struct str text, bool *ret_is_on);
/* A whole number. */
const char *value_count(
	struct str text, uint64_t min, uint64_t max, struct arena *arena, uint64_t *ret_number);
