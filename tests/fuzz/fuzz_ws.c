// SPDX-License-Identifier: Apache-2.0
/* Answers to an upgrade, in which '@' stands for the right key: however much of one has come, the verdict is final. */
#include "common/must.h"
#include "common/ws_upgrade.h"

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

enum { ANSWER_MAX = 16 * 1024 };

static void put_answer(const struct ws_upgrade *upgrade, struct str text, struct buf *answer)
{
	for (size_t i = 0; i < text.len; i++) {
		if (text.p[i] == '@')
			(void)!buf_append(answer, upgrade->accept, WS_ACCEPT_LEN);
		else
			(void)!buf_append(answer, text.p + i, 1);
	}
}

static const char *check(const struct ws_upgrade *upgrade, struct str answer, size_t *ret_head_len)
{
	long status = 0;
	/* A copy of exactly its size, so that a look behind the end is found. */
	char *exact = malloc(answer.len != 0 ? answer.len : 1);
	must(exact != NULL);
	if (answer.len != 0)
		memcpy(exact, answer.p, answer.len);
	const char *problem =
		ws_upgrade_check(upgrade, (struct str){exact, answer.len}, ret_head_len, &status);
	must(problem != NULL || status == 0);
	must(*ret_head_len <= answer.len);
	free(exact);
	return problem;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct ws_upgrade upgrade;
	struct buf request;
	struct buf answer;
	size_t whole = 0;
	size_t half = 0;
	buf_init(&request, ANSWER_MAX);
	buf_init(&answer, ANSWER_MAX);
	must(ws_upgrade_write(&upgrade, "ws://127.0.0.1/", "fuzz", NULL, &request) == NULL);
	put_answer(&upgrade, (struct str){(const char *)data, len}, &answer);
	const char *problem = check(&upgrade, buf_str(&answer), &whole);
	struct str part = buf_str(&answer);
	part.len /= 2;
	const char *early = check(&upgrade, part, &half);
	must((early == NULL && half == 0) || (early == problem && half == whole));
	buf_fini(&request);
	buf_fini(&answer);
	return 0;
}
