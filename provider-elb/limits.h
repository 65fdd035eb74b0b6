// SPDX-License-Identifier: Apache-2.0
/* Quotas of the account, from answers to DescribeAccountLimits. No I/O. */
#pragma once

#include "provider-elb/settings.h"
#include "provider-elb/xml.h"

/* Sets those that the answer has; the others stay. The marker of the next page, a view; absent: there is none. */
struct str limits_read(const struct xml *xml, struct settings *settings);
