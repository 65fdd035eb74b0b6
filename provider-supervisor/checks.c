// SPDX-License-Identifier: Apache-2.0
#include "provider-supervisor/checks.h"

#include "common/xalloc.h"
#include "provider-supervisor/check_threads.h"
#include "provider-supervisor/client_certificate.h"
#include "provider-supervisor/password.h"

#include <stdio.h>
#include <stdlib.h>

struct str checks_list_of(struct str question)
{
	struct str word = str_cut(&question, ' ');
	struct str list = str_cut(&question, ' ');
	bool is_known = str_eq_c(word, "password") || str_eq_c(word, "certificate");
	return is_known && list.len != 0 && list.len <= CHECKS_LIST_LEN_MAX ? list : STR_NONE;
}

static int value_of(char digit)
{
	return digit >= '0' && digit <= '9'   ? digit - '0'
	       : digit >= 'A' && digit <= 'F' ? digit - 'A' + 10
					      : -1;
}

/* Into `*at`, which it moves on. False: these are no bytes. */
static bool decode(struct str text, char **at, struct str *ret_bytes)
{
	char *out = *at;
	if (text.len % 2 != 0)
		return false;
	for (size_t i = 0; i < text.len; i += 2) {
		int high = value_of(text.p[i]);
		int low = value_of(text.p[i + 1]);
		if (high < 0 || low < 0)
			return false;
		*(*at)++ = (char)(high << 4 | low);
	}
	*ret_bytes = (struct str){out, text.len / 2};
	return true;
}

static size_t put_word(char *answer, const char *word)
{
	return (size_t)snprintf(answer, CHECK_ANSWER_LEN_MAX, "%s", word);
}

static size_t put_digits(char *answer, size_t len, const char *text)
{
	answer[len++] = ' ';
	for (; *text != 0; text++)
		len += (size_t)snprintf(answer + len, 3, "%02X", (unsigned char)*text);
	return len;
}

/* `bytes` has room for all that the line holds. */
static size_t answer_password(struct str line, char *bytes, char *answer)
{
	struct str hash;
	struct str password;
	struct str digits = str_cut(&line, ' ');
	if (digits.len == 0 || !decode(digits, &bytes, &hash) || !decode(line, &bytes, &password))
		return 0;
	struct crypt_data *scratch = xcalloc(1, sizeof(*scratch));
	bool fits = password_fits(password, hash, scratch);
	free(scratch);
	return put_word(answer, fits ? "yes" : "no");
}

static size_t answer_certificate(struct str line, char *bytes, char *answer)
{
	struct client_certificate certificate = {0};
	struct client_verdict verdict;
	int64_t depth;
	if (!str_to_int(str_cut(&line, ' '), 1, CLIENT_CHAIN_MAX, &depth) ||
		!decode(str_cut(&line, ' '), &bytes, &certificate.authorities) ||
		!decode(str_cut(&line, ' '), &bytes, &certificate.leaf) ||
		!decode(str_cut(&line, ' '), &bytes, &certificate.chain) ||
		!decode(line, &bytes, &certificate.revoked))
		return 0;
	certificate.depth = (unsigned)depth;
	if (!client_certificate_check(&certificate, &verdict))
		return 0;
	size_t len = put_word(answer, verdict.is_good ? "good" : "bad");
	if (!verdict.is_good)
		len = put_digits(answer, len, verdict.reason);
	len = put_digits(answer, len, verdict.subject);
	return put_digits(answer, len, verdict.issuer);
}

_Static_assert(CHECK_ANSWER_LEN_MAX > 2 * (2 * CLIENT_NAME_LEN_MAX + CLIENT_REASON_LEN_MAX) + 16,
	"a verdict has room");

size_t checks_answer(struct str question, char *ret_answer)
{
	char *bytes = xmalloc(question.len + 1);
	size_t question_len = question.len;
	struct str word = str_cut(&question, ' ');
	(void)str_cut(&question, ' ');
	size_t len = str_eq_c(word, "password") ? answer_password(question, bytes, ret_answer)
						: answer_certificate(question, bytes, ret_answer);
	if (len == 0)
		len = put_word(ret_answer, "none");
	explicit_bzero(bytes, question_len + 1);
	free(bytes);
	ret_answer[len++] = '\n';
	return len;
}
