// SPDX-License-Identifier: Apache-2.0
/*
 * The way of one kind's objects from JSON into the store: parse, project, encode, compare, keep. Whatever stands in the JSON, an
 * object that does not fit is treated as absent and told of by name; the others are not touched. No I/O.
 */
#pragma once

#include "watcher/kinds.h"
#include "watcher/store.h"

enum { INTAKE_SECRET_MAX = 3 * 1024 * 1024 };

/* The name under which we write, for telling our own writes by their managed fields. */
#define INTAKE_FIELD_MANAGER "sluice"

struct intake {
	const struct kind_version *version;
	struct store *store;
	struct arena arena;
	struct buf encoded;
	struct buf secret;
	/* An object cannot be used; what of it is known stands in meta, which may lack everything. */
	void (*on_refused)(void *ctx, const struct project_meta *meta, const char *why);
	void *ctx;
};

void intake_init(struct intake *intake, const struct kind_version *version, struct store *store,
	void (*on_refused)(void *ctx, const struct project_meta *meta, const char *why), void *ctx);
void intake_fini(struct intake *intake);
/* The kind's Secrets are wiped wherever they were. */
static inline bool intake_is_secret(const struct intake *intake)
{
	return intake->version->kind == RECORD_SECRET;
}

/* The object is there, in this form. */
void intake_put(struct intake *intake, const struct json *object);
/* It is gone. */
void intake_remove(struct intake *intake, const struct json *object);
/* An element of a list, as text. */
void intake_put_text(struct intake *intake, struct str text);
