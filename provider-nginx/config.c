// SPDX-License-Identifier: Apache-2.0
#include "provider-nginx/config.h"

#include "common/xalloc.h"
#include "common/files.h"
#include "provider-proxy/trusted_file.h"
#include "provider-proxy/trusted_proxies.h"
#include "provider-nginx/log_events.h"

#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

enum {
	OPEN_FILES_MAX = 65536,
	OPEN_FILES_FALLBACK = 1024,
	/* A socket's path has at most 107 bytes, of which our names take 30. */
	PROXY_DIR_LEN_MAX = 77,
};

static const struct option_spec options[] = {
#define OPTION(member, ...) OPTION_SPEC(struct config, member, __VA_ARGS__)
#include "provider-nginx/config.def"
#include "provider-proxy/local.def"
#include "provider-proxy/trusted_proxies.h"
#define EGRESS_OPTIONS local.egress
#include "common/egress.def"
#undef EGRESS_OPTIONS
#define FILTER_OPTIONS filter
#include "provider-common/filter.def"
#undef FILTER_OPTIONS
#undef OPTION
#define OPTION(member, ...) OPTION_SPEC(struct config, local.member, __VA_ARGS__)
#include "common/common_options.def"
#undef OPTION
};

const struct option_table config_table = {
	.program = "sluice-provider-nginx",
	.summary = "Runs nginx on this machine so that it serves what sluice-translator wants.",
	.details =
		"nginx outlives this program and is found again; without this program it goes on "
		"serving, and starts\nwith `nginx -e stderr -c STATE-DIR/nginx.conf`.",
	.options = options,
	.count = sizeof(options) / sizeof(options[0]),
	.config_size = sizeof(struct config),
};

/* A build has the modules next to the program; an installed program must use the modules installed with it. */
static char *find_lua(void)
{
	char self[4096];
	ssize_t len = readlink("/proc/self/exe", self, sizeof(self) - 1);
	const char *slash = len > 0 ? memrchr(self, '/', (size_t)len) : NULL;
	if (slash != NULL) {
		char *beside = xasprintf("%.*s/lua", (int)(slash - self), self);
		char *first = xasprintf("%s/sluice/start.lua", beside);
		bool is_there = files_exist(first);
		free(first);
		if (is_there)
			return beside;
		free(beside);
	}
	return xstrdup(SLUICE_LUA_DIR);
}

char *config_check(struct config *config)
{
	if (config->lua_dir == NULL)
		config->lua_dir = find_lua();
	const char *const paths[][2] = {
		{"--state-dir", config->local.state_dir},
		{"--proxy-dir", local_proxy_dir(&config->local)},
		{"--lua-dir", config->lua_dir},
		{"--nginx-modules", config->modules_dir},
		{"--trusted-certificates", config->trusted_certificates},
	};
	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		if (!conf_check_path(str_from(paths[i][1])))
			return xasprintf(
				"%s must be an absolute path of letters, digits and /._-+@ only",
				paths[i][0]);
	}
	if (strlen(local_proxy_dir(&config->local)) > PROXY_DIR_LEN_MAX)
		return xasprintf(
			"--proxy-dir, or without it --state-dir, must have at most %d bytes, "
			"because sockets lie below it",
			PROXY_DIR_LEN_MAX);
	char *problem = access_log_problem(config->local.access_log_to);
	if (problem == NULL)
		problem = trusted_proxies_problem(
			&config->local.trusted_proxies, config->local.client_address_header);
	if (problem != NULL)
		return problem;
	if (geteuid() == 0 && getpwnam(config->user) == NULL)
		return xasprintf("--nginx-user: there is no user \"%.64s\"", config->user);
	return NULL;
}

static bool has_module(const struct config *config, const char *name)
{
	char *path = xasprintf("%s/%s", config->modules_dir, name);
	bool is_there = files_exist(path);
	free(path);
	return is_there;
}

/* Kept as long as the program runs; nginx has a word of its own before paths. */
static struct str access_log_address(const struct config *config)
{
	static char address[256];
	char *server = access_log_server(config->local.access_log, config->local.access_log_to);
	snprintf(address, sizeof(address), "%s%s",
		server != NULL && server[0] == '/' ? "unix:" : "", server != NULL ? server : "");
	free(server);
	return str_from(address);
}

void config_fill(const struct config *config, struct conf_options *ret_options)
{
	struct rlimit limit;
	int64_t open_files = OPEN_FILES_FALLBACK;
	if (getrlimit(RLIMIT_NOFILE, &limit) == 0)
		open_files =
			limit.rlim_max < OPEN_FILES_MAX ? (int64_t)limit.rlim_max : OPEN_FILES_MAX;
	*ret_options = (struct conf_options){
		.state_dir = str_from(config->local.state_dir),
		.proxy_dir = str_from(local_proxy_dir(&config->local)),
		.lua_dir = str_from(config->lua_dir),
		.modules_dir = str_from(config->modules_dir),
		.system_ca = files_exist(config->trusted_certificates)
				     ? str_from(config->trusted_certificates)
				     : STR(""),
		.user = geteuid() == 0 ? str_from(config->user) : STR(""),
		.trusted_proxies = &config->local.trusted_proxies,
		.client_header = str_from(config->local.client_address_header),
		.workers = config->workers,
		.open_files = open_files,
		.dictionary_mb = config->dictionary_mb,
		.shutdown_s = (int64_t)config->shutdown_timeout,
		.metrics_ingresses = config->local.metrics_ingresses,
		.trace_context = (enum trace_context)config->local.trace_context,
		.access_log = (enum access_log_form)config->local.access_log,
		.access_log_server = access_log_address(config),
		.has_lua_module = has_module(config, "ngx_http_lua_module.so"),
		.has_ndk_module = has_module(config, "ndk_http_module.so"),
		.has_stream_module = has_module(config, "ngx_stream_module.so"),
	};
}

bool config_read_trusted(const struct config *config, struct conf_options *ret_options)
{
	uint64_t before = ret_options->system_ca_digest;
	if (str_is_empty(ret_options->system_ca))
		return false;
	char *problem =
		trusted_file_read(config->trusted_certificates, &ret_options->system_ca_digest);
	if (problem != NULL)
		log_event(&EV_TRUSTED_UNREADABLE, LOG_STR("reason", problem));
	free(problem);
	return ret_options->system_ca_digest != before;
}
