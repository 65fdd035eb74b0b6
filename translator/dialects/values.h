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
/* Bytes, with k, m or g behind them for their powers of 1024. */
const char *value_size(struct str text, uint64_t *ret_bytes);
/* "1500ms", "90s", "5m", "1h"; a number alone is seconds. */
const char *value_duration(struct str text, uint64_t *ret_ms);
/* "10/s, 100/m, 1000/h": requests in an interval; at most 4. */
const char *value_rates(
	struct str text, struct arena *arena, struct rate_limit **ret_items, size_t *ret_count);

/* A list of ciphers as OpenSSL has them, without a level of security, which is the whole library's. */
const char *value_ciphers(struct str text, struct arena *arena, struct str_list *ret_names);

/* ---- header_values.c ---- */

/* A star for any, or origins such as https://example.com:8443, whose first label may be a star; separated by commas. */
const char *value_origins(
	struct str text, struct arena *arena, bool *ret_any, struct str_list *ret);
/* Tokens, separated by commas; in the form "a, b". */
const char *value_tokens(struct str text, struct arena *arena, struct str *ret);
/* Lines `set NAME: VALUE`, `add NAME: VALUE` and `remove NAME`; VALUE is as in pieces.h. *ret_has_groups: one of them has groups. */
const char *value_header_changes(struct str text, struct arena *arena,
	struct header_change **ret_items, size_t *ret_count, bool *ret_has_groups);
/* Whether an owner may change that header: those that say how a message is sent belong to the proxy. */
bool value_is_free_header(struct str name);
/* The name of a Secret in the namespace of the Ingress. */
const char *value_secret_name(struct str name);
