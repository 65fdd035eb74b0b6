// SPDX-License-Identifier: Apache-2.0
/*
 * The texts and lists that the things in observed.h own: each is a copy, put in the place of the one before. No I/O.
 */
#pragma once

#include "provider-elb/observed.h"

/* Absent frees it. */
void observed_set_text(struct str *text, struct str with);
void observed_set_list(struct str_list *list, const struct str_list *with);
void observed_set_attributes(struct observed_group *group, const struct elb_group *from);
void observed_set_health_check(struct elb_health_check *to, const struct elb_health_check *from);

/* By address, then port. */
int observed_compare_targets(const struct elb_target *a, const struct elb_target *b);
/* All of them, sorted, none twice. */
void observed_set_targets(struct observed_group *group, const struct elb_target_list *targets);
void observed_free_group_texts(struct observed_group *group);

void observed_clear_permissions(struct observed_security_group *group);
/* It must not be there yet. */
void observed_add_permission(
	struct observed_security_group *group, uint64_t from, uint64_t to, struct str source);
void observed_remove_permission(
	struct observed_security_group *group, const struct observed_permission *permission);
