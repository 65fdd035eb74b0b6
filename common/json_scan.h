// SPDX-License-Identifier: Apache-2.0
/*
 * A look over JSON text before cJSON sees it: one pass, no memory, no recursion. It finds what cJSON would take in silence
 * or pay dearly for: deep nesting, too many values, numbers and escapes that are none, control characters, bytes that are
 * no UTF-8. Whether commas, colons and brackets stand where they should is left to cJSON.
 */
#pragma once

#include "common/json.h"

enum {
	/* A value costs cJSON about 80 bytes, whatever its length in the text. */
	JSON_VALUES_MAX = 4 * 1024 * 1024,
	JSON_NUMBER_LEN_MAX = 63, /* of cJSON */
};

/* Behind the bytes from `at` on that stand for themselves in a string: at its quote, a backslash, a byte that is no ASCII or a control
 * character; or the end. */
size_t json_scan_plain(struct str text, size_t at);
/* NULL, or what is wrong; *ret_at is then where. *ret_replaces: some "\u" escapes stand for NUL or half a surrogate pair,
 * and want json_scan_replace() on a copy. */
const char *json_scan(struct str text, size_t *ret_at, bool *ret_replaces);
/* Writes \ufffd over those escapes. The text has passed json_scan(). */
void json_scan_replace(char *text, size_t len);
