// SPDX-License-Identifier: Apache-2.0
/*
 * The API server and the credentials for it: the result of target_find.h. Files are only named here: credentials.h reads them, because
 * tokens and certificates are rotated while we run.
 */
#pragma once

#include "common/options.h"
#include "common/secret.h"

#include <stdbool.h>

/* Where the files of a pod's service account are. */
#define TARGET_IN_CLUSTER_DIR "/var/run/secrets/kubernetes.io/serviceaccount"

struct target_exec {
	char *command; /* with a slash: a path; else looked up in PATH */
	char **args;   /* NULL after the last */
	size_t arg_count;
	char **env; /* "NAME=value" */
	size_t env_count;
	char *api_version;
	char *install_hint;
	bool provide_cluster_info;
};

struct target {
	char *source;     /* in words, for the log */
	char *kubeconfig; /* FILE[:FILE...] that it comes from; NULL: from elsewhere */
	char *server;     /* "https://host:port/prefix", no slash at the end */
	char *ca_file;
	char *ca_data; /* PEM */
	bool ca_is_optional; /* without the file the system's authorities are trusted, as client-go does in a pod */
	bool insecure;
	char *tls_server_name;
	char *proxy_url;

	struct secret token;
	char *token_file; /* takes precedence over token once it has been read */
	bool token_on_stdin;
	char *username;
	struct secret password;
	char *cert_file;
	char *key_file;
	char *cert_data; /* PEM */
	struct secret key_data;
	struct target_exec *exec; /* NULL: none */

	char *as_user; /* impersonation; NULL: none */
	char *as_uid;
	char **as_groups;
	size_t as_group_count;
};

/* Why a running process cannot replace `old` by `fresh`, allocated; NULL: it can. */
char *target_obstacle(const struct target *old, const struct target *fresh);
void target_fini(struct target *target);
/* Over plain http no credentials are sent, whatever is configured: target_find() removes them. */
bool target_is_https(const struct target *target);

/* "https://HOST:PORT/prefix", without query, fragment and slashes at the end. NULL when it is not an http or https URL. */
char *target_plain_url(struct str url);
