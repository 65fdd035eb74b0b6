// SPDX-License-Identifier: Apache-2.0
/*
 * Which API server, and by which right: what everything that target_find.h looks at comes down to. Files are named here, not
 * read: tokens and certificates are rotated while we run (credentials.h reads them).
 */
#pragma once

#include "common/options.h"
#include "common/secret.h"

#include <stdbool.h>

/* Where the files of a pod's service account stand. */
#define TARGET_IN_CLUSTER_DIR "/var/run/secrets/kubernetes.io/serviceaccount"

struct target_exec {
	char *command; /* with a slash: a path; else looked up in PATH */
	char **args;   /* NULL behind the last */
	size_t arg_count;
	char **env; /* "NAME=value" */
	size_t env_count;
	char *api_version;
	char *install_hint;
	bool provide_cluster_info;
};

struct target {
	char *source;     /* in words, for the log */
	char *kubeconfig; /* FILE[:FILE...] that it was found in; NULL: found otherwise */
	char *server;     /* "https://host:port/prefix", no slash at the end */
	char *ca_file;
	char *ca_data; /* PEM */
	bool ca_is_optional; /* without the file the system's authorities are trusted, as client-go does in a pod */
	bool insecure;
	char *tls_server_name;
	char *proxy_url;

	struct secret token;
	char *token_file; /* wins over token once it was read */
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

/* What keeps a running process from taking `fresh` in the place of `old`, allocated; NULL: nothing. */
char *target_obstacle(const struct target *old, const struct target *fresh);
void target_fini(struct target *target);
/* Over plain http no credentials are sent, whatever was configured; target_find() has taken them away then. */
bool target_is_https(const struct target *target);

/* "https://HOST:PORT/prefix" made plain: query, fragment and slashes at the end are cut. NULL when it is no http or https URL. */
char *target_plain_url(struct str url);
