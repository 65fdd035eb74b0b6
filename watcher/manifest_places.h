// SPDX-License-Identifier: Apache-2.0
/*
 * Lines of JSON for whoever gave manifests to the watcher: where each object was found, which cannot be used or has a field that nobody reads, and finally the totals.
 * README.md, "Manifests", describes their format.
 */
#pragma once

#include "common/buf.h"
#include "proto/model.h"
#include "watcher/manifest.h"

struct manifest_places {
	int fd;
	bool has_all; /* otherwise only what cannot be used is reported */
	int err;      /* of the first write that failed; negative errno */
	struct buf text;
};

/* `path` NULL: what cannot be used goes to standard error. 0 or a negative errno. */
int manifest_places_open(struct manifest_places *places, const char *path);
/* 0, or the negative errno of what could not be written. */
int manifest_places_close(struct manifest_places *places);

struct manifest_object {
	const char *kind; /* "Ingress" */
	struct str namespace;
	struct str name;
	const struct manifest_place *place; /* NULL: not known */
};

void manifest_places_add(struct manifest_places *places, const struct manifest_object *object);
/* A warning. `message` is of at most MANIFEST_MESSAGE_MAX bytes. */
enum { MANIFEST_MESSAGE_MAX = 15 * 1024 };
void manifest_places_tell(struct manifest_places *places, const struct manifest_object *object,
	const char *reason, const char *message);
/* That it cannot be used. */
void manifest_places_refuse(
	struct manifest_places *places, const struct manifest_object *object, const char *why);
void manifest_places_count(struct manifest_places *places, const size_t counts[RECORD_KIND_COUNT]);
