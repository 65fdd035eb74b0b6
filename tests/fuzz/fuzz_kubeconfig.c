// SPDX-License-Identifier: Apache-2.0
/* Any file, as it is and before a good one: a target that is usable, or words that say what is wrong with it. */
#include "common/must.h"
#include "watcher/kubeconfig.h"

#include <stdlib.h>

static const char GOOD[] =
	"current-context: x\ncontexts: [{name: x, context: {cluster: c, user: u}}]\n"
	"clusters: [{name: c, cluster: {server: 'https://api.example'}}]\n"
	"users: [{name: u, user: {token: t}}]\n";

static void choose(const struct kubeconfig_file *files, size_t count, const char *context)
{
	struct target target = {0};
	char *problem = kubeconfig_choose(files, count, context, &target);
	if (problem != NULL) {
		must(problem[0] != '\0' && str_is_utf8(str_from(problem)));
		free(problem);
		return;
	}
	must(target.server != NULL && target.server[0] == 'h');
	target_fini(&target);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	const struct kubeconfig_file files[] = {
		{{(const char *)data, len}, "FILE", "/dir"}, {STR(GOOD), "GOOD", "/"}};
	if (len > KUBECONFIG_LEN_MAX)
		return 0;
	choose(files, 1, NULL);
	choose(files, 2, NULL);
	choose(files, 2, "x");
	return 0;
}
