// SPDX-License-Identifier: Apache-2.0
/*
 * What becomes of the tables of messages here: arrays of words, rows and schemas; and the limits that several share. Only messages.c,
 * source_messages.c and provider_messages.c include this.
 */
#pragma once

#include "proto/messages.h"

enum {
	NAME_MAX_LEN = 253, /* Kubernetes object names: RFC 1123 subdomain */
	NAMESPACE_MAX_LEN = 63,
	OBJECT_MAX_LEN = NAMESPACE_MAX_LEN + 1 + NAME_MAX_LEN,
	UID_MAX_LEN = 128,
	HOST_MAX_LEN = 255,
	ID_MAX_LEN = 1024,
	TEXT_MAX_LEN = 4096,      /* messages for people */
	PATH_MAX_LEN = 16 * 1024, /* longer than any server accepts in a request line */
	LABEL_MAX_LEN = 512,
	ANNOTATION_MAX_LEN = 256 * 1024, /* Kubernetes' limit for all annotations of an object */
	PEM_MAX_LEN = 1024 * 1024,       /* Kubernetes' limit for a Secret */
	PORT_MAX = 65535,
	PIECES_MAX = 64,
	PIECE_MAX_LEN = 2048,
	PIECE_GROUP_MAX = 9, /* as $1 to $9 are all that people can write */
	REGEX_MAX_LEN = 2048,
	CONDITIONS_MAX = 16, /* as Gateway API has them */
	CONDITION_NAME_MAX_LEN = 256,
	CONDITION_VALUE_MAX_LEN = 4096,
	POOLS_MAX = 16, /* likewise */
	WEIGHT_MAX = 1000 * 1000,
	CORS_ORIGINS_MAX = 64,
	CORS_TEXT_MAX_LEN = 4096,
	NETWORKS_MAX = 1024,
	REALM_MAX_LEN = 256,
	RATE_LIMITS_MAX = 4,
	HEADER_CHANGES_MAX = 64,
	CACHE_TIMES_MAX = 64,
	MIRRORS_MAX = 4,
	STATUSES_MAX = 200, /* 400 to 599 */
	TEXT_CHANGES_MAX = 16,
	USER_NAME_MAX_LEN = 256,
	USER_HASH_MAX_LEN = 256,
	USERS_MAX = 1000,
	SECRET_ENTRIES_MAX = USERS_MAX,
	CONFIG_ENTRIES_MAX = 1000,
	CONFIG_VALUE_MAX_LEN = 16 * 1024,
	ITEMS_MAX = 64 * 1024, /* of any list; the frame limit comes first for long ones */
};
#define SECONDS_MAX UINT64_C(0xffffffffff)
#define COUNT_MAX   UINT64_C(0xffffffff)

/* One row; what follows the key is the rest of struct schema_field. */
#define FIELD(type_, struct_, member_, key_, ...)                                               \
	{SCHEMA_KEY(key_), .type = SCHEMA_##type_, .offset = offsetof(struct struct_, member_), \
		__VA_ARGS__},
#define ROW(type_, struct_, member_, key_, limit_, help_) \
	FIELD(type_, struct_, member_, key_, .limit = (limit_), .help = (help_))
#define NEED(type_, struct_, member_, key_, limit_, help_) \
	FIELD(type_, struct_, member_, key_, .required = true, .limit = (limit_), .help = (help_))
#define REV(struct_, member_, key_, help_) \
	FIELD(REV, struct_, member_, key_, .required = true, .help = (help_))
#define WORDS(required_, struct_, member_, key_, enum_, help_)                               \
	FIELD(ENUM, struct_, member_, key_, .required = (required_), .words = enum_##_words, \
		.help = (help_))
#define WORD_LIST(struct_, member_, key_, limit_, enum_, help_)                       \
	FIELD(LIST_ENUM, struct_, member_, key_, .required = true, .limit = (limit_), \
		.words = enum_##_words, .help = (help_))
#define NESTED(type_, struct_, member_, key_, limit_, sub_, help_)                     \
	FIELD(type_, struct_, member_, key_, .limit = (limit_), .sub = &sub_##_schema, \
		.help = (help_))
#define INLINE(struct_, member_, sub_) \
	{.type = SCHEMA_INLINE, .offset = offsetof(struct struct_, member_), .sub = &sub_##_schema},
#define LOCAL(type_, member_)

#define SCHEMA(name_, struct_, fields_)                                               \
	{                                                                             \
		.name = (name_), .size = sizeof(struct struct_), .fields = (fields_), \
		.count = sizeof(fields_) / sizeof((fields_)[0])                       \
	}
#define STRUCT(name_) static const struct schema_field name_##_fields[] = {
#define END(name_, title_) \
	}                  \
	;                  \
	const struct schema name_##_schema = SCHEMA(title_, name_, name_##_fields)

#define ENUM(name_)         const char *const name_##_words[] = {
#define WORD(value_, word_) [value_] = (word_),
#define WORD_COUNT(value_)
#define END_ENUM(name_) \
	NULL            \
	}

/* Used by messages of both links. */
extern const char *const path_type_words[];
extern const char *const ip_protocol_words[];
extern const char *const event_type_words[];
extern const struct schema address_schema;
