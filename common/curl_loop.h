// SPDX-License-Identifier: Apache-2.0
/*
 * libcurl's multi interface on a libev loop: libcurl says which sockets and which timer it wants watched, we tell it what happened to
 * them. Shared by http.c and ws.c.
 *
 * Handles may be neither added nor removed while libcurl is on the stack: curl_loop_is_inside() tells. Calls into libcurl that
 * may call back are put between curl_loop_enter() and curl_loop_leave().
 */
#pragma once

#include <curl/curl.h>
#include <ev.h>
#include <stdbool.h>

struct curl_loop;

/* on_progress() runs after libcurl has worked, never inside it: the moment to look for finished handles. It may free the loop. */
struct curl_loop *curl_loop_new(
	struct ev_loop *loop, long connections_max, void (*on_progress)(void *ctx), void *ctx);
/* All handles must have been removed. */
void curl_loop_free(struct curl_loop *c);
CURLM *curl_loop_multi(struct curl_loop *c);
void curl_loop_enter(struct curl_loop *c);
void curl_loop_leave(struct curl_loop *c);
bool curl_loop_is_inside(const struct curl_loop *c);
