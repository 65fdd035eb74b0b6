// SPDX-License-Identifier: Apache-2.0
#include "proto/message_rows.h"

#include "proto/provider_messages.def"

const struct schema *const lb_schemas[LB_KIND_COUNT] = {
	[LB_LOAD_BALANCER] = &load_balancer_schema,
	[LB_VIRTUAL_HOST] = &virtual_host_schema,
	[LB_POOL] = &pool_schema,
	[LB_CERTIFICATE] = &certificate_schema,
	[LB_POLICY] = &policy_schema,
	[LB_USERS] = &users_schema,
};
