// SPDX-License-Identifier: Apache-2.0
#include "provider-elb/cert_plan.h"

static enum cert_step next_import(const struct cert_facts *facts)
{
	if (facts->is_unusable)
		return CERT_NOTHING;
	if (facts->must_list)
		return CERT_LIST;
	return facts->has_candidate ? CERT_LOOK : CERT_IMPORT;
}

static enum cert_step next_wanted(const struct cert_facts *facts)
{
	if (!facts->has_copy)
		return next_import(facts);
	if (!facts->is_content_wanted && !facts->is_unusable) {
		if (!facts->is_content_known && !facts->is_leaf_wanted)
			return CERT_READ;
		return facts->is_replace_refused ? next_import(facts) : CERT_REPLACE;
	}
	if (facts->is_content_wanted && !facts->is_tag_wanted)
		return CERT_TAG;
	return facts->is_content_wanted && facts->has_old ? CERT_REMOVE_OLD : CERT_NOTHING;
}

static enum cert_step next_unwanted(const struct cert_facts *facts)
{
	if (!facts->has_copy && !facts->has_old)
		return facts->has_object ? CERT_NOTHING : CERT_FORGET;
	if (!facts->may_remove)
		return CERT_NOTHING;
	return facts->has_old ? CERT_REMOVE_OLD : CERT_REMOVE;
}

enum cert_step cert_plan_next(const struct cert_facts *facts)
{
	if (!facts->is_known)
		return CERT_NOTHING;
	if (facts->has_copy && facts->must_read)
		return CERT_READ;
	return facts->is_wanted ? next_wanted(facts) : next_unwanted(facts);
}

bool cert_plan_is_write(enum cert_step step)
{
	switch (step) {
	case CERT_IMPORT:
	case CERT_REPLACE:
	case CERT_TAG:
	case CERT_REMOVE:
	case CERT_REMOVE_OLD:
		return true;
	case CERT_NOTHING:
	case CERT_FORGET:
	case CERT_LIST:
	case CERT_LOOK:
	case CERT_READ:
		break;
	}
	return false;
}
