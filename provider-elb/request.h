// SPDX-License-Identifier: Apache-2.0
/* What a call of AWS asks for, before it is signed: made by pure parts, sent by call.h. */
#pragma once

#include "provider-elb/service.h"

struct request {
	enum aws_service service;
	const char *action;
	/* In the arena of whoever made it: */
	struct str path; /* of a REST service, see client.h; else absent */
	struct str body;
	bool is_write;
};
