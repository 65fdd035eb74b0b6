// SPDX-License-Identifier: Apache-2.0
#include "watcher/config.h"

#include "common/ascii.h"
#include "common/xalloc.h"
#include "watcher/cluster.h"

#include <stdio.h>

#define OPTION(member, ...) OPTION_SPEC(struct config, member, __VA_ARGS__)
static const struct option_spec options[] = {
#include "watcher/config.def"
#include "common/common_options.def"
};
#undef OPTION

const struct option_table config_table = {
	.program = "sluice-watcher",
	.summary =
		"Streams Kubernetes objects to sluice-translator, and writes statuses and Events.",
	.details = "The API server is found in this order: --kubernetes-url, --kubeconfig, the "
		   "service account of\n"
		   "the pod, ~/.kube/config. SIGHUP reads its files again: a broken one is named "
		   "in the log, "
		   "and what was read\nbefore stays in use.",
	.options = options,
	.count = sizeof(options) / sizeof(options[0]),
	.config_size = sizeof(struct config),
};

/* ---- checks that the table of options cannot express ---- */

enum { WORD_MAX = 253, SELECTOR_MAX = 1024 };

static bool is_namespace(const char *name)
{
	size_t len = strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-");
	return len > 0 && len <= 63 && name[len] == '\0';
}

static bool is_object_name(const char *name)
{
	size_t len = strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-.");
	return len > 0 && len <= WORD_MAX && name[len] == '\0';
}

static char *check_lease(const struct config *config)
{
	if (!is_object_name(config->lease_name) ||
		(config->lease_namespace != NULL && !is_namespace(config->lease_namespace)))
		return xstrdup("--lease-name and --lease-namespace must be names of objects");
	if (config->lease_duration <= config->lease_renew_deadline ||
		config->lease_renew_deadline <= config->lease_retry)
		return xstrdup(
			"--lease-duration must be more than --lease-renew-deadline, and that more "
			"than --lease-retry");
	return NULL;
}

struct named_refs_config config_named(const struct config *config)
{
	struct named_refs_config named = {.nginx_prefix = config->ingress_nginx_prefix};
	if (config->ingress_nginx_configmap != NULL)
		(void)named_refs_split(str_from(config->ingress_nginx_configmap),
			&named.options_namespace, &named.options_name);
	if (config->tcp_services_configmap != NULL)
		(void)named_refs_split(str_from(config->tcp_services_configmap),
			&named.tcp_namespace, &named.tcp_name);
	if (config->udp_services_configmap != NULL)
		(void)named_refs_split(str_from(config->udp_services_configmap),
			&named.udp_namespace, &named.udp_name);
	return named;
}

/* What a label and its value may be made of, and what joins several; what it means is left to the server. */
static bool is_selector(struct str text)
{
	if (text.len == 0 || text.len > SELECTOR_MAX || str_find(text, '=') == NULL)
		return false;
	return ascii_is_made_of(text, "-_./=,");
}

struct cluster_replicas config_replicas(const struct config *config)
{
	struct cluster_replicas replicas = {
		.wants_nodes = !config->report_node_internal_ip_address};
	struct str text = str_from(config->publish_pods);
	const char *slash = str_find(text, '/');
	if (slash == NULL)
		return replicas;
	replicas.namespace = (struct str){text.p, (size_t)(slash - text.p)};
	replicas.selector = str_skip(text, replicas.namespace.len + 1);
	return replicas;
}

static char *check_replicas(const struct config *config)
{
	struct cluster_replicas replicas = config_replicas(config);
	char namespace[64];
	if (config->publish_pods == NULL)
		return NULL;
	snprintf(namespace, sizeof(namespace), "%.*s", STR_FMT(replicas.namespace));
	if (replicas.namespace.len >= sizeof(namespace) || !is_namespace(namespace) ||
		!is_selector(replicas.selector))
		return xasprintf("--publish-pods %s: NAMESPACE/LABEL=VALUE is expected",
			config->publish_pods);
	return NULL;
}

char *config_check(const struct config *config)
{
	if (strlen(config->ingress_class) > WORD_MAX ||
		strlen(config->controller_name) > WORD_MAX ||
		strlen(config->load_balancer_class) > WORD_MAX)
		return xasprintf("--ingress-class, --controller-name and --load-balancer-class may "
				 "have %d bytes",
			WORD_MAX);
	if (config->load_balancer_class[0] == '\0')
		return xstrdup("--load-balancer-class must not be empty");
	const char *map = config->ingress_nginx_configmap;
	struct str dummy;
	if (map != NULL && !named_refs_split(str_from(map), &dummy, &dummy))
		return xasprintf("--ingress-nginx-configmap %s: NAMESPACE/NAME is expected", map);
	map = config->tcp_services_configmap;
	if (map != NULL && !named_refs_split(str_from(map), &dummy, &dummy))
		return xasprintf("--tcp-services-configmap %s: NAMESPACE/NAME is expected", map);
	map = config->udp_services_configmap;
	if (map != NULL && !named_refs_split(str_from(map), &dummy, &dummy))
		return xasprintf("--udp-services-configmap %s: NAMESPACE/NAME is expected", map);
	if (config->namespaces.count > CLUSTER_NAMESPACES_MAX)
		return xasprintf(
			"at most %d namespaces can be named; leave --namespace out to watch all",
			CLUSTER_NAMESPACES_MAX);
	for (size_t i = 0; i < config->namespaces.count; i++) {
		if (!is_namespace(config->namespaces.items[i]))
			return xasprintf("--namespace %s: no name of a namespace",
				config->namespaces.items[i]);
	}
	char *problem = check_replicas(config);
	return problem != NULL ? problem : check_lease(config);
}
