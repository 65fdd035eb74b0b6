// SPDX-License-Identifier: Apache-2.0
#include "sluicectl/serve.h"

#include <stdio.h>
#include <string.h>

bool serve_is_program(const char *name)
{
	size_t len = strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-");
	return len != 0 && len <= SERVE_PROGRAM_LEN_MAX && name[len] == '\0';
}

/* Statuses of an admin server on these paths: fine, not ready, or metrics that exceed a limit. */
static bool is_known(long status)
{
	return status == 200 || status == 503 || status == 500;
}

static const char *problem_of(const struct http_result *result)
{
	if (result->outcome == HTTP_E_CONNECT)
		return "does not run, or has its admin server elsewhere";
	if (result->outcome == HTTP_E_TIMEOUT)
		return "has not answered in time: it hangs, or is very busy";
	if (result->outcome == HTTP_E_TOO_LONG)
		return "has answered more than the limit";
	if (result->outcome != HTTP_ANSWERED || result->body.len == 0)
		return "turned us away, or ended before its answer did";
	return "has answered what cannot be read: are both of one version?";
}

static void fail(struct serve_answer *answer, const char *program, const char *problem)
{
	snprintf(answer->problem, sizeof(answer->problem), "sluice-%s %s", program, problem);
	answer->status = 503;
}

void serve_answer_make(
	const char *program, const struct http_result *result, struct serve_answer *ret_answer)
{
	*ret_answer = (struct serve_answer){0};
	if (result->outcome == HTTP_ANSWERED && result->head.status == 403) {
		fail(ret_answer, program,
			"does not let this user look in: name it with --admin-allow-uid");
		return;
	}
	bool is_good = result->outcome == HTTP_ANSWERED && is_known(result->head.status) &&
		       result->body.len != 0 && result->content_type != NULL &&
		       strlen(result->content_type) <= SERVE_TYPE_LEN_MAX;
	if (!is_good) {
		fail(ret_answer, program, problem_of(result));
		return;
	}
	ret_answer->status = (int)result->head.status;
	ret_answer->content_type = result->content_type;
	ret_answer->body = result->body;
	ret_answer->is_heard = true;
}
