// SPDX-License-Identifier: Apache-2.0
/*
 * What a provider would make of a state, as text, without a load balancer: the same code that the running provider uses, between the same two ends, a
 * commit and files. `sluicectl render` links one `struct offline` of each provider. Reads nothing but the options and changes nothing.
 */
#pragma once

#include "common/options.h"
#include "provider-common/state.h"

struct offline_job {
	struct state *state;
	const struct state_commit *commit; /* a snapshot, committed and not done */
	/* Options of the provider's program, behind its name. */
	int argc;
	char **argv;
	/* A file of the state folder, or whatever else the provider would write; the texts are good during the call, and hold private keys. */
	void (*on_file)(void *ctx, const char *name, struct str content);
	/* What the provider would tell owners. */
	void (*on_notice)(void *ctx, const struct lb_notice *notice);
	void *ctx;
};

struct offline {
	const char *name; /* "haproxy" */
	const struct option_table *options;
	struct capabilities *(*capabilities)(void); /* as in its hello; static */
	bool (*reduce)(enum lb_kind kind, void *value);
	/* Completes and checks what the table of options cannot: NULL, or what is wrong (allocated). May be NULL. */
	char *(*check)(void *config);
	/* `config`: as the table of options has it, checked. NULL, or why there is nothing to show (allocated). */
	char *(*render)(const struct offline_job *job, const void *config);
};

/* Reads the options of the job and renders. NULL, or what is wrong with them in words (allocated). */
char *offline_render(const struct offline *offline, const struct offline_job *job);
