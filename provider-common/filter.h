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
	size_t options_offset; /* of struct filter_options in the provider's configuration, the `config` below */
	size_t common_offset;                       /* of struct daemon_options in it */
	const char *name;                           /* "haproxy" */
	const char *software;                       /* program and version */
	struct capabilities *(*capabilities)(void); /* as in its `hello`; static */
	/* What takes more than memory and open descriptors is found out here, before the sandbox is entered; NULL: nothing. */
	void (*prepare)(void);
	/* Completes the configuration; NULL, or what is wrong with it (allocated). Not asked for --hello, which says the same whatever it is. NULL: there is
	 * nothing to check. */
	char *(*check)(void *config);
	bool (*reduce)(enum lb_kind kind, void *value);
	/* `config`: filled from the option table. NULL, or why there is nothing to show (allocated). */
	char *(*render)(const struct filter_job *job, const void *config);
};

/* For struct daemon_spec, with a struct provider_filter as its filter_ctx. */
bool filter_is_wanted(const void *ctx, const void *config);
/* Likewise. Reads in a sandbox that has no more than the folder it writes to. */
char *filter_run(const void *ctx, void *config, bool *ret_usage);
