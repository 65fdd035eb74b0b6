// SPDX-License-Identifier: Apache-2.0
#include "sluicectl/line_outcome.h"

#include "common/xalloc.h"
#include "sluicectl/args.h"
#include "sluicectl/command_output.h"

#include <stdlib.h>
#include <string.h>

enum { TRANSLATOR = 1 };

static void complain_as(const struct pipeline_status *status)
{
	struct str text = buf_str(&status->complaints);
	size_t len = strlen(status->program);
	while (text.len != 0 && text.p[text.len - 1] == '\n')
		text.len--;
	/* The error is in our command line or files, so the program's name is cut off. */
	if (str_starts_with(text, str_from(status->program)) && text.len > len + 2 &&
		text.p[len] == ':')
		text = str_skip(text, len + 2);
	if (text.len != 0)
		command_complain(str_dup_utf8(text));
	else
		command_complain(xasprintf(
			"%s has failed (exit code %d)", status->program, status->exit_code));
}

/* Of failures with this exit code, the one that caused the others. */
static bool find_failure(const struct pipeline *pipeline, int exit_code, size_t *ret_index)
{
	static const size_t order[] = {0, 2, TRANSLATOR};
	for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++) {
		if (order[i] < pipeline->count &&
			pipeline_status(pipeline, order[i])->exit_code == exit_code) {
			*ret_index = order[i];
			return true;
		}
	}
	return false;
}

static int judge_others(const struct pipeline *pipeline)
{
	for (size_t i = 0; i < pipeline->count; i++) {
		const struct pipeline_status *status = pipeline_status(pipeline, i);
		if (status->exit_code == 0)
			continue;
		if (status->exit_code > 0)
			complain_as(status);
		else
			command_complain(xasprintf("%s was ended by signal %d (%s)",
				status->program, status->signal, strsignal(status->signal)));
		return CTL_EXIT_AWAY;
	}
	return CTL_EXIT_GOOD;
}

/* For programs that have all ended; reports what is wrong. */
static int judge(const struct pipeline *pipeline)
{
	size_t index = 0;
	if (find_failure(pipeline, 2, &index)) {
		complain_as(pipeline_status(pipeline, index));
		return CTL_EXIT_USAGE;
	}
	if (find_failure(pipeline, 1, &index)) {
		complain_as(pipeline_status(pipeline, index));
		return index == TRANSLATOR ? CTL_EXIT_AWAY : CTL_EXIT_INPUT;
	}
	return judge_others(pipeline);
}

int line_outcome(struct pipeline *pipeline)
{
	char *problem = pipeline_wait(pipeline);
	if (problem == NULL)
		return judge(pipeline);
	command_complain(problem);
	return CTL_EXIT_AWAY;
}
