// SPDX-License-Identifier: Apache-2.0
/* What the files of the sluice dialect share: the annotations that an Ingress has, by row of sluice.def, and what is the same for all of them. */
#pragma once

#include "translator/dialects/dialect.h"
#include "translator/pieces.h"

enum sluice_row {
#define ROUTE_ANNOTATION(id_, ...) SLUICE_##id_,
#include "translator/dialects/sluice.def"
	SLUICE_ROW_COUNT,
};

struct sluice_reader {
	const struct dialect *d;
	const struct annotation *given[SLUICE_ROW_COUNT]; /* NULL: not given */
};

/* Whether there is such an annotation. */
bool sluice_knows_route(struct str key);
/* Finds those of the Ingress. False: it has none. */
bool sluice_find(const struct dialect *d, struct sluice_reader *ret_reader);

/* NULL: not given. */
const struct str *sluice_value(const struct sluice_reader *r, enum sluice_row row);
/* Tells of the problem, if there is one, and does what follows from it. Returns whether the value is good. */
bool sluice_accept(const struct sluice_reader *r, enum sluice_row row, const char *problem);
/* The value is good: a provider needs the word. */
void sluice_ask(const struct sluice_reader *r, enum sluice_row row);
/* Tells something about the annotation. */
void sluice_tell(const struct sluice_reader *r, enum sluice_row row, const char *text);
/* If it is given, it does nothing without `other`, and that is told. */
void sluice_tell_alone(const struct sluice_reader *r, enum sluice_row row, const char *other);

/* Each leaves what it returns alone if there is no good value. */
bool sluice_switch(const struct sluice_reader *r, enum sluice_row row);
bool sluice_count(const struct sluice_reader *r, enum sluice_row row, uint64_t min, uint64_t max,
	uint64_t *number);
bool sluice_networks(const struct sluice_reader *r, enum sluice_row row, struct str_list *list);
/* Printable text of at most `max` bytes. */
bool sluice_text(const struct sluice_reader *r, enum sluice_row row, size_t max, struct str *text);

/* A text with values of the request, which stands in the annotation; not empty. Call it when sluice_read_paths() has. */
bool sluice_pieces(const struct sluice_reader *r, enum sluice_row row, struct str text,
	struct pieces *ret_pieces);

/* ---- what each file reads ---- */

/* sluice_answers.c: redirects and fixed answers, and what answers tell browsers */
void sluice_read_answers(const struct sluice_reader *r);
/* sluice_guards.c */
void sluice_read_guards(const struct sluice_reader *r);
/* sluice_clients.c */
void sluice_read_clients(const struct sluice_reader *r);
/* sluice_backends.c: how requests reach backends */
void sluice_read_backends(const struct sluice_reader *r);
/* sluice_asked.c: Services that are asked beside the backend, or in its place */
void sluice_read_asked(const struct sluice_reader *r);
/* sluice_tries.c: which endpoint is asked, how often, and how bodies are passed on */
void sluice_read_tries(const struct sluice_reader *r);
/* Whether its paths are regular expressions; before the others, which may refer to groups. */
void sluice_read_paths(const struct sluice_reader *r);
/* The same, for an Ingress that is a canary. Returns whether it is one. */
bool sluice_read_canary(const struct sluice_reader *r);
