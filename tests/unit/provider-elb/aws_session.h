// SPDX-License-Identifier: Apache-2.0
/* Credentials and endpoints of a test, all at the server that stands for AWS. */
#pragma once

#include "aws_server.h"
#include "aws_variables.h"

#include "provider-elb/credentials.h"

#include <cmocka.h>

/* Starts with these variables, NULL after the last. `ret_endpoints` belongs to the caller, as what is returned. */
static inline struct credentials *session_start(struct ev_loop *loop, const char *const *list,
	void (*on_change)(void *ctx, const char *problem), struct endpoints *ret_endpoints)
{
	char *problem = NULL;
	const struct aws_environment *environment = variables(list);
	set_variable("AWS_ENDPOINT_URL", aws_server_url(""));
	set_variable("AWS_REGION", "us-east-1");
	assert_null(endpoints_init(ret_endpoints, environment, NULL, false, false));
	struct credentials_config config = {.loop = loop,
		.environment = environment,
		.endpoints = ret_endpoints,
		.on_change = on_change};
	struct credentials *credentials = credentials_new(&config, &problem);
	assert_null(problem);
	credentials_start(credentials);
	return credentials;
}
