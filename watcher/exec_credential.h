// SPDX-License-Identifier: Apache-2.0
/*
 * The texts that an exec plugin and its caller exchange: ExecCredential of client.authentication.k8s.io/v1 and v1beta1 (Kubernetes
 * documentation, "client-go credential plugins"). Pure.
 */
#pragma once

#include "common/secret.h"
#include "watcher/target.h"

enum { EXEC_OUTPUT_MAX = 1024 * 1024 };

struct exec_credential {
	struct secret token;
	char *cert_data; /* PEM; comes with key_data or not at all */
	struct secret key_data;
	double expires_at; /* seconds since 1970; 0: never */
};

void exec_credential_fini(struct exec_credential *credential);
/* The plugin's environment: KUBERNETES_EXEC_INFO, what the kubeconfig adds, and the rest of ours; NULL behind the last. The caller frees the
 * first text and the list. `ca_data` as PEM, NULL: none. */
char **exec_credential_env(const struct target *target, const char *ca_data);
/* Parses the plugin's output. NULL and *ret_credential, or a static text that says what is wrong. */
const char *exec_credential_parse(
	struct str output, const char *api_version, struct exec_credential *ret_credential);
