// SPDX-License-Identifier: Apache-2.0
/*
 * The glossary: plain structs of everything that travels between processes, made of the tables messages.def, source_messages.def and
 * provider_messages.def. PROTOCOL.md says what each means on the wire.
 *
 * Text is a view (struct str). In a decoded message the views point into the given frame, and lists
 * and nested structs live in the given arena; so a decoded message is valid as long as both are.
 * Absent members are zero.
 */
#pragma once

#include "common/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PROTO_VERSION_MIN 1
#define PROTO_VERSION_MAX 2

/* A list member: LIST_OF(struct x) things; things.items[0 .. things.count - 1]. Every list has this
 * layout. */
#define LIST_OF(type)         \
	struct {              \
		type *items;  \
		size_t count; \
	}

struct str_list {
	struct str *items;
	size_t count;
};

/* The same texts in the same order. */
static inline bool str_list_eq(const struct str_list *a, const struct str_list *b)
{
	for (size_t i = 0; a->count == b->count && i < a->count; i++) {
		if (!str_eq(a->items[i], b->items[i]))
			return false;
	}
	return a->count == b->count;
}

/* Limits with which it all fits into one command of HAProxy. */
enum {
	POOL_CA_MAX_LEN = 12 * 1024,
	POOL_CLIENT_CHAIN_MAX_LEN = 8 * 1024,
	POOL_CLIENT_KEY_MAX_LEN = 6 * 1024,
	POOL_CIPHERS_MAX = 128, /* as CIPHER_NAMES_MAX of common/cipher_names.h */
	POOL_DEPTH_MAX = 100,
};

#define MODEL_STR           struct str
#define MODEL_BIN           struct str
#define MODEL_BOOL          bool
#define MODEL_UINT          uint64_t
#define MODEL_LIST_STR      struct str_list
#define MODEL_STRUCT(sub_)  struct sub_
#define MODEL_POINTER(sub_) struct sub_ *
#define MODEL_LIST(sub_)    LIST_OF(struct sub_)

#define ENUM(name_)                                                enum name_ {
#define WORD(value_, word_)                                        value_,
#define WORD_COUNT(value_)                                         value_,
#define END_ENUM(name_)                                            }
#define STRUCT(name_)                                              struct name_ {
#define ROW(type_, struct_, member_, ...)                          MODEL_##type_ member_;
#define NEED(...)                                                  ROW(__VA_ARGS__)
#define REV(struct_, member_, ...)                                 uint64_t member_;
#define WORDS(required_, struct_, member_, key_, enum_, help_)     enum enum_ member_;
#define WORD_LIST(struct_, member_, ...)                           LIST_OF(int) member_;
#define NESTED(type_, struct_, member_, key_, limit_, sub_, help_) MODEL_##type_(sub_) member_;
#define INLINE(struct_, member_, sub_)                             struct sub_ member_;
#define LOCAL(type_, member_)                                      type_ member_;
#define END(name_, title_)                                         }
#include "proto/messages.def"
#include "proto/source_messages.def"
#include "proto/provider_messages.def"
#undef ENUM
#undef WORD
#undef WORD_COUNT
#undef END_ENUM
#undef STRUCT
#undef ROW
#undef NEED
#undef REV
#undef WORDS
#undef WORD_LIST
#undef NESTED
#undef INLINE
#undef LOCAL
#undef END
