// SPDX-License-Identifier: Apache-2.0
/* What the commands that look at a running line share. */
#pragma once

#include "common/json.h"
#include "proto/message.h"
#include "sluicectl/args.h"
#include "sluicectl/ask.h"
#include "sluicectl/table.h"

/* False: an option is wrong, which has been told. */
bool live_open(const struct args *args, struct ask *ret_ask);
/* The exit code of an outcome that is not good; tells the problem and frees it. */
int live_complain(enum ask_outcome outcome, char *problem);
/* Appends /objects/TYPE of the translator; an exit code, the problem has been told. */
int live_fetch(const struct ask *question, const char *type, const char *query, struct buf *out);

/* --skip and --limit; what is not given stays as it is. False: one is no number, which has been told. */
bool live_read_part(const struct args *args, size_t *ret_skip, size_t *ret_limit);
/* Appends the answer of /explain to `body`, and reads it; its texts live there and in the arena. *ret_problem as of ask(). */
struct inspection_explanation;
enum ask_outcome live_explain(const struct ask *question, const char *target, struct buf *body,
	struct arena *arena, struct inspection_explanation *ret_explanation, char **ret_problem);

enum output_form { FORM_TABLE, FORM_WIDE, FORM_JSON, FORM_YAML };
enum output_form live_form(const struct args *args);

/* "5m", "3h", "12d" since a time in seconds since 1970; "-" for 0. */
const char *live_age(uint64_t since, char room[32]);

/* A whole cell of a table: the time since then, as live_age() says it. */
void live_add_age(struct table *table, uint64_t since);
/* Of the terminal that is written to; 0: it is none. */
size_t live_width(void);
