// SPDX-License-Identifier: Apache-2.0
/*
 * sluice-provider-haproxy: makes an HAProxy on this machine match what the translator wants.
 *
 * In: load balancers, virtual hosts, pools and certificates (with their keys) from the translator over provider.sock; HAProxy's current
 * state, from its stats socket. Out: commands to that socket; files in the state folder, from which HAProxy starts; statuses to the
 * translator.
 *
 * Trusted with: HAProxy's socket, which gives full control of it, and the private keys of certificates, which are in files of mode 0600. It
 * needs the network only to find the addresses of this machine, and to resolve host names that are backends; HAProxy has the ports.
 *
 * When a neighbour dies:
 *   translator  HAProxy goes on with what was wanted last. When it is back its snapshot is compared.
 *   HAProxy     is restarted from the files, which have its last state, and compared.
 *   this one    HAProxy goes on serving. The next one finds it by its pid file, reads back its state, and changes only what differs.
 *   the disk    full or read-only: nothing is served that a restart would lose, but endpoints are followed; writes are retried.
 *
 * Read next: engine.h for the modules; slots.h and provider-proxy/routes.h for how routes change without a reload.
 */
#include "provider-haproxy/engine.h"
#include "provider-haproxy/filter.h"

static struct config config;
static struct engine *engine;

static char *start(struct daemon *daemon, void *configuration, bool *ret_usage)
{
	char *problem = config_check(&config);
	if (problem != NULL) {
		*ret_usage = true;
		return problem;
	}
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
		.filter_ctx = &haproxy_filter,
	};
	return daemon_main(&spec, &config, argc, argv);
}
