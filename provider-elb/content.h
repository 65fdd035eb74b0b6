// SPDX-License-Identifier: Apache-2.0
/*
 * Changes of a balancer's content in observed.h: copies of what was written, in the place of what was there. No I/O.
 *
 * What is replaced stays in the content's arena, so the content is built anew when much has been left behind; then all pointers into it are invalid.
 */
#pragma once

#include "provider-elb/observed.h"

enum {
	CONTENT_LISTENERS_MAX = 256,     /* of a balancer: the quota is 50 */
	CONTENT_RULES_MAX = 10 * 1000,   /* of a listener */
	CONTENT_CERTIFICATES_MAX = 1000, /* of a listener */
};

/* Deep copies in the arena. */
struct str content_copy_text(struct arena *arena, struct str text);
void content_copy_list(struct arena *arena, struct str_list *list, const struct str_list *from);
void content_copy_action(
	struct arena *arena, struct elb_action *action, const struct elb_action *from);
void content_copy_conditions(
	struct arena *arena, struct elb_rule *rule, const struct elb_rule *from);

/* NULL: there is none. A rule is looked for from `hint` on, which is where the last one was found. */
struct elb_listener *content_find_listener(
	const struct observed_balancer *balancer, struct str arn);
struct elb_rule *content_find_rule(
	const struct elb_listener *listener, struct str arn, size_t *hint);
/* Room for one more, in no order, zeroed; NULL: there are too many. */
struct elb_listener *content_push_listener(struct observed_balancer *balancer);
struct elb_rule *content_push_rule(
	struct observed_balancer *balancer, struct elb_listener *listener);
/* Into order; of two with the same ARN, or two listeners with the same port, only one stays: the one that was pushed last. */
void content_sort_listeners(struct observed_balancer *balancer);
void content_sort_rules(struct elb_listener *listener);
void content_remove_listener(struct observed_balancer *balancer, struct elb_listener *listener);
void content_remove_rule(struct elb_listener *listener, struct elb_rule *rule);
/* Keeps the order. */
void content_add_certificate(
	struct observed_balancer *balancer, struct elb_listener *listener, struct str arn);
void content_remove_certificate(struct elb_listener *listener, struct str arn);

/* Names of all groups that a listener or a rule leads to, sorted, some more than once; views. */
struct str_list content_groups(const struct observed_balancer *balancer, struct arena *arena);
/* After each write: builds it anew when that is due. */
void content_written(struct observed_balancer *balancer);
