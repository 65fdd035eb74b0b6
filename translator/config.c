// SPDX-License-Identifier: Apache-2.0
#include "translator/config.h"

#include "common/xalloc.h"
#include "translator/dialects/foreign_hosts.h"

enum {
	DAY_S = 24 * 60 * 60,
	NAMES_LEN_MAX = 63 + 1 + 253, /* of a namespace and a name */
};

#define CONFIG_TYPE struct translator_config
#define OPTION(...) OPTION_SPEC(CONFIG_TYPE, __VA_ARGS__)
static const struct option_spec options[] = {
#include "translator/config.def"
#define EGRESS_OPTIONS egress
#include "common/egress.def"
#undef EGRESS_OPTIONS
#include "common/common_options.def"
};
#undef OPTION

const struct option_table translator_config_table = {
	.program = "sluice-translator",
	.summary = "Turns Kubernetes records into load balancer objects.",
	.details = "It listens on source.sock and provider.sock in the runtime directory, or takes "
		   "over sockets of these\n"
		   "names from the service manager. Which Ingresses are ours is an option of the "
		   "watcher.",
	.options = options,
	.count = sizeof(options) / sizeof(options[0]),
	.config_size = sizeof(struct translator_config),
};

/* NAMESPACE/NAME; NULL: not set. */
static char *read_name(
	const char *option, const char *value, struct str *ret_namespace, struct str *ret_name)
{
	struct str text = str_from(value);
	if (text.p == NULL)
		return NULL;
	const char *slash = str_find(text, '/');
	if (slash == NULL || slash == text.p || slash[1] == '\0' ||
		strchr(slash + 1, '/') != NULL || text.len > NAMES_LEN_MAX)
		return xasprintf("--%s: NAMESPACE/NAME is expected", option);
	*ret_namespace = (struct str){text.p, (size_t)(slash - text.p)};
	*ret_name = str_from(slash + 1);
	return NULL;
}

char *translator_config_check(
	const struct translator_config *config, struct engine_config *ret_engine)
{
	*ret_engine = (struct engine_config){
		.allow_external_name = config->allow_external_name,
		.egress_hosts = &config->egress_hosts,
		.shared_hosts = config->shared_hosts,
		.certificate_warn_s = config->certificate_warning_days * DAY_S,
		.http_port = (uint64_t)config->http_port,
		.https_port = (uint64_t)config->https_port,
		.takes_nginx = config->ingress_nginx,
		.nginx_prefix = str_from(config->ingress_nginx_prefix),
	};
	char *problem = read_name("default-certificate", config->default_certificate,
		&ret_engine->default_namespace, &ret_engine->default_name);
	if (problem == NULL)
		problem = read_name("default-backend", config->default_backend,
			&ret_engine->backend_namespace, &ret_engine->backend_name);
	if (problem == NULL)
		problem = read_name("publish-service", config->publish_service,
			&ret_engine->publish_namespace, &ret_engine->publish_name);
	if (problem == NULL && config->http_port == config->https_port)
		problem = xstrdup("--http-port and --https-port must differ");
	if (problem == NULL)
		problem = foreign_hosts_problem(&config->egress_hosts);
	if (problem == NULL)
		ret_engine->egress = egress_new(&config->egress, &problem);
	return problem;
}
