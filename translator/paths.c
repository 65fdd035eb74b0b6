// SPDX-License-Identifier: Apache-2.0
#include "translator/paths.h"

#include "common/ascii.h"

static bool is_hex(char c)
{
	return ascii_is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

static int hex_value(char c)
{
	if (c <= '9')
		return c - '0';
	return (c | 0x20) - 'a' + 10;
}

/* pchar of RFC 3986 and '/', without the quotes, ';' and '$'. */
static bool is_plain(char c)
{
	return ascii_is_alnum(c) || (c != '\0' && strchr("/-._~!&()*+,=:@", c) != NULL);
}

static const char *name_of_char(char c)
{
	static const struct {
		const char *chars;
		const char *text;
	} names[] = {
		{" ", "holds a space; write %20"},
		{"\t\r\n", "holds white space"},
		{"\"'`", "holds a quote"},
		{"{}[]<>", "holds a bracket; percent-encode it"},
		{";", "holds a semicolon"},
		{"#", "holds '#', which no request path can"},
		{"?", "holds '?': the query is never matched"},
		{"$", "holds '$'; variables are not supported"},
		{"^|\\", "holds a character of regular expressions, which need sluice.io/paths"},
	};
	if ((unsigned char)c >= 0x80)
		return "holds a character outside ASCII; percent-encode it";
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (c != '\0' && strchr(names[i].chars, c) != NULL)
			return names[i].text;
	}
	return "holds a control character";
}

/* `rest` starts with '%'. */
static const char *check_escape(struct str rest)
{
	if (rest.len < 3 || !is_hex(rest.p[1]) || !is_hex(rest.p[2]))
		return "holds '%' without two hexadecimal digits";
	int value = hex_value(rest.p[1]) * 16 + hex_value(rest.p[2]);
	if (value < 0x20 || value == 0x7f)
		return "holds an encoded control character";
	if (value == '/')
		return "holds an encoded slash";
	return NULL;
}

static const char *check_chars(struct str path)
{
	for (size_t i = 0; i < path.len; i++) {
		char c = path.p[i];
		const char *problem = NULL;
		if (c == '%')
			problem = check_escape(str_skip(path, i));
		else if (!is_plain(c))
			problem = name_of_char(c);
		if (problem != NULL)
			return problem;
	}
	return NULL;
}

/* Elements that proxies and backends resolve differently, so that a backend might serve a path that the
 * proxy did not match. */
static const char *check_elements(struct str path)
{
	struct str rest = str_skip(path, 1);
	for (size_t count = 1;; count++) {
		const char *slash = str_find(rest, '/');
		struct str element = {rest.p, slash != NULL ? (size_t)(slash - rest.p) : rest.len};
		if (element.len == 0 && slash != NULL)
			return "holds \"//\"";
		if (str_eq_c(element, ".") || str_eq_c(element, ".."))
			return "holds \".\" or \"..\" as an element";
		if (slash == NULL)
			return count <= PATH_ELEMENTS_MAX ? NULL : "more than 64 elements";
		rest = str_skip(rest, element.len + 1);
	}
}

const char *path_check(struct str path, enum path_type type)
{
	if (path.len == 0)
		return type == PATH_EXACT ? "empty; an exact path begins with '/'" : NULL;
	if (path.len > PATH_LEN_MAX)
		return "longer than 1024 bytes";
	if (path.p[0] != '/')
		return "must begin with '/'";
	const char *problem = check_chars(path);
	return problem != NULL ? problem : check_elements(path);
}

struct str path_normal(struct str path)
{
	return path.len != 0 ? path : STR("/");
}

struct str path_stem(struct str path)
{
	if (str_ends_with(path, STR("/")))
		path.len--;
	return path;
}

int path_compare(struct str a, enum path_type a_type, struct str b, enum path_type b_type)
{
	size_t a_len = path_stem(a).len;
	size_t b_len = path_stem(b).len;
	if (a_len != b_len)
		return a_len > b_len ? -1 : 1;
	bool a_exact = a_type == PATH_EXACT;
	bool b_exact = b_type == PATH_EXACT;
	return (int)b_exact - (int)a_exact;
}
