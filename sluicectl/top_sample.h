// SPDX-License-Identifier: Apache-2.0
/*
 * The traffic of each Ingress: what a provider tells at /metrics/ingresses, read; and what has happened between two such answers. Counts only grow, unless
 * whoever counts has begun anew. Names that no Ingress can have are left out, so that what is kept can be shown anywhere. No I/O.
 */
#pragma once

#include "common/str.h"

#include <stddef.h>
#include <stdint.h>

enum {
	TOP_INGRESSES_MAX = 200000, /* of all providers together; further ones are left out */
	TOP_CLASSES = 5,
	TOP_BOUNDS = 11, /* of durations, without the one that is endless */
	TOP_GUARDS = 6,
	TOP_NAME_LEN_MAX = 253,
};

extern const char *const top_guards[TOP_GUARDS];

struct top_counts {
	double classes[TOP_CLASSES];    /* requests that were answered with 1xx to 5xx */
	double buckets[TOP_BOUNDS + 1]; /* requests that lasted up to each bound */
	double seconds;                 /* of all together */
	double sent;                    /* bytes, as is the next */
	double received;
	double retries;
	double denied[TOP_GUARDS];
};

struct top_sample;

struct top_sample *top_sample_new(void);
void top_sample_free(struct top_sample *sample);
/* Adds the text of one provider; what others have said of the same Ingresses is added to it. Lines that cannot be read are left out. */
void top_sample_read(struct top_sample *sample, struct str text);

/* What an Ingress has had. */
struct top_row {
	struct str namespace; /* of the newer sample, as is the name */
	struct str name;
	struct top_counts counts;
	double requests;
	double mean_ms; /* 0 without requests, as are the next */
	double median_ms;
	double p95_ms;
	double p99_ms;
};

/* What has come since `before`; NULL: since counting began. Ingresses without requests are among them. An allocated array, by name. */
struct top_row *top_rows_between(
	const struct top_sample *before, const struct top_sample *now, size_t *ret_count);
