// SPDX-License-Identifier: Apache-2.0
#include "sluicectl/migrate_line.h"

#include "common/xalloc.h"

#include <stdlib.h>
#include <string.h>

#define MAP_SETTING "ingress-nginx-configmap"

/* The value of a setting; NULL: it is not set. */
static const char *setting(const struct args *args, const char *name)
{
	size_t len = strlen(name);
	const char *found = NULL;
	for (size_t i = 0; i < args->settings.count; i++) {
		const char *given = args->settings.items[i];
		if (strncmp(given, name, len) == 0 && given[len] == '=')
			found = given + len + 1;
	}
	return found;
}

/* As the translator is told, with the dialect switched on. */
struct line *migrate_line_run(
	const struct args *args, const char *provider, struct str map, int *ret_code)
{
	static char dialect[] = "ingress-nginx=true";
	struct args extended = *args;
	char *options = map.len != 0 ? xasprintf(MAP_SETTING "=%.*s", STR_FMT(map)) : NULL;
	extended.settings.items =
		xcalloc(args->settings.count + 2, sizeof(*extended.settings.items));
	for (size_t i = 0; i < args->settings.count; i++)
		extended.settings.items[i] = args->settings.items[i];
	extended.settings.items[extended.settings.count++] = dialect;
	if (options != NULL)
		extended.settings.items[extended.settings.count++] = options;
	const struct line_request request = {
		.goal = LINE_FINDINGS,
		.args = &extended,
		.provider = provider,
		.files = &args->files,
		.wants_documents = true,
	};
	struct line *line = line_run(&request, ret_code);
	free(extended.settings.items);
	free(options);
	return line;
}

bool migrate_line_has_map(const struct args *args)
{
	return setting(args, MAP_SETTING) != NULL;
}

struct str migrate_line_prefix(const struct args *args)
{
	const char *prefix = setting(args, "ingress-nginx-prefix");
	return str_from(prefix != NULL ? prefix : MIGRATE_PREFIX);
}
