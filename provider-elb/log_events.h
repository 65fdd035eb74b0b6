// SPDX-License-Identifier: Apache-2.0
/* The events of provider-elb/, see log_events.def. */
#pragma once

#include "common/log.h"

#define LOG_EVENT LOG_EVENT_DECLARE
#include "provider-elb/log_events.def"
#undef LOG_EVENT
