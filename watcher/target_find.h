// SPDX-License-Identifier: Apache-2.0
/*
 * Chooses the API server: by in-cluster configuration, a kubeconfig, or the Go original's way (KUBERNETES_URL, token on standard input).
 * Reads kubeconfig files; what they name is read by credentials.h.
 */
#pragma once

#include "watcher/target.h"

/* Where the Go original looked for its CA. */
#define TARGET_OLD_CA_FILE "/etc/kubernetes/ssl/ca.pem"

struct target_options {
	const char *url;        /* --kubernetes-url; NULL: not given */
	const char *kubeconfig; /* paths joined by ':'; NULL: not given */
	const char *context;
	const char *token_file;
	const char *ca_file;
};

/* Looks in this order: url, kubeconfig, the pod's service account, ~/.kube/config. Returns NULL and *ret_target, or what is wrong in words
 * (the caller frees either). */
char *target_find(const struct target_options *options, char *(*environ_get)(const char *name),
	struct target *ret_target);
