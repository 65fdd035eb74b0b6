// SPDX-License-Identifier: Apache-2.0
/* The provider's configuration; config.def says what each member means. */
#pragma once

#include "common/daemon.h"
#include "provider-common/filter.h"
#include "provider-elb/settings.h"

#define ADMIN_PORT "10247"

struct config {
	struct daemon_options common;
	struct filter_options filter;
	char *cluster;
	char *region;
	char *vpc;
	struct option_list subnets;
	struct option_list security_groups;
	char *backend_security_group;
	struct option_list inbound;
	struct option_list zones;
	int scheme;
	int ip_address_type;
	char *ssl_policy;
	char *default_certificate;
	int wildcard_hosts;
	int64_t deregistration_delay;
	char *health_check_path;
	char *health_check_codes;
	int64_t health_check_interval;
	int64_t health_check_timeout;
	double replace_delay;
	double orphan_grace;
	double poll_interval;
	double list_interval;
	double sweep_interval;
	double tag_delay;
	double read_rate;
	double target_rate;
	double write_rate;
	double other_rate;
	double dns_rate;
	int64_t parallel;
	double client_timeout;
	char *ca_file;
	bool use_fips;
	bool use_dualstack;
};

extern const struct option_table config_table;

/* Checks what the table of options cannot: NULL, or what is wrong (allocated). */
char *config_check(const struct config *config);
/* Views of an option's items; *ret_items keeps the list, and is to be freed. */
struct str_list config_list(const struct option_list *option, struct str **ret_items);
/* The settings of the pure parts; views of the configuration. */
void config_settings(const struct config *config, struct settings *ret_settings);
