// SPDX-License-Identifier: Apache-2.0
/* Questions as HAProxy asks them, or somebody in its place; what stands between braces is asked in hexadecimal digits. Whatever is asked, the answer is one
 * line of known words and digits. */
#include "provider-supervisor/checks.h"

#include "common/buf.h"
#include "common/must.h"
#include "provider-supervisor/check_threads.h"

#include <string.h>

/* Nothing that is longer comes through the socket. */
static const size_t question_max = CHECKS_QUESTION_LEN_MAX;

static void encode(struct buf *out, struct str text)
{
	bool is_within = false;
	for (size_t i = 0; i < text.len; i++) {
		if (text.p[i] == (is_within ? '}' : '{'))
			is_within = !is_within;
		else if (is_within)
			must(buf_printf(out, "%02X", (unsigned char)text.p[i]) == 0);
		else
			must(buf_append_str(out, (struct str){text.p + i, 1}) == 0);
	}
}

/* Hashes of these kinds are made to take long. */
static bool is_slow(struct str question)
{
	static const char *const kinds[] = {"2432", "2435", "2436"};
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (memmem(question.p, question.len, kinds[i], strlen(kinds[i])) != NULL)
			return true;
	return false;
}

static void check(struct str answer)
{
	static const char *const words[] = {"none\n", "yes\n", "no\n", "good ", "bad "};
	bool is_known = false;
	must(answer.len != 0 && answer.len <= CHECK_ANSWER_LEN_MAX);
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		is_known = is_known || (answer.len >= strlen(words[i]) &&
					       memcmp(answer.p, words[i], strlen(words[i])) == 0);
	must(is_known);
	must(memchr(answer.p, '\n', answer.len) == answer.p + answer.len - 1);
	for (size_t i = 0; i + 1 < answer.len; i++)
		must(strchr("abcdefghijklmnopqrstuvwxyzABCDEF0123456789 ", answer.p[i]) != NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct buf out;
	char answer[CHECK_ANSWER_LEN_MAX];
	if (size > question_max / 2)
		return 0;
	buf_init(&out, question_max);
	encode(&out, (struct str){(const char *)data, size});
	struct str question = buf_str(&out);
	if (checks_list_of(question).p != NULL && !is_slow(question))
		check((struct str){answer, checks_answer(question, answer)});
	buf_fini(&out);
	return 0;
}
