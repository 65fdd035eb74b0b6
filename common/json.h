// SPDX-License-Identifier: Apache-2.0
/*
 * The only door to cJSON. It offers what is safe on untrusted text: exact-case lookup, typed getters, whole documents with a length. It
 * avoids cJSON's traps: case-insensitive names, duplicate names, numbers rounded silently or malformed, text after the document, control
 * characters and invalid UTF-8 in strings, "\u0000" cutting a string short.
 *
 * "\u0000", and half a surrogate pair, are replaced by U+FFFD before parsing: a NUL that one tenant
 * writes into one annotation must not make a list of everybody's objects unreadable, and U+FFFD is
 * refused wherever it matters.
 *
 * Of members with the same name the last one counts, as for every client of these servers, and the others are dropped during parsing, so
 * that no two of our own readers can use different ones. Servers do send duplicates: Rancher 1.6 in each setting. They are counted
 * (sluice_json_duplicate_names). Where it decides who we are (the answer of a credential plugin), or where a person wrote it and would not
 * see which one counts (manifests for sluicectl; kubectl refuses them, too), json_parse_strict() refuses it.
 *
 * A struct json is a cJSON node: a view into the document, valid until json_free() of the document.
 */
#pragma once

#include "common/buf.h"
#include "common/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct json; /* is struct cJSON */

enum { JSON_DEPTH_MAX = 64 };
/* Beyond it a double, which is what a JSON number is to most readers, does not hold every whole
 * number. */
#define JSON_INT_MAX ((INT64_C(1) << 53) - 1)

/* NULL when the text is not exactly one JSON document (RFC 8259, UTF-8), nests deeper than
 * JSON_DEPTH_MAX, holds a number that is no finite double, or more values than are good for our
 * memory; *ret_problem is then a static text and *ret_at the byte where it was noticed (both may be
 * NULL). */
struct json *json_parse(struct str text, const char **ret_problem, size_t *ret_at);
/* Like json_parse(), but NULL also if an object has the same name twice. */
struct json *json_parse_strict(struct str text, const char **ret_problem, size_t *ret_at);
/* Wipes all strings first: for documents that hold secrets. */
void json_free_wiped(struct json *document);
void json_free(struct json *document);

bool json_is_object(const struct json *value);
bool json_is_array(const struct json *value);
bool json_is_string(const struct json *value);
bool json_is_number(const struct json *value);
bool json_is_bool(const struct json *value);
/* Absent (NULL) and null are the same everywhere here: Kubernetes and Rancher treat them alike. */
bool json_is_absent(const struct json *value);

/* Member of an object by its exact name; NULL if value is not an object or has no such member. */
const struct json *json_get(const struct json *value, const char *name);
/* Down several objects: json_path(v, "metadata", "annotations", NULL). */
[[gnu::sentinel]] const struct json *json_path(const struct json *value, ...);

/* Typed getters of a member. Absent or null: the fallback and true. Of another type: false. */
bool json_get_str(const struct json *value, const char *name, struct str *ret_text);
bool json_get_bool(const struct json *value, const char *name, bool fallback, bool *ret_flag);
/* A whole number within [min, max] and +-JSON_INT_MAX; anything else is "of another type". */
bool json_get_int(const struct json *value, const char *name, int64_t min, int64_t max,
	int64_t fallback, int64_t *ret_number);

/* The value itself. STR_NONE if it is not a string. */
struct str json_text(const struct json *value);
/* Within [min, max] and +-JSON_INT_MAX. False, with *ret_number unchanged, if it is not such a number.
 */
bool json_whole_number(const struct json *value, int64_t min, int64_t max, int64_t *ret_number);
/* `fallback` if it is not a boolean. */
bool json_bool(const struct json *value, bool fallback);
/* NAN if it is not a number. */
double json_number(const struct json *value);

/* Children of an object or array, in order: for (c = json_first(v); c != NULL; c = json_next(c)).
 * NULL for anything else. */
const struct json *json_first(const struct json *value);
const struct json *json_next(const struct json *child);
/* The name of an object's child; a view. */
struct str json_name(const struct json *child);
/* How many children; 0 for anything but objects and arrays. */
size_t json_count(const struct json *value);

/* Building. What is new belongs to the caller, until json_free(); a child belongs to what it was added
 * to. All calls copy their text; the add functions return the new child. Invalid UTF-8 and NUL in a
 * text become U+FFFD. Adding does not check whether the name exists already. */
struct json *json_new_object(void);
struct json *json_new_array(void);
struct json *json_add_object(struct json *object, const char *name);
struct json *json_add_array(struct json *object, const char *name);
void json_add_str(struct json *object, const char *name, struct str text);
/* Within +-JSON_INT_MAX. */
void json_add_int(struct json *object, const char *name, int64_t number);
void json_add_bool(struct json *object, const char *name, bool flag);
/* A deep copy of value, for passing on what was read; NULL adds nothing. */
void json_add_copy(struct json *object, const char *name, const struct json *value);
struct json *json_push_object(struct json *array);
void json_push_str(struct json *array, struct str text);
/* Replaces or adds a member (NULL: removes it) of an object that we built or parsed. */
void json_set_copy(struct json *object, const char *name, const struct json *value);
/* Appends the compact text. -EMSGSIZE, and `out` is unchanged. */
[[nodiscard]] int json_print(const struct json *value, struct buf *out);
/* Appends the text in quotes (RFC 8259, section 7), for JSON that is written piece by piece. -EMSGSIZE. */
[[nodiscard]] int json_put_text(struct buf *out, struct str text);
