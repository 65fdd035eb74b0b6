// SPDX-License-Identifier: Apache-2.0
#include "provider-common/log_events.h"

#define LOG_EVENT LOG_EVENT_DEFINE
#include "provider-common/log_events.def"
#undef LOG_EVENT
