// SPDX-License-Identifier: Apache-2.0
/* The provider's configuration; config.def and provider-proxy/local.def say what each member means. */
#pragma once

#include "provider-common/filter.h"
#include "provider-proxy/local.h"
#include "provider-nginx/conf.h"

#define ADMIN_PORT "10245"

struct config {
	struct local_options local;
	struct filter_options filter;
	char *nginx;
	char *lua_dir;
	char *modules_dir;
	char *trusted_certificates;
	char *user;
	int64_t workers;
	int64_t dictionary_mb;
	double shutdown_timeout;
	double reload_interval;
};

extern const struct option_table config_table;

/* Fills in defaults that depend on this machine, and checks what the option table cannot: NULL, or what is wrong (allocated). */
char *config_check(struct config *config);
/* The texts are those of `config`. */
void config_fill(const struct config *config, struct conf_options *ret_options);
/* Reads --trusted-certificates; true: its content is another one. Without the file at the start, nobody is told that it trusts what the machine trusts. */
bool config_read_trusted(const struct config *config, struct conf_options *ret_options);
