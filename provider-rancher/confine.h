// SPDX-License-Identifier: Apache-2.0
/* What provider-rancher keeps of its rights once it has read its configuration. */
#pragma once

#include "common/sandbox.h"
#include "provider-rancher/config.h"

/* The network, its neighbours, and the folders of its keys and certificates. The caller enters or frees it. */
struct sandbox *confine_provider(const struct config *config);
