// SPDX-License-Identifier: Apache-2.0
/*
 * kubeconfig files (Kubernetes documentation, "Organizing Cluster Access Using kubeconfig Files"): the first file that
 * defines a named cluster, user or context wins whole, relative paths are relative to the file that names them. Pure: texts in, a
 * target out.
 *
 * The text is not trusted: its size, nesting and lists are bounded, and aliases are followed but never expanded, so a small file cannot
 * become a large one.
 */
#pragma once

#include "watcher/target.h"

enum {
	KUBECONFIG_FILES_MAX = 16,
	KUBECONFIG_LEN_MAX = 1024 * 1024,
	KUBECONFIG_ENTRIES_MAX = 4096, /* of one list */
	KUBECONFIG_ARGS_MAX = 256,
	KUBECONFIG_DEPTH_MAX = 100,
	KUBECONFIG_MEMBERS_MAX = 1024, /* of one mapping; further ones are not seen */
};

struct kubeconfig_file {
	struct str text;
	const char *path; /* for messages */
	const char *dir;  /* that relative paths start from */
};

/* `context` NULL: the current one. Returns NULL and *ret_target (to be freed by target_fini()), or what is wrong in words. Credentials are
 * dropped when the server speaks plain http, as kubectl does. */
char *kubeconfig_choose(const struct kubeconfig_file *files, size_t count, const char *context,
	struct target *ret_target);
