// SPDX-License-Identifier: Apache-2.0
/*
 * sluice-provider-rancher: makes Rancher load balancers match what the translator wants, and reports where traffic enters.
 *
 * In: load balancers, virtual hosts, pools and certificates (with their keys) from the translator over provider.sock; the current state
 * from Rancher's API, by lists and change events. Out: requests to that API; statuses and events to the translator.
 *
 * Trusted with: Rancher's API keys, which allow anything in the project, and the private keys of certificates. Neither is logged; both are
 * wiped when no longer needed. It needs the network and one Unix socket, and writes no files; it listens only on its admin server.
 *
 * When a neighbour dies:
 *   translator  nothing is removed or changed; the last wanted state stays in force, and load balancers that
 *               were not finished are finished. When it is back its snapshot is compared.
 *   Rancher     traffic goes on. Pending changes are made once it is back; one request at a time finds out.
 *               The Ingresses concerned are told.
 *   this one    traffic goes on. After a start everything is listed and compared, and only differences
 *               are written.
 *
 * Read next: controller.h for the modules, balancer_reconcile.h, lb_fsm.def and plan.h for how one load balancer is reconciled.
 */
#include "provider-rancher/confine.h"
#include "provider-rancher/controller.h"
#include "provider-rancher/filter.h"

static struct config config;
static struct controller *controller;

static char *start(struct daemon *daemon, void *configuration, bool *ret_usage)
{
	char *problem = config_check(&config);
	if (problem == NULL)
		controller = controller_new(&config, &problem);
	if (problem != NULL) {
		*ret_usage = true;
		return problem;
	}
	problem = daemon_confine(daemon, confine_provider(&config));
	if (problem == NULL)
		controller_start(controller, daemon);
	return problem;
}

static void reload(void)
{
	controller_reload(controller);
}

static void stop(void)
{
	controller_free(controller);
}

int main(int argc, char **argv)
{
	static const struct daemon_spec spec = {
		.options = &config_table,
		.common_offset = offsetof(struct config, common),
		.admin_port = ADMIN_PORT,
		.start = start,
		.stop = stop,
		.reload = reload,
		.is_filter = filter_is_wanted,
		.filter = filter_run,
		.filter_ctx = &rancher_filter,
	};
	return daemon_main(&spec, &config, argc, argv);
}
