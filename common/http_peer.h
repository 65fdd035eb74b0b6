// SPDX-License-Identifier: Apache-2.0
/*
 * The settings common to all libcurl handles, for requests and WebSockets: destination, protocols, TLS, proxy, keepalive; and
 * header lines, including credentials. Used by http_easy.c and ws.c alone.
 */
#pragma once

#include "common/http.h"

#include <curl/curl.h>

/* Sets up the handle. A server name rewrites the URL and adds a Host line to `headers`. The list in *ret_connect_to, if any, is freed
 * with curl_slist_free_all() after the handle, also on failure. NULL, or an error message. */
const char *http_peer_apply(CURL *handle, const struct http_peer *peer, const char *url,
	double connect_timeout_s, struct curl_slist **headers, struct curl_slist **ret_connect_to);

/* "Name: value". False, and nothing is added, if it contains a line break. */
bool http_headers_add(struct curl_slist **headers, const char *line);
bool http_headers_add_bearer(struct curl_slist **headers, const struct secret *token);
/* The password may be NULL. */
bool http_headers_add_basic(
	struct curl_slist **headers, const char *username, const struct secret *password);
/* Wiped first. */
void http_headers_free(struct curl_slist *headers);
