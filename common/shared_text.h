// SPDX-License-Identifier: Apache-2.0
/*
 * One copy of each text, however many hold it: ten thousand Ingresses show the addresses of a handful of load
 * balancers. Texts are equal exactly when their pointers are.
 *
 * One tree for the process, which is not safe for threads. Not for secrets.
 */
#pragma once

#include "common/str.h"

/* A copy that ends with a NUL, to be given back with shared_text_drop(). NULL for an empty text. */
const char *shared_text_get(struct str text);
/* Another holder of a text of shared_text_get(); NULL is none. */
const char *shared_text_hold(const char *text);
/* NULL is nothing. */
void shared_text_drop(const char *text);
/* Holds this one instead of the one before. */
void shared_text_set(const char **text, struct str with);
/* With its length; STR_NONE for NULL. */
struct str shared_text_view(const char *text);
/* Different texts that are held. For tests. */
size_t shared_text_count(void);
