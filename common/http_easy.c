// SPDX-License-Identifier: Apache-2.0
#include "common/http_easy.h"

#include "common/must.h"
#include "common/xalloc.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>

enum {
	KEEPALIVE_IDLE_S = 30,
	KEEPALIVE_INTERVAL_S = 10,
	/* Unacknowledged data for so long means that the peer is gone. */
	USER_TIMEOUT_MS = 60000,
	HEADER_LEN_MAX = 256,    /* of the few headers that are looked at */
	HEADERS_LEN_MAX = 65536, /* of all headers of one answer together */
	RETRY_AFTER_MAX_S = 3600,
};

struct http_easy {
	CURL *handle;
	struct http_call call; /* callbacks and limits; texts are not kept */
	struct curl_slist *headers;
	struct curl_slist *connect_to;
	struct buf body_out;
	struct buf body_in;
	struct http_head head;
	size_t headers_len;
	bool head_told;
	bool silent;
	bool too_long;
	bool refused;
	void (*on_activity)(void *owner);
	void *owner;
	char error[CURL_ERROR_SIZE];
};

/* ---- receiving ---- */

static struct str trimmed(struct str text)
{
	while (text.len != 0 && (text.p[0] == ' ' || text.p[0] == '\t'))
		text = str_skip(text, 1);
	while (text.len != 0 && strchr(" \t\r\n", text.p[text.len - 1]) != NULL)
		text.len--;
	return text;
}

/* The value of a header line if it has that name, else STR_NONE. */
static struct str header_value(struct str line, const char *name)
{
	size_t len = strlen(name);
	if (line.len <= len || line.len > HEADER_LEN_MAX || line.p[len] != ':' ||
		strncasecmp(line.p, name, len) != 0)
		return STR_NONE;
	return trimmed(str_skip(line, len + 1));
}

static void read_header(struct http_easy *easy, struct str line)
{
	int64_t seconds = 0;
	if (str_starts_with(line, STR("HTTP/"))) {
		easy->head = (struct http_head){.retry_after_s = -1};
		return;
	}
	struct str type = header_value(line, "Content-Type");
	if (type.p != NULL)
		easy->head.is_json =
			type.len >= 16 && strncasecmp(type.p, "application/json", 16) == 0;
	struct str after = header_value(line, "Retry-After");
	if (after.p != NULL && str_to_int(after, 0, RETRY_AFTER_MAX_S, &seconds))
		easy->head.retry_after_s = (double)seconds;
}

static void tell_head(struct http_easy *easy)
{
	curl_easy_getinfo(easy->handle, CURLINFO_RESPONSE_CODE, &easy->head.status);
	/* An answer of 1xx is followed by the real one. */
	if (easy->head.status < 200 || easy->head_told)
		return;
	easy->head_told = true;
	if (easy->call.on_head != NULL && !easy->silent)
		easy->call.on_head(easy->call.ctx, &easy->head);
}

static size_t on_header(char *data, size_t size, size_t count, void *ctx)
{
	struct http_easy *easy = ctx;
	struct str line = {data, size * count};
	easy->headers_len += line.len;
	if (easy->headers_len > HEADERS_LEN_MAX) {
		easy->too_long = true;
		return 0;
	}
	if (trimmed(line).len == 0)
		tell_head(easy);
	else
		read_header(easy, line);
	return line.len;
}

static size_t on_body(char *data, size_t size, size_t count, void *ctx)
{
	struct http_easy *easy = ctx;
	struct str piece = {data, size * count};
	easy->on_activity(easy->owner);
	if (easy->silent)
		return 0;
	if (easy->call.on_data != NULL && easy->head.status == 200) {
		easy->refused = easy->call.on_data(easy->call.ctx, piece) < 0;
		return easy->refused ? 0 : piece.len;
	}
	easy->too_long = buf_append_str(&easy->body_in, piece) != 0;
	return easy->too_long ? 0 : piece.len;
}

/* ---- result ---- */

static enum http_outcome outcome_of(const struct http_easy *easy, CURLcode code)
{
	if (easy->too_long)
		return HTTP_E_TOO_LONG;
	if (easy->refused)
		return HTTP_E_REFUSED_DATA;
	switch ((int)code) {
	case CURLE_OK:
		return HTTP_ANSWERED;
	case CURLE_COULDNT_RESOLVE_HOST:
	case CURLE_COULDNT_RESOLVE_PROXY:
		return HTTP_E_RESOLVE;
	case CURLE_COULDNT_CONNECT:
		return HTTP_E_CONNECT;
	case CURLE_SSL_CONNECT_ERROR:
	case CURLE_PEER_FAILED_VERIFICATION:
	case CURLE_SSL_CERTPROBLEM:
	case CURLE_SSL_CIPHER:
	case CURLE_SSL_CACERT_BADFILE:
	case CURLE_SSL_ISSUER_ERROR:
		return HTTP_E_TLS;
	case CURLE_OPERATION_TIMEDOUT:
		return HTTP_E_TIMEOUT;
	case CURLE_PARTIAL_FILE:
	case CURLE_RECV_ERROR:
	case CURLE_SEND_ERROR:
	case CURLE_GOT_NOTHING:
		return HTTP_E_CUT;
	default:
		return HTTP_E_OTHER;
	}
}

void http_easy_complete(struct http_easy *easy, CURLcode code, bool idle_ended)
{
	struct http_result result = {
		.outcome = outcome_of(easy, code),
		.head = easy->head,
		.body = buf_str(&easy->body_in),
		.error = "",
	};
	if (easy->silent)
		return;
	if (result.outcome != HTTP_ANSWERED) {
		result.error = easy->error[0] != '\0' ? easy->error : curl_easy_strerror(code);
		if (idle_ended)
			result.error = "nothing arrived for too long";
	}
	easy->call.on_done(easy->call.ctx, &result);
}

/* ---- setting up ---- */

/* Finds a dead peer; a proxy that keeps the connection alive without it is the caller's to find. */
static int on_socket_made(void *ctx, curl_socket_t fd, curlsocktype purpose)
{
	unsigned timeout_ms = USER_TIMEOUT_MS;
	(void)ctx;
	if (purpose == CURLSOCKTYPE_IPCXN)
		(void)setsockopt(
			fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &timeout_ms, sizeof(timeout_ms));
	return CURL_SOCKOPT_OK;
}

static void add_header(struct curl_slist **headers, const char *line)
{
	struct curl_slist *longer = curl_slist_append(*headers, line);
	must(longer != NULL);
	*headers = longer;
}

void http_easy_free_headers(struct curl_slist *headers)
{
	for (struct curl_slist *item = headers; item != NULL; item = item->next)
		explicit_bzero(item->data, strlen(item->data));
	curl_slist_free_all(headers);
}

/* SNI and verification take the URL's host, so the URL gets the server's name; the connection still goes to the real host, and so does
 * the Host header. */
static struct curl_slist *rename_server(
	CURL *handle, const char *server_name, const char *url, struct curl_slist **headers)
{
	struct curl_slist *connect_to = NULL;
	CURLU *parts = curl_url();
	char *host = NULL;
	char *port = NULL;
	char *renamed = NULL;
	if (curl_url_set(parts, CURLUPART_URL, url, 0) == CURLUE_OK &&
		curl_url_get(parts, CURLUPART_HOST, &host, 0) == CURLUE_OK &&
		curl_url_get(parts, CURLUPART_PORT, &port, CURLU_DEFAULT_PORT) == CURLUE_OK &&
		curl_url_set(parts, CURLUPART_HOST, server_name, 0) == CURLUE_OK &&
		curl_url_get(parts, CURLUPART_URL, &renamed, 0) == CURLUE_OK) {
		char *line = xasprintf("Host: %s:%s", host, port);
		char *where = xasprintf("%s:%s:%s:%s", server_name, port, host, port);
		add_header(headers, line);
		add_header(&connect_to, where);
		curl_easy_setopt(handle, CURLOPT_URL, renamed);
		curl_easy_setopt(handle, CURLOPT_CONNECT_TO, connect_to);
		free(line);
		free(where);
	}
	curl_free(host);
	curl_free(port);
	curl_free(renamed);
	curl_url_cleanup(parts);
	return connect_to;
}

static void set_blob(CURL *handle, CURLoption option, const char *data, size_t len)
{
	struct curl_blob blob = {
		.data = (void *)(uintptr_t)data, .len = len, .flags = CURL_BLOB_NOCOPY};
	curl_easy_setopt(handle, option, &blob);
}

static void set_tls(CURL *handle, const struct http_peer *peer)
{
	if (peer->insecure) {
		curl_easy_setopt(handle, CURLOPT_SSL_VERIFYPEER, 0L);
		curl_easy_setopt(handle, CURLOPT_SSL_VERIFYHOST, 0L);
	}
	if (peer->ca_data != NULL)
		set_blob(handle, CURLOPT_CAINFO_BLOB, peer->ca_data, strlen(peer->ca_data));
	else if (peer->ca_file != NULL)
		curl_easy_setopt(handle, CURLOPT_CAINFO, peer->ca_file);
	if (peer->cert_data != NULL)
		set_blob(handle, CURLOPT_SSLCERT_BLOB, peer->cert_data, strlen(peer->cert_data));
	else if (peer->cert_file != NULL)
		curl_easy_setopt(handle, CURLOPT_SSLCERT, peer->cert_file);
	if (secret_is_set(&peer->key_data))
		set_blob(handle, CURLOPT_SSLKEY_BLOB, peer->key_data.text, peer->key_data.len);
	else if (peer->key_file != NULL)
		curl_easy_setopt(handle, CURLOPT_SSLKEY, peer->key_file);
}

struct curl_slist *http_easy_set_peer(
	CURL *handle, const struct http_peer *peer, const char *url, struct curl_slist **headers)
{
	curl_easy_setopt(handle, CURLOPT_URL, url);
	curl_easy_setopt(handle, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(handle, CURLOPT_TCP_KEEPALIVE, 1L);
	curl_easy_setopt(handle, CURLOPT_TCP_KEEPIDLE, (long)KEEPALIVE_IDLE_S);
	curl_easy_setopt(handle, CURLOPT_TCP_KEEPINTVL, (long)KEEPALIVE_INTERVAL_S);
	curl_easy_setopt(handle, CURLOPT_SOCKOPTFUNCTION, on_socket_made);
	if (peer == NULL)
		return NULL;
	set_tls(handle, peer);
	if (peer->proxy_url != NULL)
		curl_easy_setopt(handle, CURLOPT_PROXY, peer->proxy_url);
	if (peer->server_name == NULL)
		return NULL;
	return rename_server(handle, peer->server_name, url, headers);
}

static void set_headers(struct http_easy *easy, const struct http_call *call)
{
	for (size_t i = 0; call->headers != NULL && call->headers[i] != NULL; i++)
		add_header(&easy->headers, call->headers[i]);
	if (call->bearer != NULL && secret_is_set(call->bearer)) {
		char *line = xasprintf("Authorization: Bearer %s", call->bearer->text);
		add_header(&easy->headers, line);
		explicit_bzero(line, strlen(line));
		free(line);
	}
	/* No "Expect: 100-continue", which costs a round trip or a second. */
	add_header(&easy->headers, "Expect:");
}

static void set_request(struct http_easy *easy, const struct http_call *call)
{
	CURL *handle = easy->handle;
	bool is_get = strcmp(call->method, "GET") == 0;
	if (call->body.p != NULL) {
		must(buf_append_str(&easy->body_out, call->body) == 0);
		curl_easy_setopt(handle, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)call->body.len);
		curl_easy_setopt(handle, CURLOPT_POSTFIELDS,
			call->body.len != 0 ? (const char *)buf_data(&easy->body_out) : "");
	}
	if (!is_get || call->body.p != NULL)
		curl_easy_setopt(handle, CURLOPT_CUSTOMREQUEST, call->method);
	if (call->username != NULL) {
		curl_easy_setopt(handle, CURLOPT_HTTPAUTH, CURLAUTH_BASIC);
		curl_easy_setopt(handle, CURLOPT_USERNAME, call->username);
		curl_easy_setopt(handle, CURLOPT_PASSWORD,
			call->password != NULL && secret_is_set(call->password)
				? call->password->text
				: "");
	}
	if (call->accept_gzip)
		curl_easy_setopt(handle, CURLOPT_ACCEPT_ENCODING, "gzip");
	curl_easy_setopt(handle, CURLOPT_CONNECTTIMEOUT_MS, (long)(call->connect_timeout_s * 1e3));
	curl_easy_setopt(handle, CURLOPT_TIMEOUT_MS, (long)(call->timeout_s * 1e3));
}

static void set_common(struct http_easy *easy, const char *user_agent)
{
	CURL *handle = easy->handle;
	curl_easy_setopt(handle, CURLOPT_PROTOCOLS_STR, "http,https");
	curl_easy_setopt(handle, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
	curl_easy_setopt(handle, CURLOPT_FOLLOWLOCATION, 0L);
	curl_easy_setopt(handle, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
	curl_easy_setopt(handle, CURLOPT_NETRC, (long)CURL_NETRC_IGNORED);
	curl_easy_setopt(handle, CURLOPT_USERAGENT, user_agent);
	curl_easy_setopt(handle, CURLOPT_ERRORBUFFER, easy->error);
	curl_easy_setopt(handle, CURLOPT_HEADERFUNCTION, on_header);
	curl_easy_setopt(handle, CURLOPT_HEADERDATA, easy);
	curl_easy_setopt(handle, CURLOPT_WRITEFUNCTION, on_body);
	curl_easy_setopt(handle, CURLOPT_WRITEDATA, easy);
	curl_easy_setopt(handle, CURLOPT_HTTPHEADER, easy->headers);
}

struct http_easy *http_easy_new(const struct http_call *call, const char *user_agent,
	double max_age_s, void (*on_activity)(void *owner), void *owner)
{
	struct http_easy *easy = xcalloc(1, sizeof(*easy));
	easy->call = *call;
	easy->on_activity = on_activity;
	easy->owner = owner;
	easy->head.retry_after_s = -1;
	buf_init(&easy->body_out, call->body.len);
	buf_init(&easy->body_in, call->body_max);
	easy->handle = curl_easy_init();
	must(easy->handle != NULL);
	set_headers(easy, call);
	easy->connect_to = http_easy_set_peer(easy->handle, call->peer, call->url, &easy->headers);
	set_request(easy, call);
	set_common(easy, user_agent);
	/* Whole seconds, and at least one: zero would mean no limit. */
	if (max_age_s > 0)
		curl_easy_setopt(easy->handle, CURLOPT_MAXLIFETIME_CONN,
			max_age_s < 1 ? 1L : (long)max_age_s);
	return easy;
}

void http_easy_free(struct http_easy *easy)
{
	curl_easy_cleanup(easy->handle);
	http_easy_free_headers(easy->headers);
	curl_slist_free_all(easy->connect_to);
	if (easy->call.body_is_secret) {
		buf_wipe_fini(&easy->body_out);
		buf_wipe_fini(&easy->body_in);
	}
	buf_fini(&easy->body_out);
	buf_fini(&easy->body_in);
	free(easy);
}

CURL *http_easy_handle(struct http_easy *easy)
{
	return easy->handle;
}

void http_easy_silence(struct http_easy *easy)
{
	easy->silent = true;
}

void http_easy_pause(struct http_easy *easy, bool pause)
{
	curl_easy_pause(easy->handle, pause ? CURLPAUSE_RECV : CURLPAUSE_CONT);
}

void http_peer_fini(struct http_peer *peer)
{
	free(peer->ca_file);
	free(peer->ca_data);
	free(peer->cert_file);
	free(peer->cert_data);
	free(peer->key_file);
	secret_fini(&peer->key_data);
	free(peer->server_name);
	free(peer->proxy_url);
	*peer = (struct http_peer){0};
}

char *http_escape(struct str text)
{
	char *curls = curl_easy_escape(NULL, text.p != NULL ? text.p : "", (int)text.len);
	must(curls != NULL);
	/* A length of zero makes libcurl measure the text itself. */
	char *escaped = xstrdup(text.len != 0 ? curls : "");
	curl_free(curls);
	return escaped;
}
