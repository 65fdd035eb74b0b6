// SPDX-License-Identifier: Apache-2.0
/* Whether what AWS has is what is wanted: what it stores in another form than it was given counts as the same. Pure. */
#pragma once

#include "provider-elb/resources.h"

/* The weight of a single group says nothing. Actions that we never make are equal to none. */
bool compare_action(const struct elb_action *a, const struct elb_action *b);
bool compare_health_check(const struct elb_health_check *a, const struct elb_health_check *b);
/* Each of `wanted` is in `known` with the same value. Both are sorted. */
bool compare_attributes(const struct elb_group *wanted, const struct elb_group *known);
/* An order of rules by their conditions, for which neither the order of conditions nor that of their values matters; 0: they take the same requests. */
int compare_conditions(const struct elb_rule *a, const struct elb_rule *b);
/* The same default action is up to compare_action(). */
bool compare_listener_settings(const struct elb_listener *a, const struct elb_listener *b);
