// SPDX-License-Identifier: Apache-2.0
/* The configuration; config.def says what each member means. */
#pragma once

#include "common/daemon.h"
#include "provider-supervisor/kind.h"

#define ADMIN_PORT "10246"

struct config {
	struct daemon_options common;
	int proxy; /* enum kind_id */
	char *program;
	char *state_dir;
	char *proxy_dir;
	double stop_timeout;
	char *take_over; /* NULL or empty: none */
	bool show_output;
	char *access_log_to;
};

extern const struct option_table config_table;

/* The folders, with defaults filled in; valid as long as the configuration. */
struct kind_folders config_folders(const struct config *config);
