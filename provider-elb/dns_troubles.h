// SPDX-License-Identifier: Apache-2.0
/* What is wrong with the records of hosts, from the end of one pass to that of the next. No I/O. */
#pragma once

#include "provider-elb/notices.h"
#include "provider-elb/records.h"

enum { DNS_TROUBLES_MAX = 4000, DNS_NOTICES_MAX = 32 /* of one load balancer */ };

struct dns_troubles;

struct dns_troubles *dns_troubles_new(void);
/* NULL is nothing. */
void dns_troubles_free(struct dns_troubles *troubles);
/* Copies it; nothing when there are too many. */
void dns_troubles_add(struct dns_troubles *troubles, const struct records_trouble *trouble);
/* Sorts both. */
bool dns_troubles_eq(struct dns_troubles *a, struct dns_troubles *b);
/* Of one load balancer, in sorted ones: whether records could not be written. */
bool dns_troubles_has_failed(const struct dns_troubles *troubles, struct str lb);
/* All of one load balancer, in the arena; in sorted ones. */
size_t dns_troubles_notices(const struct dns_troubles *troubles, struct str lb, struct arena *arena,
	struct lb_notice **ret_list);
