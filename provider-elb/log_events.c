// SPDX-License-Identifier: Apache-2.0
#include "provider-elb/log_events.h"

#define LOG_EVENT LOG_EVENT_DEFINE
#include "provider-elb/log_events.def"
#undef LOG_EVENT
