// SPDX-License-Identifier: Apache-2.0
/* The provider's configuration; config.def says what each member means. */
#pragma once

#include "common/daemon.h"
#include "provider-common/filter.h"
#include "common/http.h"

#define ADMIN_PORT "10243"

struct config {
	struct daemon_options common;
	struct filter_options filter;
	char *url;
	char *access_key;
	char *access_key_file;
	char *secret_key;
	char *secret_key_file;
	char *admin_access_key;
	char *admin_access_key_file;
	char *admin_secret_key;
	char *admin_secret_key_file;
	char *ca_file;
	char *cert_file;
	char *key_file;
	char *server_name;
	bool insecure;
	double client_timeout;
	int64_t parallel;
	int64_t page_size;
	double poll_interval;
	double idle_poll_interval;
	bool events;
	double endpoint_grace;
	char *separator;
	char *stack;
	char *image;
	bool allow_custom_config;
	bool keep_unclaimed;
};

extern const struct option_table config_table;

struct credentials {
	struct secret access_key;
	struct secret secret_key;
};

/* Reads the keys, from files where files are given. NULL, or what is wrong in words (allocated); the old keys stay then.
 * *ret_changed: they differ from those before. */
char *config_read_keys(const struct config *config, struct credentials *keys, bool *ret_changed);
void credentials_fini(struct credentials *keys);
/* Reads the certificates and the key for TLS, into a peer with one holder. NULL and *ret_problem (allocated) when a file is no good. */
struct http_peer *config_read_peer(const struct config *config, char **ret_problem);
/* Checks what the table of options cannot: NULL, or what is wrong (allocated). */
char *config_check(const struct config *config);
