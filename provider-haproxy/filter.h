// SPDX-License-Identifier: Apache-2.0
/* The files that a first start with this state writes: this provider as a filter. */
#pragma once

#include "provider-common/filter.h"

extern const struct provider_filter haproxy_filter;
