// SPDX-License-Identifier: Apache-2.0
/*
 * Requests and answers of Route 53, both ways. Pure: text in, text out. (botocore's service model route53 2013-04-01 has the shapes.)
 */
#pragma once

#include "provider-elb/records.h"
#include "provider-elb/request.h"
#include "provider-elb/xml.h"

enum { ROUTE53_ZONE_LEN_MAX = 32, ROUTE53_PAGE_MAX = 300 };

/* Where the next page of a list begins, as Route 53 says it; all absent: at the beginning, or there is none. */
struct route53_place {
	struct str name;
	struct str type;
	struct str set;
};

/* Letters and digits: it becomes part of a path. */
bool route53_is_zone(struct str id);
/* ListResourceRecordSets. */
void route53_list(struct str zone, const struct route53_place *from, struct arena *arena,
	struct request *ret_request);
/* Adds what concerns us of a page, with texts in the arena, and the zone's name when it is there. What is not as it has to be is left out. NULL, or why the page is no
 * good, static. */
const char *route53_read_page(const struct xml *xml, struct arena *arena, struct records_zone *zone,
	struct route53_place *ret_next);
/* ChangeResourceRecordSets, of groups of the plan: all or nothing. */
void route53_change(struct str zone, const struct records_group *groups, size_t count,
	struct arena *arena, struct request *ret_request);
