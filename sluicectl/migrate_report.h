// SPDX-License-Identifier: Apache-2.0
/*
 * What becomes of everything that ingress-nginx was told, when the line does its work: rows, each with a verdict, grouped by the object that they are about. Pure.
 */
#pragma once

#include "sluicectl/migrate_objects.h"

enum migrate_verdict {
#define MIGRATE_VERDICT(id, word, plural, is_work) MIGRATE_##id,
#include "sluicectl/migrate_verdicts.def"
	MIGRATE_VERDICT_COUNT,
};

struct migrate_row {
	enum migrate_verdict verdict;
	struct str name;  /* of the annotation, option or argument; empty: about the whole object */
	struct str value; /* cut */
	struct str text;  /* what differs, and what to do; may be empty */
	bool is_closed;   /* requests are answered with 503 */
};

/* An object, and what becomes of its parts. */
struct migrate_subject {
	struct migrate_meta meta;
	struct migrate_row *rows;
	size_t row_count;
};

struct migrate_subjects {
	struct migrate_subject *items;
	size_t count;
};

struct migrate_report {
	struct arena arena;
	const char *provider;
	struct str prefix;                  /* of annotations */
	struct migrate_subjects ingresses;  /* those of the original */
	struct migrate_subjects controller; /* its ConfigMap and workloads */
	struct migrate_subjects risks;      /* what the original does that hardly anybody knows */
	struct migrate_subjects foreign; /* Ingresses that are not the original's, without rows */
	size_t verdict_counts[MIGRATE_VERDICT_COUNT]; /* of the Ingresses' rows */
	size_t same_count;                            /* Ingresses of which nothing differs */
	size_t work_count;                            /* Ingresses that somebody must look after */
	size_t closed_count; /* Ingresses of which requests are answered with 503 */
};

/* The objects that are added to it must outlive it. */
void migrate_report_init(struct migrate_report *report, const char *provider, struct str prefix);
void migrate_report_free(struct migrate_report *report);

/* A new subject; its rows are added one by one. The pointer is valid until the next one is added. */
struct migrate_subject *migrate_subjects_add(struct migrate_report *report,
	struct migrate_subjects *list, const struct migrate_meta *meta);
void migrate_subject_add(struct migrate_report *report, struct migrate_subject *subject,
	const struct migrate_row *row);

const char *migrate_verdict_word(enum migrate_verdict verdict);
/* Of several. */
const char *migrate_verdict_plural(enum migrate_verdict verdict);
/* Somebody has to do something about it. */
bool migrate_verdict_is_work(enum migrate_verdict verdict);
