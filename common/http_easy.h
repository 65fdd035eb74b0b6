// SPDX-License-Identifier: Apache-2.0
/* One request and its answer on a libcurl easy handle, without the loop: the inner half of http.c. */
#pragma once

#include "common/http.h"

#include <curl/curl.h>

struct http_easy;

/* on_activity(owner) is called whenever bytes of the answer arrive. max_age_s > 0: connections older than this are not used. */
struct http_easy *http_easy_new(const struct http_call *call, const char *user_agent,
	double max_age_s, void (*on_activity)(void *owner), void *owner);
void http_easy_free(struct http_easy *easy);
CURL *http_easy_handle(struct http_easy *easy);
/* No callback of the call runs any more. */
void http_easy_silence(struct http_easy *easy);
/* Works out the result and calls on_done(). */
void http_easy_complete(struct http_easy *easy, CURLcode code, bool idle_ended);
void http_easy_pause(struct http_easy *easy, bool pause);
/* Sets URL, TLS, proxy and socket options, which a WebSocket needs too. For server_name the URL is rewritten and the headers get a Host
 * line. Returns a list to be freed with curl_slist_free_all() after the handle. */
[[nodiscard]] struct curl_slist *http_easy_set_peer(
	CURL *handle, const struct http_peer *peer, const char *url, struct curl_slist **headers);
/* Frees the list, its texts wiped. */
void http_easy_free_headers(struct curl_slist *headers);
