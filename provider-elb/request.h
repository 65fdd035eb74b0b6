// SPDX-License-Identifier: Apache-2.0
/* What a call of AWS asks for, before it is signed: made by pure parts, sent by call.h. */
#pragma once

#include "provider-elb/service.h"

struct request {
	enum aws_service service;
	const char *action;
	struct str body; /* in the arena of whoever made it */
	bool is_write;
};
