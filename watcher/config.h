// SPDX-License-Identifier: Apache-2.0
/* The watcher's configuration; config.def says what each member means. */
#pragma once

#include "common/daemon.h"
#include "watcher/cluster.h"
#include "watcher/named_refs.h"

#define ADMIN_PORT "10241"

struct config {
	struct daemon_options common;
	char *kubeconfig;
	char *context;
	char *kubernetes_url;
	char *token_file;
	char *ca_file;
	struct option_list namespaces;
	char *ingress_class;
	char *controller_name;
	bool without_class;
	bool ingress_classes;
	char *load_balancer_class;
	bool default_load_balancer_class;
	bool streaming_lists;
	int64_t page_size;
	double resync;
	double watch_timeout;
	double watch_margin;
	double watch_silence;
	double stream_timeout;
	double connect_timeout;
	double request_timeout;
	double backoff_first;
	double backoff_max;
	double exec_timeout;
	bool leader_elect;
	char *lease_name;
	char *lease_namespace;
	double lease_duration;
	double lease_renew_deadline;
	double lease_retry;
	struct option_list manifests;
	char *records;
	char *ingress_nginx_prefix;
	char *ingress_nginx_configmap;
	char *tcp_services_configmap;
	char *udp_services_configmap;
	bool update_status;
	char *publish_pods;
	bool report_node_internal_ip_address;
	char *places;
	char *documents;
	char *manifest_namespace;
};

extern const struct option_table config_table;

/* What is watched by its name; texts of the configuration. */
struct named_refs_config config_named(const struct config *config);
/* Which pods are read, and whether nodes are. */
struct cluster_replicas config_replicas(const struct config *config);
/* NULL, or what is wrong in words (the caller frees it). */
char *config_check(const struct config *config);
