// SPDX-License-Identifier: Apache-2.0
/* What this process keeps when it gives up what it does not need. */
#pragma once

#include "common/sandbox.h"
#include "provider-elb/config.h"

struct sandbox *confine_provider(const struct config *config);
