// SPDX-License-Identifier: Apache-2.0
/*
 * A provider as a filter: reads the translator's frames, and writes what the provider would apply and report. It uses the code of the running
 * provider from the commit to the files. No load balancer is asked or changed. doc/writing-a-provider.md has the contract, also for other
 * languages.
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
	/* A file of the state folder, or whatever else the provider would write; the texts are valid during the call, and may hold private keys. */
	void (*on_file)(void *ctx, const char *name, struct str content);
	/* The notices to the owners of a load balancer; once for each load balancer. */
	void (*on_notices)(void *ctx, const struct object *load_balancer,
		const struct lb_notice *notices, size_t count);
	void *ctx;
};

struct provider_filter {
	const char *name;                           /* "haproxy" */
	const char *software;                       /* program and version */
	struct capabilities *(*capabilities)(void); /* as in its `hello`; static */
	/* What takes more than memory and open descriptors is found out here, before the sandbox is entered; NULL: nothing. */
	void (*prepare)(void);
	bool (*reduce)(enum lb_kind kind, void *value);
	/* `config`: filled from the option table. NULL, or why there is nothing to show (allocated). */
	char *(*render)(const struct filter_job *job, const void *config);
};

bool filter_is_wanted(const struct filter_options *options);
/* Reads in a sandbox that has no more than the folder it writes to. NULL, or what is wrong (allocated); *ret_usage: with the options. `config` is passed
 * on to render(). */
char *filter_run(const struct provider_filter *filter, const struct filter_options *options,
	enum sandbox_mode sandbox, const void *config, bool *ret_usage);
