// SPDX-License-Identifier: Apache-2.0
/* What the end of the line's programs means for whoever has started sluicectl. */
#pragma once

#include "sluicectl/pipeline.h"

/* Waits for the programs: the watcher, the translator and the provider, in this order, or the provider alone. Says what is wrong, and returns the exit code. */
int line_outcome(struct pipeline *pipeline);
