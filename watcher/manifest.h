// SPDX-License-Identifier: Apache-2.0
/*
 * Manifests: files of YAML or JSON with any number of documents, Lists taken apart, as an API server would return the objects. What a server
 * defaults and the watcher reads is filled in: a namespace, a uid made of kind and name, target ports, a Secret's data from its stringData.
 */
#pragma once

#include "common/json.h"

#include <stdbool.h>

struct manifest_place {
	const char *file; /* "-": standard input */
	unsigned line;    /* 0: not known */
};

struct manifest_options {
	const char *namespace; /* of objects that name none */
	/* Each object, whatever its kind; it is freed, and Secrets wiped, after the call. */
	void (*on_object)(void *ctx, const struct json *object, const struct manifest_place *place);
	void *ctx;
};

/* NULL, or what is wrong (allocated): "web.yaml: line 3: ...". `name` is the file of all places, which keep the pointer. */
char *manifest_read_file(int fd, const char *name, const struct manifest_options *options);
/* The same for text; public for tests only. */
char *manifest_read_text(struct str text, const char *name, const struct manifest_options *options);
