// SPDX-License-Identifier: Apache-2.0
/*
 * sluice-provider-elb: makes AWS load balancers match what the translator wants, and reports the names under which they are reached.
 *
 * In: load balancers, virtual hosts, pools and certificates (with their keys) from the translator over provider.sock; what AWS has, by lists.
 * Out: calls of AWS (ELB, EC2, ACM, tagging, STS, and Route 53 if a zone is given); statuses and events to the translator.
 *
 * Trusted with: credentials of AWS, which may change whatever carries this cluster's tag, and the private keys of certificates, which it hands to ACM. Neither
 * is logged; both are wiped when no longer needed. It needs the network and one Unix socket, and writes no files; it listens only on its admin
 * server.
 *
 * When a neighbour dies:
 *   translator  nothing is removed or changed; the last wanted state stays in force, and what was not finished is finished. When it is back its
 *               snapshot is compared.
 *   AWS         traffic goes on. Pending changes are made once its API is back; one call at a time finds out. The owners concerned are told.
 *   this one    traffic goes on. After a start everything with our tag is listed, and only what differs from what is wanted is read and written.
 *
 * Read next: controller.h for the parts, plan.h for the order in which things are done, balancer.c for how one load balancer is brought to what is wanted.
 */
#include "common/cert.h"
#include "provider-elb/confine.h"
#include "provider-elb/controller.h"
#include "provider-elb/filter.h"

static struct config config;
static struct controller *controller;

static char *start(struct daemon *daemon, void *configuration, bool *ret_usage)
{
	char *problem = config_check(&config);
	if (problem == NULL)
		controller = controller_new(&config, daemon_loop(daemon), &problem);
	if (problem != NULL) {
		*ret_usage = true;
		return problem;
	}
	cert_setup();
	problem = daemon_confine(daemon, confine_provider(&config));
	if (problem == NULL)
		controller_start(controller, daemon);
	return problem;
}

static void stop(void)
{
	controller_free(controller);
}

static void reload(void)
{
	controller_reload(controller);
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
		.filter_ctx = &elb_filter,
	};
	return daemon_main(&spec, &config, argc, argv);
}
