// SPDX-License-Identifier: Apache-2.0
/*
 * The line without sockets: the watcher's projection and store, the translator's engine, the provider's state and renderer, called one after the other on
 * objects that are given. What comes out is what the running line makes of the same objects. No I/O but what the provider's renderer says.
 */
#pragma once

#include "proto/inspection.h"
#include "provider-common/offline.h"
#include "sluicectl/findings.h"
#include "watcher/manifest.h"

struct line;

/* The provider of that name; NULL: there is none. */
const struct offline *line_provider(const char *name);

/* `settings` are options of the programs, "name=value" each; one that several programs have is given to all. The texts must
 * stay. `takes_keyless`: Secrets without their keys are as good as with. NULL, and what is wrong in *ret_problem (allocated). */
struct line *line_new(const struct offline *provider, char *const *settings, size_t setting_count,
	bool takes_keyless, char **ret_problem);
void line_free(struct line *line);

/* Adds an object or replaces it; those that the watcher does not watch are passed over. Before line_run(). */
void line_put(struct line *line, const struct json *object, const struct manifest_place *place);
/* The same of a record as the watcher sends it; -EBADMSG when it is none. An object that is put over one keeps its uid and age. */
int line_put_record(struct line *line, struct str payload);

/* Works until nothing is left to do. Once. */
void line_run(struct line *line);
/* What the provider was told. */
struct state *line_state(struct line *line);
/* NULL, or what is wrong with the provider's options (allocated). Once, after line_run(); findings may be more afterwards. */
char *line_render(struct line *line,
	void (*on_file)(void *ctx, const char *name, struct str content), void *ctx);
/* As translator/explain.h says it; what depends on a provider's answers is not there. After line_run(). */
bool line_explain(struct line *line, enum record_kind kind, const char *namespace, const char *name,
	struct arena *arena, struct inspection_explanation *ret_explanation);
/* Adds to the findings, as notes, which Ingresses are not ours by their class. Returns how many. After line_run(). */
size_t line_note_foreign(struct line *line);
/* Sorted by place, then by object; without repetitions. */
size_t line_findings(struct line *line, const struct line_finding **ret_findings);
/* How many objects of a kind were taken. */
size_t line_count(const struct line *line, enum record_kind kind);
