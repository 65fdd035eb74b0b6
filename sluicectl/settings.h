// SPDX-License-Identifier: Apache-2.0
/*
 * Options of the programs of the line, for a line without processes: "name=value" goes to every program that has an option of that name, and what is not
 * given comes from the environment, as it does for them.
 */
#pragma once

#include "provider-common/offline.h"
#include "translator/engine.h"
#include "watcher/project.h"

struct settings;

/* NULL, and what is wrong in *ret_problem (allocated). The texts are kept. */
struct settings *settings_new(
	const struct offline *provider, char *const *items, size_t count, char **ret_problem);
void settings_free(struct settings *settings);

/* Those of the watcher that count here; texts live as long as the settings. */
void settings_watcher(const struct settings *settings, struct source_settings *ret_settings,
	bool *ret_wants_classes, bool *ret_takes_unclassed_services);
/* Whether the watcher would see objects of that namespace. */
bool settings_sees(const struct settings *settings, struct str namespace);
void settings_translator(const struct settings *settings, struct engine_config *ret_config);
void settings_provider(const struct settings *settings, int *ret_argc, char ***ret_argv);
