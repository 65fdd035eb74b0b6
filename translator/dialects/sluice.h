// SPDX-License-Identifier: Apache-2.0
/* The dialect of the sluice.io/ annotations for what is done with requests. What there is stands in the table sluice.def. Pure. */
#pragma once

#include "translator/dialects/dialect.h"

/* Adds to d->route what the annotations ask for. False: there are none. */
bool sluice_read_route(const struct dialect *d);
