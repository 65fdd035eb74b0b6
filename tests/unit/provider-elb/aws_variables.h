// SPDX-License-Identifier: Apache-2.0
/* Environment variables of one test, and files for it. */
#pragma once

#include "provider-elb/shared_files.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

/* Exactly these, "NAME=value", up to a NULL; the list may be NULL. Valid until the next call. */
const struct aws_environment *variables(const char *const *list);
void set_variable(const char *name, const char *value);

/* In a new folder; returns the path, which remove_file() frees. */
char *write_file(const char *name, const char *content);
void rewrite_file(const char *path, const char *content);
void remove_file(char *path);
