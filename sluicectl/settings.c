// SPDX-License-Identifier: Apache-2.0
#include "sluicectl/settings.h"

#include "common/xalloc.h"
#include "watcher/config.h"

#include <stdlib.h>

enum { DAY_S = 24 * 60 * 60 };

/* The members that translator/config.def names. */
struct translation {
	struct daemon_options common;
	struct option_list allow_uids;
	char *default_certificate;
	bool allow_external_name;
	int64_t certificate_warning_days;
	int64_t http_port;
	int64_t https_port;
	char *publish_service;
};

#define OPTION(member, ...) OPTION_SPEC(struct translation, member, __VA_ARGS__)
static const struct option_spec translation_options[] = {
#include "translator/config.def"
#include "common/common_options.def"
};
#undef OPTION

static const struct option_table translation_table = {
	.program = "sluice-translator",
	.summary = "",
	.options = translation_options,
	.count = sizeof(translation_options) / sizeof(translation_options[0]),
	.config_size = sizeof(struct translation),
};

struct arguments {
	int argc;
	char **argv; /* argv[0] is the program's name; the others are allocated */
};

struct settings {
	struct config watcher;
	struct translation translator;
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

/* "NAMESPACE/NAME" */
static bool split(const char *text, struct str *ret_namespace, struct str *ret_name)
{
	const char *slash = text != NULL ? strchr(text, '/') : NULL;
	if (slash == NULL)
		return text == NULL;
	*ret_namespace = (struct str){text, (size_t)(slash - text)};
	*ret_name = str_from(slash + 1);
	return slash != text && slash[1] != '\0';
}

static char *check(const struct settings *settings)
{
	struct str namespace;
	struct str name;
	if (!split(settings->translator.default_certificate, &namespace, &name))
		return xstrdup("default-certificate: NAMESPACE/NAME is expected");
	if (!split(settings->translator.publish_service, &namespace, &name))
		return xstrdup("publish-service: NAMESPACE/NAME is expected");
	if (settings->translator.http_port == settings->translator.https_port)
		return xstrdup("http-port and https-port must differ");
	return NULL;
}

struct settings *settings_new(
	const struct offline *provider, char *const *items, size_t count, char **ret_problem)
{
	struct settings *settings = xcalloc(1, sizeof(*settings));
	const struct option_table *tables[3] = {
		&config_table, &translation_table, provider->options};
	for (size_t t = 0; t < 3; t++)
		add_argument(&settings->arguments[t], (char *)(uintptr_t)tables[t]->program);
	char *problem = take_items(settings, tables, items, count);
	if (problem == NULL)
		problem = parse(tables[0], &settings->watcher, &settings->arguments[0]);
	if (problem == NULL)
		problem = parse(tables[1], &settings->translator, &settings->arguments[1]);
	if (problem == NULL)
		problem = check(settings);
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
	options_free(&translation_table, &settings->translator);
	for (size_t t = 0; t < 3; t++) {
		for (int i = 1; i < settings->arguments[t].argc; i++)
			free(settings->arguments[t].argv[i]);
		free(settings->arguments[t].argv);
	}
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
	const struct translation *given = &settings->translator;
	*ret_config = (struct engine_config){
		.allow_external_name = given->allow_external_name,
		.certificate_warn_s = given->certificate_warning_days * DAY_S,
		.http_port = (uint64_t)given->http_port,
		.https_port = (uint64_t)given->https_port,
	};
	(void)split(given->default_certificate, &ret_config->default_namespace,
		&ret_config->default_name);
	(void)split(
		given->publish_service, &ret_config->publish_namespace, &ret_config->publish_name);
}

void settings_provider(const struct settings *settings, int *ret_argc, char ***ret_argv)
{
	*ret_argc = settings->arguments[2].argc;
	*ret_argv = settings->arguments[2].argv;
}
