// SPDX-License-Identifier: Apache-2.0
/*
 * The line for manifests: the watcher, the translator and a provider, run as filters and joined by pipes. The result is that of the running
 * line for the same objects, because the same programs produce it.
 *
 *   manifests ──► sluice-watcher ──► sluice-translator ──► sluice-provider-NAME ──► files
 *                  │ places             │ Events                │ notices
 *                  └──────────────────► findings ◄──────────────┘
 */
#pragma once

#include "proto/inspection.h"
#include "provider-common/state.h"
#include "sluicectl/args.h"
#include "sluicectl/findings.h"

struct line;

enum line_goal {
	LINE_STATE,       /* what a provider would be told */
	LINE_EXPLANATION, /* what becomes of one object */
	LINE_FINDINGS,    /* what everybody has to say */
	LINE_FILES,       /* likewise, and what the provider would write */
};

struct line_request {
	enum line_goal goal;
	const struct args *args; /* for --with and --namespace */
	const char *provider;
	const struct text_list *files;
	struct str
		records; /* frames of a running line's records, which the manifests are put over; empty: none */
	bool has_records;
	bool wants_documents;  /* for line_documents() */
	const char *explained; /* "ingress/NAMESPACE/NAME" */
	const char *
		folder; /* of LINE_FILES: where to write them; NULL: they are kept for line_files() */
};

/* Runs it. NULL: the reason was printed, and *ret_code is the exit code. Texts of the request must stay valid. */
struct line *line_run(const struct line_request *request, int *ret_code);
void line_free(struct line *line);

struct state *line_state(struct line *line);
/* False: there is no such object. Valid as long as the line. */
bool line_explanation(struct line *line, struct inspection_explanation *ret_explanation);
/* Calls on_file with each file in turn. False: what the provider wrote cannot be read. */
bool line_files(const struct line *line,
	void (*on_file)(void *ctx, struct str name, struct str content), void *ctx);
/* Sorted by place, then by object; without duplicates. With LINE_FINDINGS they include, as notes, objects whose class is not ours. */
size_t line_findings(struct line *line, const struct line_finding **ret_findings);
/* Lines of JSON with objects as they were found: watcher/README.md, "Manifests". */
struct str line_documents(const struct line *line);
/* How many of them are such notes. */
size_t line_foreign_count(const struct line *line);
/* How many objects of a kind were taken. */
size_t line_count(const struct line *line, enum record_kind kind);
