// SPDX-License-Identifier: Apache-2.0
/*
 * How one kind's objects get from JSON into the store: parse, project, encode, compare, keep. Whatever the JSON contains, an object
 * that cannot be used is reported by name, what was known of it stays, and no other object is affected. No I/O.
 */
#pragma once

#include "watcher/kinds.h"
#include "watcher/store.h"

enum { INTAKE_SECRET_MAX = 3 * 1024 * 1024 };

struct intake {
	const struct kind_version *version;
	struct store *store;
	const struct project_ours *ours;
	bool is_named;     /* its objects are watched by name, see named_objects.h */
	bool has_nameless; /* an object was refused of which not even the name is known */
	struct arena arena;
	struct buf encoded;
	struct buf secret;
	/* An object cannot be used; meta has what is known of it, which may be nothing. */
	void (*on_refused)(void *ctx, const struct project_meta *meta, const char *why);
	void *ctx;
};

/* `ours` is kept. */
void intake_init(struct intake *intake, const struct kind_version *version, struct store *store,
	const struct project_ours *ours,
	void (*on_refused)(void *ctx, const struct project_meta *meta, const char *why), void *ctx);
void intake_fini(struct intake *intake);
/* The kind is Secret, so every copy of its objects is wiped. */
static inline bool intake_is_secret(const struct intake *intake)
{
	return intake->version->kind == RECORD_SECRET;
}

/* The object exists, in this form. */
void intake_put(struct intake *intake, const struct json *object);
/* It is gone. */
void intake_remove(struct intake *intake, const struct json *object);
/* An element of a list, as text. */
void intake_put_text(struct intake *intake, struct str text);
/* The same for one that cannot be parsed and may be truncated; `why` is reported to its owner. */
void intake_refuse_text(struct intake *intake, struct str text, const char *why);
