// SPDX-License-Identifier: Apache-2.0
/* The provider's configuration; config.def and provider-proxy/local.def say what each member means. */
#pragma once

#include "provider-common/filter.h"
#include "provider-proxy/local.h"

#define ADMIN_PORT "10244"
/* In the folder of the proxy. */
#define HAPROXY_SOCKET "haproxy.sock"

struct config {
	struct local_options local;
	struct filter_options filter;
	char *haproxy;
	char *socket;
	char *cookie_key;
	char *trusted_certificates;
	int64_t slots;
	double slots_idle;
	double hard_stop_after;
	double reload_interval;
};

/* The syslog server of the access log; NULL: none. Kept as long as the program runs. */
const char *config_access_log_server(const struct config *config);

extern const struct option_table config_table;

/* Checks what the table of options cannot: NULL, or what is wrong (allocated). */
char *config_check(const struct config *config);
