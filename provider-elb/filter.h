// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "provider-common/filter.h"

extern const struct provider_filter elb_filter;
