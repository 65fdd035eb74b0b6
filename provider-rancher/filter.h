// SPDX-License-Identifier: Apache-2.0
/* The objects that a Rancher without any load balancers would be sent: this provider as a filter. */
#pragma once

#include "provider-common/filter.h"

extern const struct provider_filter rancher_filter;
