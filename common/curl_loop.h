// SPDX-License-Identifier: Apache-2.0
/*
 * One multi handle of libcurl on a libev loop: sockets, the timer, and the connections and TLS sessions that its handles
 * share. Used by http.c and ws.c alone.
 *
 * libcurl must not be entered again from its own callbacks, so nothing may be added or removed there: on_progress() runs
 * after libcurl has returned, and is the place to fetch finished handles, to add and to remove.
 */
#pragma once

#include <curl/curl.h>
#include <ev.h>
#include <stdbool.h>

struct curl_loop;

/* connections_max: the most connections kept open and used at the same time; further handles wait. on_progress()
 * may free the loop. */
struct curl_loop *curl_loop_new(
	struct ev_loop *loop, unsigned connections_max, void (*on_progress)(void *ctx), void *ctx);
/* All handles must have been removed and cleaned up. */
void curl_loop_free(struct curl_loop *c);

CURLMcode curl_loop_add(struct curl_loop *c, CURL *easy);
/* Closes the connection of a handle that is not finished, or that only connected. */
void curl_loop_remove(struct curl_loop *c, CURL *easy);
/* Returns each finished handle once; it stays in the loop until it is removed. */
bool curl_loop_next_done(struct curl_loop *c, CURL **ret_easy, CURLcode *ret_code);
/* The number of handles in it. */
unsigned curl_loop_count(const struct curl_loop *c);
