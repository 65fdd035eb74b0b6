// SPDX-License-Identifier: Apache-2.0
/* What the files with the answers of requests.h share. */
#pragma once

#include "provider-elb/requests.h"

/* What "…Response" holds in its "…Result"; NULL: nothing. */
const struct xml *answers_result(const struct xml *xml);
/* The first "member" of a list; xml_next() has the others. */
const struct xml *answers_members(const struct xml *xml, const char *path);
/* Absent when there is none, or when it is over its limit. */
struct str answers_text(const struct xml *xml, const char *path);
struct str answers_arn(const struct xml *xml, const char *path);
/* 0: there is none. */
uint64_t answers_number(const struct xml *xml, const char *path);
/* In the arena; absent on the last page. */
struct str answers_marker(const struct xml *xml, const char *path, struct arena *arena);
struct str answers_lower(struct str text, struct arena *arena);
/* Texts of `path` ("": its own) of all elements like `first`, sorted, none twice; views. */
struct str_list answers_list(const struct xml *first, const char *path, struct arena *arena);
/* Into order, and those that are there twice only once. */
void answers_sort(struct str_list *list);

/* A balancer that is known: what the element says of it. False: it is none. */
bool answers_take_balancer(const struct xml *xml, struct observed *observed,
	struct observed_balancer *balancer, struct arena *arena);
void answers_take_group(
	const struct xml *xml, struct observed *observed, struct observed_group *group);
void answers_take_security_group(
	const struct xml *xml, struct observed *observed, struct observed_security_group *group);
/* Into `action`, with its texts in the arena. */
void answers_take_action(const struct xml *actions, const struct observed *observed,
	struct arena *arena, struct elb_action *action);

/* The value of a tag in a list of elements with `key_name` and `value_name`; absent: it is not there. */
struct str answers_tag(
	const struct xml *first, const char *key_name, const char *value_name, const char *key);

/* answers_step() for the steps that concern the content of a balancer; of others nothing is to be noted. */
[[nodiscard]] int answers_content_step(const struct xml *xml, const struct plan_input *input,
	const struct plan *plan, struct arena *arena);
