// SPDX-License-Identifier: Apache-2.0
#include "sluicectl/programs.h"

#include "common/buf.h"
#include "common/xalloc.h"
#include "sluicectl/pipeline.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char prefix[] = "sluice-";

enum { OPTIONS_LEN_MAX = 64 * 1024 };

/* ---- where programs are installed ---- */

static char *if_executable(char *path)
{
	if (access(path, X_OK) == 0)
		return path;
	free(path);
	return NULL;
}

/* The folder of our own program; allocated. */
static char *own_folder(void)
{
	char path[4096];
	ssize_t len = readlink("/proc/self/exe", path, sizeof(path) - 1);
	if (len <= 0)
		return xstrdup(SLUICE_BIN_DIR);
	path[len] = '\0';
	*strrchr(path, '/') = '\0';
	return xstrdup(path);
}

char *program_find(const char *name)
{
	char *folder = own_folder();
	char *found = if_executable(xasprintf("%s/%s", folder, name));
	/* In a build folder each program is in a folder of its own, named like it without "sluice-". */
	if (found == NULL)
		found = if_executable(
			xasprintf("%s/../%s/%s", folder, name + strlen(prefix), name));
	if (found == NULL)
		found = if_executable(xasprintf("%s/%s", SLUICE_BIN_DIR, name));
	if (found == NULL)
		found = if_executable(xasprintf("%s/%s", SLUICE_LIBEXEC_DIR, name));
	free(folder);
	return found;
}

char *program_find_provider(const char *provider)
{
	char *name = xasprintf("%sprovider-%s", prefix, provider);
	char *found = strchr(provider, '/') == NULL ? program_find(name) : NULL;
	free(name);
	return found;
}

char *program_missing(const char *name)
{
	static const char provider[] = "sluice-provider-";
	bool is_provider = strncmp(name, provider, strlen(provider)) == 0;
	return xasprintf("%s is not installed, and this needs it; it is in the package %s", name,
		is_provider ? name : "sluice");
}

/* ---- command lines ---- */

void arguments_add(struct argument_list *list, char *word)
{
	list->words = xreallocarray(list->words, list->count + 2, sizeof(*list->words));
	list->words[list->count++] = word;
	list->words[list->count] = NULL;
}

void arguments_free(struct argument_list *list)
{
	for (size_t i = 0; i < list->count; i++)
		free(list->words[i]);
	free(list->words);
	*list = (struct argument_list){NULL, 0};
}

/* ---- settings ---- */

/* The names of a program's options, one a line; nothing if it does not list them. */
static void ask_options(const char *path, struct buf *out)
{
	char *words[] = {(char *)(uintptr_t)path, (char *)(uintptr_t) "--help=options", NULL};
	struct pipeline pipeline;
	pipeline_init(&pipeline);
	int output = pipeline_output(&pipeline, out);
	pipeline_start(&pipeline, &(struct pipeline_program){.words = words, .output = output});
	char *problem = pipeline_wait(&pipeline);
	if (problem != NULL || pipeline_status(&pipeline, 0)->exit_code != 0)
		buf_clear(out);
	free(problem);
	pipeline_fini(&pipeline);
}

static bool has_line(struct str text, struct str line)
{
	while (text.len != 0) {
		if (str_eq(str_cut(&text, '\n'), line))
			return true;
	}
	return false;
}

static char *deal(
	const char *setting, const struct buf *options, struct argument_list *lists, size_t count)
{
	const char *equals = strchr(setting, '=');
	bool is_known = false;
	if (equals == NULL)
		return xasprintf("--with %s: NAME=VALUE is expected", setting);
	struct str name = {setting, (size_t)(equals - setting)};
	for (size_t i = 0; i < count; i++) {
		if (!has_line(buf_str(&options[i]), name))
			continue;
		is_known = true;
		arguments_add(&lists[i], xasprintf("--%s", setting));
	}
	return is_known ? NULL
			: xasprintf("--with %.*s: no program of this line has such an option",
				  STR_FMT(name));
}

char *programs_deal_settings(const struct text_list *settings, char *const *paths,
	struct argument_list *lists, size_t count)
{
	struct buf *options = xcalloc(count, sizeof(*options));
	char *problem = NULL;
	for (size_t i = 0; i < count && settings->count != 0; i++) {
		buf_init(&options[i], OPTIONS_LEN_MAX);
		ask_options(paths[i], &options[i]);
	}
	for (size_t i = 0; i < settings->count && problem == NULL; i++)
		problem = deal(settings->items[i], options, lists, count);
	for (size_t i = 0; i < count; i++)
		buf_fini(&options[i]);
	free(options);
	return problem;
}
