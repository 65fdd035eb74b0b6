// SPDX-License-Identifier: Apache-2.0
/* One request and its response on a libcurl easy handle, without the loop: the inner half of http.c.
 */
#pragma once

#include "common/http.h"

#include <curl/curl.h>

struct http_easy;

/* on_activity(owner) is called once connected and whenever part of the response arrives. The call's callbacks get the call's ctx, and
 * may run inside libcurl. */
struct http_easy *http_easy_new(const struct http_call *call, const char *user_agent,
	void (*on_activity)(void *owner), void *owner);
/* Not while it is in a multi handle. */
void http_easy_free(struct http_easy *easy);
CURL *http_easy_handle(struct http_easy *easy);
/* Why the call cannot run, or NULL. */
const char *http_easy_problem(const struct http_easy *easy);
/* No callback of the call will run any more. */
void http_easy_silence(struct http_easy *easy);
/* Works out the result and calls on_done(). `reason` replaces libcurl's message; may be NULL. */
void http_easy_complete(struct http_easy *easy, CURLcode code, const char *reason);
