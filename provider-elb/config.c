// SPDX-License-Identifier: Apache-2.0
#include "provider-elb/config.h"

#include "common/xalloc.h"
#include "provider-elb/networks.h"
#include "provider-elb/route53.h"

enum {
	CLUSTER_LEN_MAX = 100, /* of the 256 of a tag's value, and as much as EKS allows */
	HEALTH_PATH_LEN_MAX = 1024,
};

#define OPTION(member, ...) OPTION_SPEC(struct config, member, __VA_ARGS__)
static const struct option_spec options[] = {
#include "provider-elb/config.def"
#define FILTER_OPTIONS filter
#include "provider-common/filter.def"
#undef FILTER_OPTIONS
#include "common/common_options.def"
};
#undef OPTION

const struct option_table config_table = {
	.program = "sluice-provider-elb",
	.summary = "Makes AWS load balancers agree with what sluice-translator wants.",
	.details = "Credentials are those that AWS's own tools would take: AWS_ACCESS_KEY_ID and\n"
		   "AWS_SECRET_ACCESS_KEY, a web identity token (IRSA), the files of a profile, a "
		   "container's\n"
		   "(EKS Pod Identity, ECS), or the instance's role. So are endpoints: "
		   "AWS_ENDPOINT_URL.",
	.options = options,
	.count = sizeof(options) / sizeof(options[0]),
	.config_size = sizeof(struct config),
};

static bool is_plain(const char *text)
{
	return strspn(text,
		       "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.:/@") ==
	       strlen(text);
}

static char *check_inbound(const struct option_list *inbound)
{
	for (size_t i = 0; i < inbound->count; i++) {
		struct networks *networks = networks_new();
		bool is_network = networks_add(networks, str_from(inbound->items[i]));
		networks_free(networks);
		if (!is_network)
			return xasprintf(
				"--inbound-cidrs: \"%.100s\" is not a network such as 10.0.0.0/8",
				inbound->items[i]);
	}
	return NULL;
}

static char *check_zones(const struct option_list *zones)
{
	for (size_t i = 0; i < zones->count; i++) {
		if (!route53_is_zone(str_from(zones->items[i])))
			return xasprintf(
				"--route53-zone: \"%.100s\" is no id of a hosted zone such "
				"as Z0123456789ABCDEFGHIJ",
				zones->items[i]);
	}
	return NULL;
}

char *config_check(const struct config *config)
{
	if (config->cluster == NULL || config->cluster[0] == '\0')
		return xstrdup("the cluster's name is missing: give --cluster-name or "
			       "SLUICE_ELB_CLUSTER_NAME; it marks what belongs to this cluster");
	if (strlen(config->cluster) > CLUSTER_LEN_MAX || !is_plain(config->cluster))
		return xasprintf(
			"the cluster's name \"%.120s\" cannot stand in a tag: at most %d letters, "
			"digits and -_.:/@",
			config->cluster, CLUSTER_LEN_MAX);
	if (config->health_check_path[0] != '/' ||
		strlen(config->health_check_path) > HEALTH_PATH_LEN_MAX)
		return xasprintf(
			"--health-check-path has to begin with / and have at most %d bytes",
			HEALTH_PATH_LEN_MAX);
	if (config->health_check_timeout >= config->health_check_interval)
		return xstrdup(
			"--health-check-timeout has to be shorter than --health-check-interval");
	char *problem = check_inbound(&config->inbound);
	return problem != NULL ? problem : check_zones(&config->zones);
}

struct str_list config_list(const struct option_list *option, struct str **ret_items)
{
	*ret_items = xcalloc(option->count + 1, sizeof(struct str));
	for (size_t i = 0; i < option->count; i++)
		(*ret_items)[i] = str_from(option->items[i]);
	return (struct str_list){*ret_items, option->count};
}

void config_settings(const struct config *config, struct settings *ret_settings)
{
	static const char *const schemes[] = {"internet-facing", "internal"};
	static const char *const address_types[] = {"ipv4", "dualstack"};
	settings_init(ret_settings);
	/* A filter renders without one. */
	ret_settings->cluster =
		config->cluster != NULL ? str_from(config->cluster) : STR("cluster");
	ret_settings->scheme = str_from(schemes[config->scheme]);
	ret_settings->ip_address_type = str_from(address_types[config->ip_address_type]);
	ret_settings->ssl_policy = str_from(config->ssl_policy);
	ret_settings->default_certificate = str_from(config->default_certificate);
	ret_settings->wildcard_hosts = (enum wildcard_hosts)config->wildcard_hosts;
	ret_settings->deregistration_delay_s = (uint64_t)config->deregistration_delay;
	ret_settings->health_check_path = str_from(config->health_check_path);
	ret_settings->health_check_codes = str_from(config->health_check_codes);
	ret_settings->health_check_interval_s = (uint64_t)config->health_check_interval;
	ret_settings->health_check_timeout_s = (uint64_t)config->health_check_timeout;
}
