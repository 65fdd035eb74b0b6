// SPDX-License-Identifier: Apache-2.0
/* What the commands that look at a running line share. */
#pragma once

#include "common/json.h"
#include "proto/message.h"
#include "sluicectl/args.h"
#include "sluicectl/ask.h"

/* False: an option is wrong, which has been told. */
bool live_open(const struct args *args, struct ask *ret_ask);
/* The exit code of an outcome that is not good; tells the problem and frees it. */
int live_complain(enum ask_outcome outcome, char *problem);
/* Appends /objects/TYPE of the translator; an exit code, the problem has been told. */
int live_fetch(const struct ask *question, const char *type, const char *query, struct buf *out);

enum output_form { FORM_TABLE, FORM_WIDE, FORM_JSON, FORM_YAML };
enum output_form live_form(const struct args *args);

/* "5m", "3h", "12d" since a time in seconds since 1970; "-" for 0. */
const char *live_age(uint64_t since, char room[32]);

/* A table: cells are collected, then printed with columns as wide as they need. Texts are copied; they are UTF-8. */
struct table;
struct table *table_new(size_t columns);
void table_free(struct table *table);
/* Adds to the cell that is being filled. */
void table_put(struct table *table, struct str text);
void table_put_uint(struct table *table, uint64_t value);
/* Ends it; one without text becomes "-". */
void table_end(struct table *table);
/* Both: a whole cell. */
void table_add(struct table *table, struct str text);
/* A whole cell: the time since then, as live_age() says it. */
void table_add_age(struct table *table, uint64_t since);
/* Rows end at `width` columns; 0: they are as long as they are. */
void table_print(const struct table *table, FILE *out, size_t width);
/* Of the terminal that is written to; 0: it is none. */
size_t live_width(void);
