// SPDX-License-Identifier: Apache-2.0
#include "sluicectl/settings.h"

#include "common/xalloc.h"
#include "translator/config.h"
#include "watcher/config.h"

#include <stdlib.h>

struct arguments {
	int argc;
	char **argv; /* argv[0] is the program's name; the others are allocated */
};

struct settings {
	struct config watcher;
	struct translator_config translator;
	struct engine_config engine;
	struct arguments arguments[3];
};

static bool has_option(const struct option_table *table, struct str name)
{
	for (size_t i = 0; i < table->count; i++) {
		if (str_eq_c(name, table->options[i].name))
			return true;
	}
	return false;
}

static void add_argument(struct arguments *arguments, char *text)
{
	arguments->argv = xreallocarray(
		arguments->argv, (size_t)arguments->argc + 2, sizeof(*arguments->argv));
	arguments->argv[arguments->argc++] = text;
	arguments->argv[arguments->argc] = NULL;
}

static char *take_items(struct settings *settings, const struct option_table *const *tables,
	char *const *items, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const char *equals = strchr(items[i], '=');
		bool is_known = false;
		if (equals == NULL)
			return xasprintf("--with %s: NAME=VALUE is expected", items[i]);
		struct str name = {items[i], (size_t)(equals - items[i])};
		for (size_t t = 0; t < 3; t++) {
			if (!has_option(tables[t], name))
				continue;
			is_known = true;
			add_argument(&settings->arguments[t], xasprintf("--%s", items[i]));
		}
		if (!is_known)
			return xasprintf("--with %.*s: no program of this line has such an option",
				STR_FMT(name));
	}
	return NULL;
}

static char *parse(const struct option_table *table, void *config, const struct arguments *given)
{
	char *problem = NULL;
	enum options_outcome outcome =
		options_parse(table, config, given->argc, given->argv, getenv, &problem);
	return outcome == OPTIONS_OK || outcome == OPTIONS_BAD ? problem
							       : xstrdup("this is no setting");
}

struct settings *settings_new(
	const struct offline *provider, char *const *items, size_t count, char **ret_problem)
{
	struct settings *settings = xcalloc(1, sizeof(*settings));
	const struct option_table *tables[3] = {
		&config_table, &translator_config_table, provider->options};
	for (size_t t = 0; t < 3; t++)
		add_argument(&settings->arguments[t], (char *)(uintptr_t)tables[t]->program);
	char *problem = take_items(settings, tables, items, count);
	if (problem == NULL)
		problem = parse(tables[0], &settings->watcher, &settings->arguments[0]);
	if (problem == NULL)
		problem = parse(tables[1], &settings->translator, &settings->arguments[1]);
	if (problem == NULL)
		problem = translator_config_check(&settings->translator, &settings->engine);
	*ret_problem = problem;
	if (problem == NULL)
		return settings;
	settings_free(settings);
	return NULL;
}

void settings_free(struct settings *settings)
{
	if (settings == NULL)
		return;
	options_free(&config_table, &settings->watcher);
	options_free(&translator_config_table, &settings->translator);
	for (size_t t = 0; t < 3; t++) {
		for (int i = 1; i < settings->arguments[t].argc; i++)
			free(settings->arguments[t].argv[i]);
		free(settings->arguments[t].argv);
	}
	egress_free(settings->engine.egress);
	free(settings);
}

void settings_watcher(const struct settings *settings, struct source_settings *ret_settings,
	bool *ret_wants_classes, bool *ret_takes_unclassed_services)
{
	const struct config *config = &settings->watcher;
	*ret_settings = (struct source_settings){
		.ingress_class = str_from(config->ingress_class),
		.controller_name = str_from(config->controller_name),
		.without_class = config->without_class,
		.load_balancer_class = str_from(config->load_balancer_class),
		.without_load_balancer_class = config->default_load_balancer_class,
	};
	*ret_wants_classes = config->ingress_classes;
	*ret_takes_unclassed_services = config->default_load_balancer_class;
}

bool settings_sees(const struct settings *settings, struct str namespace)
{
	const struct option_list *list = &settings->watcher.namespaces;
	for (size_t i = 0; i < list->count; i++) {
		if (str_eq_c(namespace, list->items[i]))
			return true;
	}
	return list->count == 0 || namespace.len == 0;
}

void settings_translator(const struct settings *settings, struct engine_config *ret_config)
{
	*ret_config = settings->engine;
}

void settings_provider(const struct settings *settings, int *ret_argc, char ***ret_argv)
{
	*ret_argc = settings->arguments[2].argc;
	*ret_argv = settings->arguments[2].argv;
}
