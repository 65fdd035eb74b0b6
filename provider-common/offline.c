// SPDX-License-Identifier: Apache-2.0
#include "provider-common/offline.h"

#include "common/xalloc.h"

#include <stdlib.h>

char *offline_render(const struct offline *offline, const struct offline_job *job)
{
	char *problem = NULL;
	void *config = xcalloc(1, offline->options->config_size);
	if (options_parse(offline->options, config, job->argc, job->argv, getenv, &problem) !=
		OPTIONS_OK)
		problem = problem != NULL ? problem : xstrdup("only options that set something");
	else if (offline->check != NULL)
		problem = offline->check(config);
	if (problem == NULL)
		problem = offline->render(job, config);
	options_free(offline->options, config);
	free(config);
	return problem;
}
