// SPDX-License-Identifier: Apache-2.0
#include "sluicectl/web_api.h"

#include "common/admin_server.h"
#include "common/must.h"
#include "common/xalloc.h"

enum { PARAMETERS_MAX = 4, OPTIONS_MAX = 4 };

struct parameter {
	const char *name;
	const char *option; /* "--NAME="; NULL: an argument */
	bool has_lines;     /* one option for each line */
};

struct web_api {
	const char *name;
	const char *type;
	const char *command[OPTIONS_MAX];            /* with options */
	const char *object;                          /* its first argument; NULL: none */
	struct parameter parameters[PARAMETERS_MAX]; /* arguments in their order */
	bool tells_anyway;
};

static const char json[] = "application/json";
static const char json_lines[] = "application/x-ndjson";

#define LIST(name_, object_)                                                                       \
	{                                                                                          \
		.name = (name_), .type = json,                                                     \
		.command = {"get", "--output=json", "--rows", "--worst-first"},                    \
		.object = (object_),                                                               \
		.parameters = {{"match", "--match="}, {"skip", "--skip="}, {"limit", "--limit="}}, \
	}

static const struct web_api apis[] = {
	{"status", json, {"status", "--output=json"}, .tells_anyway = true},
	{"routes", json, {"routes", "--output=json"},
		.parameters = {{"match", NULL}, {"namespace", "--namespace="}, {"skip", "--skip="},
			{"limit", "--limit="}}},
	{"explain", json, {"explain", "--output=json"}, .parameters = {{"what", NULL}}},
	{"request", json, {"request", "--output=json"},
		.parameters = {{"method", NULL}, {"url", NULL}, {"headers", "--header=", true},
			{"from", "--from="}}},
	{"traffic", json, {"top", "--output=json", "--interval=1"},
		.parameters = {{"match", NULL}, {"sort", "--sort="}, {"limit", "--limit="}},
		.tells_anyway = true},
	{"counts", json, {"top", "--output=json", "--interval=0"}, .parameters = {{"match", NULL}},
		.tells_anyway = true},
	LIST("load-balancers", "lb"),
	LIST("pools", "pool"),
	LIST("certificates", "cert"),
	{"events", json_lines, {"events", "--once", "--output=json"}},
};

const struct web_api *web_api_find(struct str name)
{
	for (size_t i = 0; i < sizeof(apis) / sizeof(apis[0]); i++) {
		if (str_eq_c(name, apis[i].name))
			return &apis[i];
	}
	return NULL;
}

const char *web_api_type(const struct web_api *api)
{
	return api->type;
}

bool web_api_tells_anyway(const struct web_api *api)
{
	return api->tells_anyway;
}

/* Both as one word. */
static const char *keep(struct arena *arena, const char *prefix, const char *value, size_t len)
{
	size_t prefix_len = strlen(prefix);
	char *word = arena_alloc(arena, prefix_len + len + 1);
	memcpy(word, prefix, prefix_len);
	memcpy(word + prefix_len, value, len);
	word[prefix_len + len] = '\0';
	return word;
}

/* ---- parameters ---- */

struct values {
	struct arena *arena;
	const char *items[PARAMETERS_MAX]; /* by the place of the parameter; NULL: not given */
};

/* A parameter that is not known would be a filter that is not applied. */
static char *take_pair(const struct web_api *api, struct str pair, struct values *values)
{
	char value[WEB_VALUE_LEN_MAX + 1];
	struct str name = str_before(pair, '=');
	size_t at = 0;
	while (at < PARAMETERS_MAX &&
		(api->parameters[at].name == NULL || !str_eq_c(name, api->parameters[at].name)))
		at++;
	if (at == PARAMETERS_MAX)
		return xasprintf("%s has no such parameter", api->name);
	const char *known = api->parameters[at].name;
	if (values->items[at] != NULL)
		return xasprintf("%s is given twice", known);
	if (!admin_query(pair, known, value, sizeof(value)))
		return xasprintf(
			"%s is longer than %d bytes, or malformed", known, (int)WEB_VALUE_LEN_MAX);
	values->items[at] = keep(values->arena, "", value, strlen(value));
	return NULL;
}

static char *take_query(const struct web_api *api, struct str query, struct values *values)
{
	char *problem = NULL;
	while (query.len != 0 && problem == NULL) {
		struct str pair = str_cut(&query, '&');
		problem = take_pair(api, pair, values);
	}
	return problem;
}

/* ---- words ---- */

struct words {
	const char **items;
	size_t count;
	struct arena *arena;
};

static void add(struct words *words, const char *word)
{
	must(words->count < WEB_WORDS_MAX);
	words->items[words->count++] = word;
}

static void add_option(struct words *words, const char *option, const char *value, size_t len)
{
	add(words, keep(words->arena, option, value, len));
}

static char *add_lines(struct words *words, const struct parameter *parameter, const char *value)
{
	size_t count = 0;
	while (*value != '\0') {
		size_t len = strcspn(value, "\r\n");
		if (len != 0 && ++count > WEB_LINES_MAX)
			return xasprintf(
				"%s has more than %d lines", parameter->name, (int)WEB_LINES_MAX);
		if (len != 0)
			add_option(words, parameter->option, value, len);
		value += len + (value[len] != '\0');
	}
	return NULL;
}

/* An empty value is the same as none: a form sends what is not filled in, too. */
static bool is_given(const struct values *values, size_t at)
{
	return values->items[at] != NULL && values->items[at][0] != '\0';
}

static char *add_options(
	struct words *words, const struct web_api *api, const struct values *values)
{
	char *problem = NULL;
	for (size_t i = 0; i < PARAMETERS_MAX && problem == NULL; i++) {
		const struct parameter *parameter = &api->parameters[i];
		if (!is_given(values, i) || parameter->option == NULL)
			continue;
		if (parameter->has_lines)
			problem = add_lines(words, parameter, values->items[i]);
		else
			add_option(words, parameter->option, values->items[i],
				strlen(values->items[i]));
	}
	return problem;
}

char *web_api_words(const struct web_api *api, struct str query, struct arena *arena,
	const char *ret_words[static WEB_WORDS_MAX])
{
	struct words words = {.items = ret_words, .arena = arena};
	struct values values = {.arena = arena};
	char *problem = take_query(api, query, &values);
	for (size_t i = 0; i < OPTIONS_MAX && api->command[i] != NULL; i++)
		add(&words, api->command[i]);
	if (problem == NULL)
		problem = add_options(&words, api, &values);
	add(&words, "--");
	if (api->object != NULL)
		add(&words, api->object);
	for (size_t i = 0; i < PARAMETERS_MAX; i++) {
		if (is_given(&values, i) && api->parameters[i].option == NULL)
			add(&words, values.items[i]);
	}
	add(&words, NULL);
	return problem;
}
