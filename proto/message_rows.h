// SPDX-License-Identifier: Apache-2.0
/*
 * How the tables of messages are written: one row per member, and the limits that several share. Only messages.c, source_messages.c
 * and provider_messages.c include this.
 */
#pragma once

#include "proto/messages.h"

enum {
	NAME_MAX_LEN = 253, /* Kubernetes object names: RFC 1123 subdomain */
	NAMESPACE_MAX_LEN = 63,
	UID_MAX_LEN = 128,
	HOST_MAX_LEN = 255,
	ID_MAX_LEN = 1024,
	TEXT_MAX_LEN = 4096,      /* messages for people */
	PATH_MAX_LEN = 16 * 1024, /* longer than any server accepts in a request line */
	LABEL_MAX_LEN = 512,
	ANNOTATION_MAX_LEN = 256 * 1024, /* Kubernetes' limit for all annotations of an object */
	PEM_MAX_LEN = 1024 * 1024,       /* Kubernetes' limit for a Secret */
	PORT_MAX = 65535,
	ITEMS_MAX = 64 * 1024, /* of any list; the frame limit comes first for long ones */
};
#define SECONDS_MAX UINT64_C(0xffffffffff)
#define COUNT_MAX   UINT64_C(0xffffffff)

#define KEY SCHEMA_KEY
#define ROW(type_, struct_, member_, key_, limit_, help_)                                       \
	{                                                                                       \
		KEY(key_), .type = SCHEMA_##type_, .offset = offsetof(struct struct_, member_), \
			   .limit = (limit_), .help = (help_)                                   \
	}
#define NEED(type_, struct_, member_, key_, limit_, help_)                                 \
	{                                                                                  \
		KEY(key_), .type = SCHEMA_##type_, .required = true,                       \
			   .offset = offsetof(struct struct_, member_), .limit = (limit_), \
			   .help = (help_)                                                 \
	}
#define WORDS(required_, struct_, member_, key_, words_, help_)                            \
	{                                                                                  \
		KEY(key_), .type = SCHEMA_ENUM, .required = (required_),                   \
			   .offset = offsetof(struct struct_, member_), .words = (words_), \
			   .help = (help_)                                                 \
	}
#define NESTED(type_, struct_, member_, key_, limit_, sub_, help_)                              \
	{                                                                                       \
		KEY(key_), .type = SCHEMA_##type_, .offset = offsetof(struct struct_, member_), \
			   .limit = (limit_), .sub = &(sub_), .help = (help_)                   \
	}
#define INLINE(struct_, member_, sub_)                                                             \
	{                                                                                          \
		.type = SCHEMA_INLINE, .offset = offsetof(struct struct_, member_), .sub = &(sub_) \
	}
#define SCHEMA(name_, struct_, fields_)                                               \
	{                                                                             \
		.name = (name_), .size = sizeof(struct struct_), .fields = (fields_), \
		.count = sizeof(fields_) / sizeof((fields_)[0])                       \
	}

/* Used by messages of both links. */
extern const char *const path_words[];
extern const char *const ip_protocol_words[];
extern const char *const event_type_words[];
extern const struct schema address_schema;
