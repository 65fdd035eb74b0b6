// SPDX-License-Identifier: Apache-2.0
/*
 * A provider as a filter: frames of the translator in; what the provider would apply, and what it would report, out. The same code that the running provider uses, between
 * the same two ends, a commit and files. No load balancer is asked or changed. doc/writing-a-provider.md has the contract, for other languages too.
 */
#pragma once

#include "common/daemon.h"
#include "provider-common/state.h"

/* See filter.def; a member of the provider's configuration. */
struct filter_options {
	bool hello;
	char *render;
	char *reports;
};

struct filter_job {
	struct state *state;
	const struct state_commit *commit; /* a snapshot, committed and not done */
	/* A file of the state folder, or whatever else the provider would write; the texts are good during the call, and hold private keys. */
	void (*on_file)(void *ctx, const char *name, struct str content);
	/* What the owners of a load balancer would be told; once each. */
	void (*on_notices)(void *ctx, const struct object *load_balancer,
		const struct lb_notice *notices, size_t count);
	void *ctx;
};

struct provider_filter {
	const char *name;                           /* "haproxy" */
	const char *software;                       /* program and version */
	struct capabilities *(*capabilities)(void); /* as in its hello; static */
	bool (*reduce)(enum lb_kind kind, void *value);
	/* `config`: as the table of options has it. NULL, or why there is nothing to show (allocated). */
	char *(*render)(const struct filter_job *job, const void *config);
};

bool filter_is_wanted(const struct filter_options *options);
/* NULL, or what is wrong (allocated), with *ret_usage with the options. `config` is handed on to render(). */
char *filter_run(const struct provider_filter *filter, const struct filter_options *options,
	const void *config, bool *ret_usage);
