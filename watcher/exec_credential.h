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
/* The value of KUBERNETES_EXEC_INFO; the caller frees it. `ca_data` as PEM, NULL: none. */
char *exec_credential_info(const struct target *target, const char *ca_data);
/* Parses the plugin's output. NULL and *ret_credential, or a static text that says what is wrong. */
const char *exec_credential_parse(
	struct str output, const char *api_version, struct exec_credential *ret_credential);
