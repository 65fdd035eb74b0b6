// SPDX-License-Identifier: Apache-2.0
/*
 * Finds what is ours by the tag of our cluster, with the Resource Groups Tagging API: one call for each hundred resources of ours, however many the account
 * has, and with all their tags. It lags, and lists what was deleted for a while: what it finds is a hint until a Describe page confirms it, and
 * what it does not list may be there. Pure: text in, observed.h out.
 * (AWS, "GetResources"; errors of an expired token begin the list anew.)
 */
#pragma once

#include "common/json.h"
#include "provider-elb/observed.h"
#include "provider-elb/request.h"
#include "provider-elb/xml.h"

struct discovery_tags {
	struct str resource; /* values of the tags; absent: there is none */
	struct str owner;
	struct str applied;
};

/* `token` is absent for the first page. */
void discovery_request(
	struct str cluster, struct str token, struct arena *arena, struct request *ret_request);

/* A page into `observed`. Certificates are passed to on_certificate(), which may be NULL; texts live during the call. *ret_token is in the arena, and
 * absent on the last page. -EBADMSG: it is no such page. */
[[nodiscard]] int discovery_take(const struct json *json, struct str cluster,
	struct observed *observed, struct arena *arena,
	void (*on_certificate)(void *ctx, struct str arn, const struct discovery_tags *tags),
	void *ctx, struct str *ret_token);

/* The same from the answer to DescribeTags, for what a Describe page shows with one of our names before the list has noticed it: what
 * carries the tag of our cluster is added, and still has to be confirmed. */
void discovery_take_tags(const struct xml *xml, struct str cluster, struct observed *observed);
/* Whether it is worth to look at the tags of what bears this name. */
bool discovery_is_our_name(struct str name);
