// SPDX-License-Identifier: Apache-2.0
/*
 * Who is asked or told beside the backend, as fields of a policy's row (policies.h, pages.lua, copies.lua). Texts live in the arena. No I/O.
 */
#pragma once

#include "common/arena.h"
#include "proto/model.h"

/* Four fields: statuses|pool|target|changes; the first begins with `o` if only errors of the proxy itself count, else with `b`. Empty ones without pages. */
struct str policy_others_pages(struct arena *arena, const struct error_pages *pages);
/* One field: letters (e on_error, t on_timeout, i on_invalid, u unsafe)|tries;timeout in ms;statuses, with semicolons. Empty: there are none, or HAProxy does the same by itself. */
struct str policy_others_retries(struct arena *arena, const struct retries *retries);
/* No request may be sent twice that has been sent. */
bool policy_others_sends_once(const struct retries *retries);
/* A bar and a field for each: pool;host;target;`b` without the body;share;of. */
struct str policy_others_mirrors(struct arena *arena, const struct policy *policy);
/* Whether anything is made of the name or the port of a Service. */
bool policy_others_name_service(const struct policy *policy);
