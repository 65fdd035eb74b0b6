// SPDX-License-Identifier: Apache-2.0
/* The files that --manifests names, opened before the first of them is read, because nothing can be opened once the process is confined. */
#pragma once

#include <stddef.h>

struct manifest_inputs;

struct manifest_inputs *manifest_inputs_new(void);
void manifest_inputs_free(struct manifest_inputs *inputs);

/*
 * Opens a file, standard input for "-", or those of a folder, but not of folders in it, whose names end in .json, .yaml or .yml, as
 * `kubectl apply --filename` does; in the order of their names. NULL, or what is wrong (allocated).
 */
char *manifest_inputs_open(struct manifest_inputs *inputs, const char *path);

size_t manifest_inputs_count(const struct manifest_inputs *inputs);
int manifest_inputs_descriptor(const struct manifest_inputs *inputs, size_t index);
/* Lives as long as the inputs. */
const char *manifest_inputs_name(const struct manifest_inputs *inputs, size_t index);
