// SPDX-License-Identifier: Apache-2.0
/* nginx's variables as pieces: a fixed set, so that nothing else of a proxy can be reached. */
#include "translator/dialects/ingress_nginx_parts.h"

#include "common/ascii.h"

static const char problem_variable[] =
	"it holds a variable that is not known; known are $scheme, $host, $http_host, "
	"$best_http_host, $request_uri, $escaped_request_uri, $request_id, $uri, $args, "
	"$is_args$args, $query_string, "
	"$request_method, "
	"$remote_addr, $server_port, $http_NAME, $cookie_NAME, $arg_NAME, $namespace, "
	"$ingress_name, $service_name, $service_port and $1 to $9";

static const struct {
	const char *name;
	enum request_value value;
} variables[] = {
	{"scheme", REQUEST_SCHEME},
	{"pass_access_scheme", REQUEST_SCHEME},
	{"host", REQUEST_HOST},
	{"server_name", REQUEST_HOST},
	{"http_host", REQUEST_HOST_HEADER},
	{"best_http_host", REQUEST_HOST_HEADER},
	{"request_uri", REQUEST_TARGET},
	{"escaped_request_uri", REQUEST_TARGET_ESCAPED},
	{"request_id", REQUEST_ID},
	{"req_id", REQUEST_ID},
	{"uri", REQUEST_PATH},
	{"args", REQUEST_QUERY},
	{"query_string", REQUEST_QUERY},
	{"request_method", REQUEST_METHOD},
	{"remote_addr", REQUEST_CLIENT},
	{"server_port", REQUEST_PORT},
	{"service_name", REQUEST_SERVICE},
	{"service_port", REQUEST_SERVICE_PORT},
};

static const struct {
	struct str prefix;
	enum request_value value;
} families[] = {
	{{"http_", 5}, REQUEST_HEADER},
	{{"cookie_", 7}, REQUEST_COOKIE},
	{{"arg_", 4}, REQUEST_ARGUMENT},
};

struct expansion {
	struct pieces *pieces;
	const struct object_ref *ingress;
	struct arena *arena;
};

static bool is_word_char(char c)
{
	return ascii_is_alnum(c) || c == '_';
}

/* As nginx names headers: in lower case, with '_' for '-'. */
static struct str header_name(struct arena *arena, struct str name)
{
	char *copy = arena_alloc(arena, name.len + 1);
	for (size_t i = 0; i < name.len; i++) {
		char c = name.p[i];
		copy[i] = (char)(c == '_' ? '-' : c >= 'A' && c <= 'Z' ? c | 0x20 : c);
	}
	return (struct str){copy, name.len};
}

static bool add_of_family(const struct expansion *e, struct str name)
{
	for (size_t i = 0; i < sizeof(families) / sizeof(families[0]); i++) {
		if (!str_starts_with(name, families[i].prefix))
			continue;
		struct str rest = str_skip(name, families[i].prefix.len);
		if (rest.len == 0)
			return false;
		if (families[i].value == REQUEST_HEADER)
			rest = header_name(e->arena, rest);
		pieces_add_value(e->pieces, e->arena, families[i].value, rest);
		return true;
	}
	return false;
}

static bool add_variable(const struct expansion *e, struct str name)
{
	if (name.len == 1 && name.p[0] >= '1' && name.p[0] <= '9') {
		pieces_add_group(e->pieces, e->arena, (unsigned)(name.p[0] - '0'));
		return true;
	}
	for (size_t i = 0; i < sizeof(variables) / sizeof(variables[0]); i++) {
		if (!str_eq_c(name, variables[i].name))
			continue;
		pieces_add_value(e->pieces, e->arena, variables[i].value, STR_NONE);
		return true;
	}
	if (str_eq_c(name, "namespace"))
		pieces_add_text(e->pieces, e->arena, e->ingress->namespace);
	else if (str_eq_c(name, "ingress_name"))
		pieces_add_text(e->pieces, e->arena, e->ingress->name);
	else
		return add_of_family(e, name);
	return true;
}

/* The name of the variable that the text begins with, and how long it is with its signs; 0: there is none. */
static size_t read_variable(struct str text, struct str *ret_name)
{
	bool is_braced = text.len > 1 && text.p[1] == '{';
	struct str rest = str_skip(text, is_braced ? 2 : 1);
	size_t len = 0;
	while (len < rest.len && is_word_char(rest.p[len]))
		len++;
	/* A group is one digit, whatever follows it. */
	if (!is_braced && len > 1 && rest.p[0] >= '0' && rest.p[0] <= '9')
		len = 1;
	*ret_name = (struct str){rest.p, len};
	if (len == 0 || (is_braced && (len == rest.len || rest.p[len] != '}')))
		return 0;
	return len + (is_braced ? 3 : 1);
}

const char *nginx_pieces_add(struct pieces *pieces, struct str text,
	const struct object_ref *ingress, struct arena *arena)
{
	const struct expansion e = {pieces, ingress, arena};
	static const struct str arguments = {"$is_args$args", 13};
	while (text.len != 0 && pieces->problem == NULL) {
		const char *dollar = str_find(text, '$');
		size_t len = dollar != NULL ? (size_t)(dollar - text.p) : text.len;
		struct str name;
		pieces_add_text(pieces, arena, (struct str){text.p, len});
		text = str_skip(text, len);
		if (text.len == 0)
			break;
		if (str_starts_with(text, arguments)) {
			pieces_add_value(pieces, arena, REQUEST_ARGUMENTS, STR_NONE);
			text = str_skip(text, arguments.len);
			continue;
		}
		len = read_variable(text, &name);
		if (len == 0 || !add_variable(&e, name))
			return problem_variable;
		text = str_skip(text, len);
	}
	return pieces->problem;
}

void nginx_pieces_add_origin(struct pieces *pieces, struct arena *arena, enum request_value host)
{
	pieces_add_value(pieces, arena, REQUEST_SCHEME, STR_NONE);
	pieces_add_text(pieces, arena, STR("://"));
	pieces_add_value(pieces, arena, host, STR_NONE);
}
