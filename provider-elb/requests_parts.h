// SPDX-License-Identifier: Apache-2.0
/* What the files of requests.h share. */
#pragma once

#include "provider-elb/params.h"
#include "provider-elb/requests.h"

void requests_end(struct params *params, enum aws_service service, const char *action,
	bool is_write, struct arena *arena, struct request *ret_request);
/* "Name.member.1=...": nothing for an empty list, which would not mean "none". */
void requests_add_list(struct params *params, const char *name, const struct str_list *list);
/* "Tags.member.1.Key=...": the tags of something new. */
void requests_add_tags(struct params *params, const struct plan_input *input,
	const struct plan *plan, struct str identity, struct arena *arena);

/* "TagSpecification.1.Tag.1.Key=...". */
void requests_add_ec2_tags(struct params *params, const struct plan_input *input,
	const struct plan *plan, struct str identity, struct arena *arena);

/* The steps that concern the content of a balancer. False: it is none of them. */
bool requests_content_step(const struct plan_input *input, const struct plan *plan,
	struct arena *arena, struct request *ret_request);
