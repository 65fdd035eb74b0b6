// SPDX-License-Identifier: Apache-2.0
#include "translator/regexes.h"

#include "common/ascii.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

/* In front of paths: without case, from the beginning on. */
#define PATH_START "(?i)^"

/* What has a meaning outside of brackets. */
static bool is_special(char c)
{
	return c != '\0' && strchr("\\^$.[]|()?*+{}", c) != NULL;
}

/* ---- what is not allowed ---- */

/* After a backslash: letters that refer back, call, quote, or match what is no character. */
static const char *check_escape(char c)
{
	if (c >= '1' && c <= '9')
		return "it has a back reference";
	if (c != '\0' && strchr("gk", c) != NULL)
		return "it has a back reference, or calls a group";
	if (c != '\0' && strchr("QEKCGcN", c) != NULL)
		return "it has one of \\Q, \\E, \\K, \\C, \\G, \\c and \\N";
	return c == '\0' ? "it ends with a backslash" : NULL;
}

/* After "(?": groups that keep nothing, names, and the options i, m and s. */
static const char *check_group(struct str rest)
{
	static const char *const refused = "it has a group that looks around, calls, decides or "
					   "does something else than to hold "
					   "together";
	size_t at = 0;
	if (rest.len != 0 && (rest.p[0] == ':' || rest.p[0] == '|' || rest.p[0] == '>'))
		return NULL;
	if (rest.len > 1 && rest.p[0] == 'P' && rest.p[1] == '<')
		return NULL;
	if (rest.len > 1 && rest.p[0] == '<' && rest.p[1] != '=' && rest.p[1] != '!')
		return NULL;
	while (at < rest.len && rest.p[at] != '\0' && strchr("ims-", rest.p[at]) != NULL)
		at++;
	bool is_good = at != 0 && at < rest.len && (rest.p[at] == ')' || rest.p[at] == ':');
	return is_good ? NULL : refused;
}

/* `rest` begins behind '['. Returns the length up to and with the ']'. */
static size_t class_len(struct str rest)
{
	size_t at = rest.len != 0 && rest.p[0] == '^' ? 1 : 0;
	if (at < rest.len && rest.p[at] == ']')
		at++;
	while (at < rest.len && rest.p[at] != ']') {
		if (rest.p[at] == '\\')
			at++;
		else if (at + 1 < rest.len && rest.p[at] == '[' &&
			 strchr(":.=", rest.p[at + 1]) != NULL) {
			const char *end = str_find(str_skip(rest, at + 2), ']');
			at = end != NULL ? (size_t)(end - rest.p) : rest.len;
		}
		at++;
	}
	return at < rest.len ? at + 1 : rest.len;
}

static const char *scan(struct str text)
{
	const char *problem = NULL;
	for (size_t i = 0; i < text.len && problem == NULL; i++) {
		struct str rest = str_skip(text, i + 1);
		char next = rest.len != 0 ? rest.p[0] : '\0';
		if (text.p[i] == '\\') {
			problem = check_escape(next);
			i++;
		} else if (text.p[i] == '[') {
			i += class_len(rest);
		} else if (text.p[i] == '(' && next == '*') {
			problem = "it has a verb \"(*...)\"";
		} else if (text.p[i] == '(' && next == '?') {
			problem = check_group(str_skip(rest, 1));
		}
	}
	return problem;
}

static const char *check_bytes(struct str text)
{
	if (text.len == 0)
		return "it is empty";
	if (text.len > REGEX_LEN_MAX)
		return "it is longer than 2048 bytes";
	return ascii_is_printable(text) ? NULL : "it holds something else than printable ASCII";
}

/* ---- compiling ---- */

static const char *check_code(const pcre2_code *code)
{
	uint32_t back = 0;
	uint32_t groups = 0;
	pcre2_pattern_info(code, PCRE2_INFO_BACKREFMAX, &back);
	pcre2_pattern_info(code, PCRE2_INFO_CAPTURECOUNT, &groups);
	if (back != 0)
		return "it has a back reference";
	return groups <= REGEX_GROUPS_MAX ? NULL : "it has more than 32 groups";
}

static const char *compile(struct str text, struct arena *arena)
{
	int number = 0;
	PCRE2_SIZE offset = 0;
	PCRE2_UCHAR8 why[128];
	pcre2_compile_context *context = pcre2_compile_context_create(NULL);
	pcre2_set_parens_nest_limit(context, REGEX_NEST_MAX);
	pcre2_code *code = pcre2_compile(
		(PCRE2_SPTR8)(const void *)text.p, text.len, 0, &number, &offset, context);
	pcre2_compile_context_free(context);
	if (code == NULL) {
		(void)pcre2_get_error_message(number, why, sizeof(why));
		return arena_printf(arena, "it is no regular expression: %s, at byte %zu",
			(const char *)why, (size_t)offset)
			.p;
	}
	const char *problem = check_code(code);
	pcre2_code_free(code);
	return problem;
}

const char *regex_check(struct str text, struct arena *arena)
{
	const char *problem = check_bytes(text);
	if (problem == NULL)
		problem = scan(text);
	return problem == NULL ? compile(text, arena) : problem;
}

/* ---- paths ---- */

/* Writes the path, of which each character means itself unless it is a regular expression. Returns the length. */
static size_t write_path(char *text, struct str path, bool is_regex)
{
	size_t len = 0;
	for (size_t i = 0; i < path.len; i++) {
		if (!is_regex && is_special(path.p[i]))
			text[len++] = '\\';
		text[len++] = path.p[i];
	}
	return len;
}

struct str regex_of_path(struct str path, bool is_regex, struct arena *arena)
{
	struct str start = STR(PATH_START);
	char *text = arena_alloc(arena, start.len + 2 * path.len + 1);
	str_put(text, start);
	return (struct str){text, start.len + write_path(text + start.len, path, is_regex)};
}

bool regex_is_of_path(struct str regex, struct str path)
{
	struct arena arena;
	arena_init(&arena);
	bool is = str_eq(regex, regex_of_path(path, true, &arena)) ||
		  str_eq(regex, regex_of_path(path, false, &arena));
	arena_fini(&arena);
	return is;
}

bool regex_finds(struct str regex, struct str text)
{
	int number = 0;
	PCRE2_SIZE offset = 0;
	pcre2_code *code = pcre2_compile(
		(PCRE2_SPTR8)(const void *)regex.p, regex.len, 0, &number, &offset, NULL);
	if (code == NULL)
		return false;
	pcre2_match_context *context = pcre2_match_context_create(NULL);
	pcre2_match_data *data = pcre2_match_data_create(1, NULL);
	pcre2_set_match_limit(context, REGEX_STEPS_MAX);
	int found =
		pcre2_match(code, (PCRE2_SPTR8)(const void *)text.p, text.len, 0, 0, data, context);
	pcre2_match_data_free(data);
	pcre2_match_context_free(context);
	pcre2_code_free(code);
	return found >= 0;
}

/* Whether a '|' stands outside of all groups, so that the expression may match what does not begin as it does. */
static bool has_alternatives(struct str path)
{
	size_t depth = 0;
	for (size_t i = 0; i < path.len; i++) {
		char c = path.p[i];
		if (c == '\\')
			i++;
		else if (c == '[')
			i += class_len(str_skip(path, i + 1));
		else if (c == '|' && depth == 0)
			return true;
		else if (c == '(')
			depth++;
		else if (c == ')' && depth != 0)
			depth--;
	}
	return false;
}

struct str regex_prefix(struct str path)
{
	size_t len = 0;
	if (has_alternatives(path))
		return STR("/");
	while (len < path.len && !is_special(path.p[len]))
		len++;
	bool is_whole = str_starts_with(str_skip(path, len), STR("(/|$)"));
	while (!is_whole && len != 0 && path.p[len - 1] != '/')
		len--;
	while (len > 1 && path.p[len - 1] == '/')
		len--;
	return len != 0 ? (struct str){path.p, len} : STR("/");
}
