// SPDX-License-Identifier: Apache-2.0
/*
 * Lines of JSON with whole objects, for whoever gave manifests to the watcher and wants to know more of them than records say: what a controller that is to be
 * replaced was told. README.md, "Manifests", lists the kinds. Secrets are never among them.
 */
#pragma once

#include "common/buf.h"
#include "watcher/manifest.h"

struct manifest_documents {
	int fd;  /* negative: nobody wants them */
	int err; /* of the first write that failed; negative errno */
	struct buf text;
};

/* `path` NULL: nobody wants them. 0 or a negative errno. */
int manifest_documents_open(struct manifest_documents *documents, const char *path);
/* 0, or the negative errno of what could not be written. */
int manifest_documents_close(struct manifest_documents *documents);

/* Objects of other kinds are passed over. */
void manifest_documents_add(struct manifest_documents *documents, struct str kind,
	const struct json *object, const struct manifest_place *place);
