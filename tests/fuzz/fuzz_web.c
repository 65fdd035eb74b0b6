// SPDX-License-Identifier: Apache-2.0
/* What the page of `sluicectl web` asks for: whatever it is, it becomes the command line of a command that only reads, with options that it may have. */
#include "common/must.h"
#include "sluicectl/args.h"
#include "sluicectl/web_api.h"

#include <stdlib.h>
#include <string.h>

static const char *const names[] = {"status", "routes", "explain", "request", "load-balancers",
	"pools", "certificates", "events", "traffic", "counts"};

static bool only_reads(const struct args *args)
{
	switch (args->command) {
	case COMMAND_STATUS:
	case COMMAND_TOP:
	case COMMAND_ROUTES:
	case COMMAND_EXPLAIN:
	case COMMAND_REQUEST:
	case COMMAND_GET:
	case COMMAND_EVENTS:
		return args->files.count == 0 && args->settings.count == 0 && args->to == NULL &&
		       args->runtime_dir == NULL && args->output != NULL &&
		       strcmp(args->output, "json") == 0;
	default:
		return false;
	}
}

static void check(const char **words)
{
	char *argv[WEB_WORDS_MAX + 2] = {(char *)(uintptr_t) "sluicectl"};
	int argc = 1;
	char *problem = NULL;
	struct args args;
	for (size_t i = 0; words[i] != NULL; i++)
		argv[argc++] = (char *)(uintptr_t)words[i];
	must(argc <= WEB_WORDS_MAX);
	/* It prints no help, and takes no value for an option. */
	must(args_parse(argc, argv, &args, stdout, &problem) == ARGS_OK);
	must(only_reads(&args));
	args_free(&args);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	const char *words[WEB_WORDS_MAX];
	struct arena arena;
	if (len == 0)
		return 0;
	const struct web_api *api =
		web_api_find(str_from(names[data[0] % (sizeof(names) / sizeof(names[0]))]));
	must(api != NULL);
	/* A copy of exactly its size. */
	char *query = malloc(len);
	must(query != NULL);
	memcpy(query, data + 1, len - 1);
	arena_init(&arena);
	char *problem = web_api_words(api, (struct str){query, len - 1}, &arena, words);
	if (problem == NULL)
		check(words);
	free(problem);
	arena_fini(&arena);
	free(query);
	return 0;
}
