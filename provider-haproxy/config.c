// SPDX-License-Identifier: Apache-2.0
#include "provider-haproxy/config.h"

#include "common/xalloc.h"
#include "provider-haproxy/render.h"
#include "provider-proxy/trusted_proxies.h"

#include <sys/un.h>

#define OPTION(member, ...) OPTION_SPEC(struct config, member, __VA_ARGS__)
/* Options common to all processes are in the first member. */
#define common local.common
static const struct option_spec options[] = {
#include "provider-haproxy/config.def"
#include "provider-proxy/local.def"
#define EGRESS_OPTIONS local.egress
#include "common/egress.def"
#undef EGRESS_OPTIONS

#define FILTER_OPTIONS filter
#include "provider-common/filter.def"
#undef FILTER_OPTIONS
#include "common/common_options.def"
};
#undef common
#undef OPTION

const struct option_table config_table = {
	.program = "sluice-provider-haproxy",
	.summary = "Makes an HAProxy on this machine agree with what sluice-translator wants.",
	.details = "HAProxy is started, supervised, and changed through its socket; it is "
		   "reloaded, without\n"
		   "losing a connection, only for new listeners and for more slots.",
	.options = options,
	.count = sizeof(options) / sizeof(options[0]),
	.config_size = sizeof(struct config),
};

/* HAProxy first binds a socket under a temporary name: the path, a dot, a process id and a suffix. */
enum { SOCKET_NAME_LEN_MAX = sizeof("/loop65535_12345678.sock.4194304.tmp") };

char *config_check(const struct config *config)
{
	size_t len_max = sizeof(((struct sockaddr_un *)NULL)->sun_path) - SOCKET_NAME_LEN_MAX;
	if (!render_is_path(config->local.state_dir))
		return xasprintf("the state folder \"%.200s\" must be an absolute path of letters, "
				 "digits and "
				 "/._- only",
			config->local.state_dir);
	const char *proxy_dir = local_proxy_dir(&config->local);
	if (!render_is_path(proxy_dir))
		return xasprintf("--proxy-dir \"%.200s\" must be an absolute path of letters, "
				 "digits and /._- only",
			proxy_dir);
	if (strlen(proxy_dir) > len_max)
		return xasprintf("the folder \"%.200s\" is too long: sockets are made in it, which "
				 "leaves it %zu characters; --proxy-dir names another one",
			proxy_dir, len_max);
	if (config->trusted_certificates != NULL && !render_is_path(config->trusted_certificates))
		return xasprintf("--trusted-certificates \"%.200s\" must be an absolute path of "
				 "letters, digits and /._- only",
			config->trusted_certificates);
	if (config->socket != NULL && !render_is_path(config->socket))
		return xasprintf("the socket \"%.200s\" must be an absolute path of letters, "
				 "digits and /._- "
				 "only",
			config->socket);
	if (config->cookie_key[0] == 0 || strlen(config->cookie_key) > 256)
		return xstrdup("--cookie-key must have 1 to 256 bytes");
	if (config->local.metrics_ingresses != 0 && config_access_log_server(config) != NULL)
		return xstrdup("--metrics-ingresses counts from lines of the access log, which "
			       "therefore cannot go to a syslog server: see --access-log-to");
	char *problem = trusted_proxies_problem(
		&config->local.trusted_proxies, config->local.client_address_header);
	return problem != NULL ? problem : access_log_problem(config->local.access_log_to);
}

const char *config_access_log_server(const struct config *config)
{
	static char *server;
	if (server == NULL)
		server = access_log_server(config->local.access_log, config->local.access_log_to);
	return server;
}
