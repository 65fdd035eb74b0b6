// SPDX-License-Identifier: Apache-2.0
/*
 * sluicectl: the command line tool of a Sluice line, and a line of its own for manifests, without running processes.
 *
 * In:       the command line; manifests; responses of the programs on their Unix sockets (*.admin); with `serve` and `web` requests over TCP.
 * Out:      text, JSON or YAML on standard output; with `render --to` files.
 * Trusted:  with the private keys in manifests that it is given, while it runs. What it reads from the running line contains none.
 *           It cannot change anything there, and needs no privilege but to open the sockets.
 *
 * If a program does not respond: what the others say is shown, and the exit code says so.
 *
 * Read next: line.h for manifests, commands.def for commands and options.
 */
#include "common/log.h"
#include "sluicectl/args_print.h"
#include "sluicectl/commands.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { OUTPUT_LEN = 256 * 1024 };

static int complete(const struct args *args)
{
	if (args->rest.count == 1 && args_print_completion(stdout, args->rest.items[0]))
		return CTL_EXIT_GOOD;
	fputs("sluicectl: completion is for bash, zsh or fish\n", stderr);
	return CTL_EXIT_USAGE;
}

static int run(const struct args *args)
{
	switch (args->command) {
	case COMMAND_RENDER:
		return command_render(args);
	case COMMAND_EXPLAIN:
		return command_explain(args);
	case COMMAND_REQUEST:
		return command_request(args);
	case COMMAND_STATUS:
		return command_status(args);
	case COMMAND_TOP:
		return command_top(args);
	case COMMAND_GET:
		return command_get(args);
	case COMMAND_ROUTES:
		return command_routes(args);
	case COMMAND_EVENTS:
		return command_events(args);
	case COMMAND_DIFF:
		return command_diff(args);
	case COMMAND_LINT:
		return command_lint(args);
	case COMMAND_COMPARE:
		return command_compare(args);
	case COMMAND_MIGRATE:
		return command_migrate(args);
	case COMMAND_SERVE:
		return command_serve(args);
	case COMMAND_WEB:
		return command_web(args);
	case COMMAND_COMPLETION:
		return complete(args);
	case COMMAND_COUNT:
		break;
	}
	return CTL_EXIT_USAGE;
}

/* What library code would log is reported as findings instead. */
static void drop_line(void *ctx, const struct log_event *event, struct str line)
{
}

/* A reader that closes our output early is not an error. */
static bool is_written(void)
{
	bool is_good = fflush(stdout) == 0 && ferror(stdout) == 0;
	if (!is_good && errno != EPIPE)
		fprintf(stderr, "sluicectl: standard output: %s\n", strerror(errno));
	return is_good;
}

int main(int argc, char **argv)
{
	struct args args;
	char *problem = NULL;
	int code = CTL_EXIT_GOOD;
	log_set_sink(drop_line, NULL);
	/* Long output is written in large pieces, even to a terminal. */
	(void)setvbuf(stdout, NULL, _IOFBF, OUTPUT_LEN);
	switch (args_parse(argc, argv, &args, stdout, &problem)) {
	case ARGS_OK:
		code = run(&args);
		break;
	case ARGS_DONE:
		break;
	case ARGS_BAD:
		command_complain(problem);
		code = CTL_EXIT_USAGE;
		break;
	}
	args_free(&args);
	return is_written() || code == CTL_EXIT_USAGE ? code : CTL_EXIT_INPUT;
}
