// SPDX-License-Identifier: Apache-2.0
/* The configuration that a first start with this state installs, and the rows that nginx gets: this provider as a filter. */
#pragma once

#include "provider-common/filter.h"

extern const struct provider_filter nginx_filter;
