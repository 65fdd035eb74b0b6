// SPDX-License-Identifier: Apache-2.0
/*
 * sluice-provider-nginx: runs nginx on this machine so that it serves what the translator wants, and reports where traffic enters.
 *
 * In: load balancers, virtual hosts, pools and certificates (with their keys) from the translator over provider.sock. Out: rows to nginx
 * over its control socket, and the same to the state file; nginx.conf, for what rows cannot express; statuses to the translator.
 *
 * Trusted with: the private keys of certificates, which are in the state file (mode 0600), and with the ports that nginx listens on.
 * Started as root only for ports below 1024; nginx's workers then run as another user. It opens network sockets only to check whether a
 * port is free, and to resolve host names that are backends.
 *
 * When a neighbour dies:
 *   translator  nothing changes; the last wanted state stays in force. When it is back its snapshot is compared.
 *   nginx       is restarted with the state file, and then sent whatever that lacks.
 *   this one    nginx goes on serving. The next one finds it by its pid, asks for its state, and changes only what differs.
 *   the disk    nginx gets every change all the same; the file follows when it can.
 *
 * Read next: engine.h for the modules; feed.h for changes without a reload, setup.h for those with one, lua/sluice/request.lua for the path of a
 * request.
 */
#include "provider-nginx/engine.h"
#include "provider-nginx/filter.h"

#include <signal.h>

static struct config config;
static struct engine *engine;

static char *start(struct daemon *daemon, void *configuration, bool *ret_usage)
{
	char *problem = config_check(&config);
	if (problem != NULL) {
		*ret_usage = true;
		return problem;
	}
	/* Exceeding the file size limit must be an error like a full disk. */
	signal(SIGXFSZ, SIG_IGN);
	engine = engine_new(daemon, &config, &problem, ret_usage);
	return engine != NULL ? NULL : problem;
}

static void stop(void)
{
	engine_free(engine);
}

static void reload(void)
{
	engine_read_trusted(engine);
}

int main(int argc, char **argv)
{
	static const struct daemon_spec spec = {
		.options = &config_table,
		.common_offset = offsetof(struct config, local.common),
		.admin_port = ADMIN_PORT,
		.start = start,
		.stop = stop,
		.reload = reload,
		.is_filter = filter_is_wanted,
		.filter = filter_run,
		.filter_ctx = &nginx_filter,
	};
	return daemon_main(&spec, &config, argc, argv);
}
