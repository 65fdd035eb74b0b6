// SPDX-License-Identifier: Apache-2.0
#include "translator/dialects/ingress_nginx_snippets.h"

static const struct {
	const char *directive;
	const char *instead;
} directives[] = {
#define SNIPPET(directive_, instead_) {(directive_), (instead_)},
#include "translator/dialects/ingress_nginx_snippets.def"
};
enum { DIRECTIVE_COUNT = sizeof(directives) / sizeof(directives[0]) };

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/* Steps over a directive's arguments: to behind the next ';', '{' or '}' that is in no quotes. */
static struct str skip_directive(struct str rest)
{
	char quote = '\0';
	for (size_t i = 0; i < rest.len; i++) {
		char c = rest.p[i];
		if (quote != '\0') {
			i += c == '\\';
			quote = c == quote ? '\0' : quote;
		} else if (c == '"' || c == '\'') {
			quote = c;
		} else if (c == ';' || c == '{' || c == '}') {
			return str_skip(rest, i + 1);
		}
	}
	return str_skip(rest, rest.len);
}

static struct str skip_blanks(struct str rest)
{
	while (rest.len != 0 && (is_blank(rest.p[0]) || rest.p[0] == '#')) {
		const char *end = rest.p[0] == '#' ? str_find(rest, '\n') : rest.p;
		rest = str_skip(rest, end != NULL ? (size_t)(end - rest.p) + 1 : rest.len);
	}
	return rest;
}

static struct str word_of(struct str rest)
{
	size_t len = 0;
	while (len < rest.len && !is_blank(rest.p[len]) && strchr(";{}(", rest.p[len]) == NULL)
		len++;
	return (struct str){rest.p, len};
}

/* DIRECTIVE_COUNT: it is not known. */
static size_t find_directive(struct str word)
{
	size_t i = 0;
	while (i < DIRECTIVE_COUNT && !str_eq_c(word, directives[i].directive))
		i++;
	return i;
}

void nginx_snippet_tell(struct str key, struct str text, const struct nginx_teller *t)
{
	bool is_told[DIRECTIVE_COUNT] = {false};
	struct str instead = STR("");
	struct str rest = diag_cut(text, NGINX_SNIPPET_MAX_LEN);
	for (rest = skip_blanks(rest); rest.len != 0; rest = skip_blanks(skip_directive(rest))) {
		size_t found = find_directive(word_of(rest));
		if (found == DIRECTIVE_COUNT || is_told[found])
			continue;
		is_told[found] = true;
		instead = arena_printf(t->arena, "%.*s; for %s write %s", STR_FMT(instead),
			directives[found].directive, directives[found].instead);
	}
	const char *field = arena_printf(t->arena, "metadata.annotations[%.*s]", STR_FMT(key)).p;
	diag_add(t->diags, t->self, "SnippetRefused", field,
		"raw text of nginx's configuration is never taken over%.*s", STR_FMT(instead));
}
