// SPDX-License-Identifier: Apache-2.0
/* The tags that everything carries from the call that makes it: tagged later, it would be lost by a crash in between. */
#include "provider-elb/requests_parts.h"

enum { TAGS_OF_NEW = 5 };

struct tag {
	const char *key;
	struct str value;
};

/* Those that have no value are left out. */
static size_t make_tags(const struct plan_input *input, const struct plan *plan,
	struct str identity, struct arena *arena, struct tag ret_tags[static TAGS_OF_NEW])
{
	bool is_group = plan->step == PLAN_CREATE_GROUP;
	const struct tag tags[TAGS_OF_NEW] = {
		{TAG_CLUSTER, naming_tag_value(arena, input->settings->cluster)},
		{TAG_LB, naming_tag_value(arena, input->lb)},
		{TAG_RESOURCE, identity},
		{TAG_OWNER, plan->wanted != NULL ? plan->wanted->owner : STR_NONE},
		{TAG_APPLIED, is_group ? plan->wanted_group->applied : STR_NONE},
	};
	size_t count = 0;
	for (size_t i = 0; i < TAGS_OF_NEW; i++) {
		if (!str_is_empty(tags[i].value))
			ret_tags[count++] = tags[i];
	}
	return count;
}

void requests_add_tags(struct params *params, const struct plan_input *input,
	const struct plan *plan, struct str identity, struct arena *arena)
{
	struct tag tags[TAGS_OF_NEW];
	size_t count = make_tags(input, plan, identity, arena, tags);
	for (size_t i = 0; i < count; i++) {
		params_add(params, str_from(tags[i].key), "Tags.member.%zu.Key", i + 1);
		params_add(params, tags[i].value, "Tags.member.%zu.Value", i + 1);
	}
}

void requests_add_ec2_tags(struct params *params, const struct plan_input *input,
	const struct plan *plan, struct str identity, struct arena *arena)
{
	struct tag tags[TAGS_OF_NEW];
	size_t count = make_tags(input, plan, identity, arena, tags);
	for (size_t i = 0; i < count; i++) {
		params_add(params, str_from(tags[i].key), "TagSpecification.1.Tag.%zu.Key", i + 1);
		params_add(params, tags[i].value, "TagSpecification.1.Tag.%zu.Value", i + 1);
	}
}
