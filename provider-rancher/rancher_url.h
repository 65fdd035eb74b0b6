// SPDX-License-Identifier: Apache-2.0
/*
 * Where the API is. Users and Rancher itself give CATTLE_URL in many forms: with /v1, with
 * /v2-beta, with nothing, with a project, with /schemas behind it. Only v2-beta is spoken here.
 *
 * Addresses are always built from our own base: the links in answers are made from the request's
 * Host header and are wrong behind a proxy that does not pass it on. No I/O.
 */
#pragma once

#include "common/str.h"

/* The base without a slash at the end, such as "http://rancher:8080/v2-beta/projects/1a5"; the
 * caller frees it. NULL: *ret_problem says in words what is wrong with the URL. */
char *rancher_url_base(struct str url, const char **ret_problem);
/* The address of the event subscription; the caller frees it. */
char *rancher_url_subscribe(const char *base);
/* The next page of `page`, an address of ours, when the answer's pagination.next is `next`: only
 * the query of that is taken. NULL when it has none, or one that cannot be sent; the caller frees
 * it. */
char *rancher_url_next(const char *page, struct str next);
