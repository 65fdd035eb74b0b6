// SPDX-License-Identifier: Apache-2.0
#include "provider-elb/key_set.h"

#include "common/must.h"
#include "common/xalloc.h"

#include <time.h>

/* As botocore does; new ones are there five minutes before the end at the latest. */
static const double RENEWAL_BEFORE_S = 15 * 60;
enum { MESSAGE_LEN_MAX = 256 };

void key_set_fini(struct key_set *set)
{
	free(set->access_key);
	secret_fini(&set->secret_key);
	secret_fini(&set->session_token);
	*set = (struct key_set){0};
}

bool key_set_is_same(const struct key_set *a, const struct key_set *b)
{
	return str_eq(str_from(a->access_key), str_from(b->access_key)) &&
	       secret_eq(&a->secret_key, &b->secret_key) &&
	       secret_eq(&a->session_token, &b->session_token);
}

/* Of what can stand in a header and in a signature. */
static bool is_plain(struct str text)
{
	for (size_t i = 0; i < text.len; i++) {
		if (text.p[i] <= ' ' || text.p[i] > '~')
			return false;
	}
	return true;
}

const char *key_set_make(struct str access_key, struct str secret_key, struct str token,
	int64_t expires_at_s, struct key_set *ret_set)
{
	if (access_key.len == 0 || secret_key.len == 0)
		return "they have no access key id or no secret key";
	if (access_key.len > KEY_SET_ID_LEN_MAX || secret_key.len > SECRET_LEN_MAX ||
		token.len > SECRET_LEN_MAX)
		return "they are too long";
	if (!is_plain(access_key) || !is_plain(secret_key) || !is_plain(token))
		return "they hold a character that no key has";
	*ret_set =
		(struct key_set){.access_key = str_dup(access_key), .expires_at_s = expires_at_s};
	must(secret_set(&ret_set->secret_key, secret_key) == 0);
	if (token.len != 0)
		must(secret_set(&ret_set->session_token, token) == 0);
	return NULL;
}

/* ---- time ---- */

static bool parse_digits(struct str *rest, size_t count, int *ret_number)
{
	int number = 0;
	if (rest->len < count)
		return false;
	for (size_t i = 0; i < count; i++) {
		if (rest->p[i] < '0' || rest->p[i] > '9')
			return false;
		number = number * 10 + (rest->p[i] - '0');
	}
	*rest = str_skip(*rest, count);
	*ret_number = number;
	return true;
}

static bool skip_char(struct str *rest, char c)
{
	if (rest->len == 0 || rest->p[0] != c)
		return false;
	*rest = str_skip(*rest, 1);
	return true;
}

static void skip_fraction(struct str *rest)
{
	int digit = 0;
	if (!skip_char(rest, '.'))
		return;
	while (parse_digits(rest, 1, &digit))
		continue;
}

bool key_set_parse_time(struct str text, int64_t *ret_unix_s)
{
	struct tm when = {0};
	struct str rest = text;
	if (!parse_digits(&rest, 4, &when.tm_year) || !skip_char(&rest, '-') ||
		!parse_digits(&rest, 2, &when.tm_mon) || !skip_char(&rest, '-') ||
		!parse_digits(&rest, 2, &when.tm_mday) || !skip_char(&rest, 'T') ||
		!parse_digits(&rest, 2, &when.tm_hour) || !skip_char(&rest, ':') ||
		!parse_digits(&rest, 2, &when.tm_min) || !skip_char(&rest, ':') ||
		!parse_digits(&rest, 2, &when.tm_sec))
		return false;
	skip_fraction(&rest);
	if (!str_eq_c(rest, "Z") && !str_eq_c(rest, "+00:00") && !str_eq_c(rest, "+0000"))
		return false;
	if (when.tm_year < 1970 || when.tm_mon < 1 || when.tm_mon > 12 || when.tm_mday < 1 ||
		when.tm_mday > 31 || when.tm_hour > 23 || when.tm_min > 59 || when.tm_sec > 60)
		return false;
	when.tm_year -= 1900;
	when.tm_mon -= 1;
	*ret_unix_s = timegm(&when);
	return true;
}

double key_set_renewal_s(const struct key_set *set, int64_t now_s)
{
	if (set->expires_at_s == 0)
		return -1;
	double left_s = (double)(set->expires_at_s - now_s);
	if (left_s <= 0)
		return 0;
	return left_s - RENEWAL_BEFORE_S > left_s / 2 ? left_s - RENEWAL_BEFORE_S : left_s / 2;
}

bool key_set_has_expired(const struct key_set *set, int64_t now_s)
{
	return set->expires_at_s != 0 && set->expires_at_s <= now_s;
}

/* ---- answers ---- */

static struct str member(const struct json *document, const char *name)
{
	return json_text(json_get(document, name));
}

/* What the server says when it has no credentials for us; NULL: nothing. */
static char *refusal_of(const struct json *document)
{
	struct str code = member(document, "Code");
	struct str message = member(document, "Message");
	if (code.p == NULL)
		code = member(document, "code");
	if (message.p == NULL)
		message = member(document, "message");
	if ((code.p == NULL || str_eq_c(code, "Success")) && message.p == NULL)
		return NULL;
	if (code.len > MESSAGE_LEN_MAX)
		code.len = MESSAGE_LEN_MAX;
	if (message.len > MESSAGE_LEN_MAX)
		message.len = MESSAGE_LEN_MAX;
	return xasprintf("there are none: %.*s%s%.*s", STR_FMT(code), code.len != 0 ? ": " : "",
		STR_FMT(message));
}

char *key_set_read_json(const struct json *document, struct key_set *ret_set)
{
	int64_t expires_at_s = 0;
	if (!json_is_object(document))
		return xstrdup("the answer is no JSON object");
	char *refusal = refusal_of(document);
	if (refusal != NULL)
		return refusal;
	struct str expiration = member(document, "Expiration");
	if (expiration.p != NULL && !key_set_parse_time(expiration, &expires_at_s))
		return xstrdup("their end is no time");
	const char *problem =
		key_set_make(member(document, "AccessKeyId"), member(document, "SecretAccessKey"),
			member(document, "Token"), expires_at_s, ret_set);
	return problem != NULL ? xstrdup(problem) : NULL;
}

const char *key_set_read_xml(const struct xml *answer, struct key_set *ret_set)
{
	const struct xml *found = xml_find(answer, "AssumeRoleWithWebIdentityResult/Credentials");
	int64_t expires_at_s = 0;
	if (!key_set_parse_time(xml_text(found, "Expiration"), &expires_at_s))
		return "they have no end";
	return key_set_make(xml_text(found, "AccessKeyId"), xml_text(found, "SecretAccessKey"),
		xml_text(found, "SessionToken"), expires_at_s, ret_set);
}
