// SPDX-License-Identifier: Apache-2.0
/* The translator's configuration; config.def says what each member means. */
#pragma once

#include "common/daemon.h"
#include "common/egress.h"
#include "translator/engine.h"

struct translator_config {
	struct daemon_options common;
	struct option_list watcher_uids;
	struct option_list provider_uids;
	char *default_certificate;
	char *default_backend;
	bool make_certificate;
	bool allow_external_name;
	struct option_list egress_hosts;
	bool shared_hosts;
	struct egress_options egress;
	int64_t certificate_warning_days;
	int64_t http_port;
	int64_t https_port;
	char *publish_service;
	bool ingress_nginx;
	char *ingress_nginx_prefix;
	bool once;
	char *hello;
	char *reports;
	char *explain;
	bool report_foreign;
	bool keyless_secrets;
};

extern const struct option_table translator_config_table;

/* Checks what the table cannot. NULL: *ret_engine is set, and its texts are views of the configuration; otherwise an error message (allocated). The
 * caller frees the engine's egress policy, even after an error. */
char *translator_config_check(
	const struct translator_config *config, struct engine_config *ret_engine);
