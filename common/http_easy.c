// SPDX-License-Identifier: Apache-2.0
#include "common/http_easy.h"

#include "common/http_peer.h"
#include "common/must.h"
#include "common/xalloc.h"

#include <errno.h>
#include <openssl/evp.h>
#include <strings.h>

enum {
	HEADERS_LEN_MAX =
		256 * 1024, /* of all heads of one request together, including interim responses */
	RETRY_AFTER_MAX_S = 3600, /* longer times are capped */
	STATUS_REFUSED_MIN = 300,
	MASKED_LEN_MIN = 4, /* shorter texts would match anywhere */
};

struct http_easy {
	CURL *handle;
	struct http_call call; /* callbacks and limits; texts are not copied */
	struct curl_slist *headers;
	struct curl_slist *connect_to;
	const char *problem;
	char *body_out;
	size_t body_out_len;
	struct buf body_in;
	struct http_head head;
	size_t headers_len;
	bool silent;
	bool too_long;
	bool refused;
	void (*on_activity)(void *owner);
	void *owner;
	char error[CURL_ERROR_SIZE];
};

/* ---- receiving ---- */

static bool says_json(const char *type)
{
	if (type == NULL)
		return false;
	size_t len = strcspn(type, "; \t");
	return (len == 16 && strncasecmp(type, "application/json", len) == 0) ||
	       (len > 5 && strncasecmp(type + len - 5, "+json", 5) == 0);
}

static double retry_after_of(CURL *handle)
{
	struct curl_header *header = NULL;
	int64_t seconds = 0;
	if (curl_easy_header(handle, "Retry-After", 0, CURLH_HEADER, -1, &header) != CURLHE_OK ||
		!str_to_int(str_from(header->value), 0, INT64_MAX, &seconds))
		return -1;
	return seconds < RETRY_AFTER_MAX_S ? (double)seconds : RETRY_AFTER_MAX_S;
}

static void take_head(struct http_easy *easy)
{
	long status = 0;
	const char *type = NULL;
	curl_easy_getinfo(easy->handle, CURLINFO_RESPONSE_CODE, &status);
	/* A 1xx response is followed by the final one, and its body perhaps by trailers. */
	if (status < 200 || easy->head.status != 0)
		return;
	curl_easy_getinfo(easy->handle, CURLINFO_CONTENT_TYPE, &type);
	easy->head.status = status;
	easy->head.is_json = says_json(type);
	easy->head.retry_after_s = retry_after_of(easy->handle);
	if (easy->call.on_head != NULL)
		easy->call.on_head(easy->call.ctx, &easy->head);
}

static size_t on_header(char *line, size_t size, size_t count, void *ctx)
{
	struct http_easy *easy = ctx;
	size_t len = size * count;
	if (easy->silent)
		return 0;
	easy->on_activity(easy->owner);
	easy->headers_len += len;
	if (easy->headers_len > HEADERS_LEN_MAX) {
		easy->too_long = true;
		return 0;
	}
	if (line[0] == '\r' || line[0] == '\n')
		take_head(easy);
	return easy->silent ? 0 : len;
}

static size_t on_body(char *data, size_t size, size_t count, void *ctx)
{
	struct http_easy *easy = ctx;
	struct str piece = {data, size * count};
	if (easy->silent)
		return CURL_WRITEFUNC_ERROR;
	easy->on_activity(easy->owner);
	if (easy->call.on_data != NULL && easy->head.status == 200)
		easy->refused = easy->call.on_data(easy->call.ctx, piece) < 0;
	else
		easy->too_long = buf_append_str(&easy->body_in, piece) != 0;
	return easy->refused || easy->too_long || easy->silent ? CURL_WRITEFUNC_ERROR : piece.len;
}

static int on_connected(void *ctx, char *remote_ip, char *local_ip, int remote_port, int local_port)
{
	struct http_easy *easy = ctx;
	easy->on_activity(easy->owner);
	return CURL_PREREQFUNC_OK;
}

/* ---- result ---- */

/*
 * connect(2) fails with EAGAIN if as many wait for a Unix socket as its process lets wait. libcurl takes that for a connection that is being
 * made, and then finds none, without an error of the system; where nobody listens there is one.
 */
static bool is_backlog_full(const struct http_easy *easy)
{
	const struct http_peer *peer = easy->call.peer;
	long err = 0;
	return peer != NULL && peer->unix_socket != NULL &&
	       curl_easy_getinfo(easy->handle, CURLINFO_OS_ERRNO, &err) == CURLE_OK &&
	       (err == 0 || err == EAGAIN);
}

static enum http_outcome outcome_of(const struct http_easy *easy, CURLcode code)
{
	if (easy->too_long)
		return HTTP_E_TOO_LONG;
	if (easy->refused)
		return HTTP_E_REFUSED_DATA;
	switch ((int)code) {
	case CURLE_OK:
		/* libcurl accepts a connection that ends within the head. */
		return easy->head.status != 0 ? HTTP_ANSWERED : HTTP_E_CUT;
	case CURLE_COULDNT_RESOLVE_HOST:
	case CURLE_COULDNT_RESOLVE_PROXY:
		return HTTP_E_RESOLVE;
	case CURLE_COULDNT_CONNECT:
		return is_backlog_full(easy) ? HTTP_E_TIMEOUT : HTTP_E_CONNECT;
	case CURLE_PROXY:
		return HTTP_E_CONNECT;
	case CURLE_SSL_CONNECT_ERROR:
	case CURLE_PEER_FAILED_VERIFICATION:
	case CURLE_SSL_CERTPROBLEM:
	case CURLE_SSL_CIPHER:
	case CURLE_SSL_CACERT_BADFILE:
	case CURLE_SSL_ISSUER_ERROR:
	case CURLE_SSL_CLIENTCERT:
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

static const char *error_of(const struct http_easy *easy, CURLcode code, enum http_outcome outcome)
{
	if (outcome == HTTP_ANSWERED)
		return "";
	if (easy->problem != NULL)
		return easy->problem;
	if (code == CURLE_OK || outcome == HTTP_E_TOO_LONG || outcome == HTTP_E_REFUSED_DATA)
		return http_outcome_text(outcome);
	return easy->error[0] != '\0' ? easy->error : curl_easy_strerror(code);
}

/* ---- masking credentials ---- */

static void mask(char *body, size_t body_len, const char *text, size_t len)
{
	char *end = body + body_len;
	char *at = body;
	while (len >= MASKED_LEN_MIN && (at = memmem(at, (size_t)(end - at), text, len)) != NULL) {
		memset(at, '*', len);
		at += len;
	}
}

/* "user:password", as sent. */
static void mask_pair(char *body, size_t body_len, const char *encoded)
{
	size_t room = strlen(encoded) / 4 * 3 + 4;
	char *pair = xcalloc(1, room);
	int len = EVP_DecodeBlock(
		(unsigned char *)pair, (const unsigned char *)encoded, (int)strlen(encoded));
	const char *password = len > 0 ? strchr(pair, ':') : NULL;
	if (password != NULL)
		mask(body, body_len, password + 1, strlen(password + 1));
	explicit_bzero(pair, room);
	free(pair);
}

/* What follows the prefix; NULL: the line begins otherwise. */
static const char *after(const char *line, const char *prefix)
{
	size_t len = strlen(prefix);
	return strncmp(line, prefix, len) == 0 ? line + len : NULL;
}

/* A server, or a proxy before it, may repeat credentials in an error response, which people get to see. */
static void mask_credentials(struct http_easy *easy)
{
	/* The longer ones first: what follows the first prefix that fits is the credential. */
	static const char *const prefixes[] = {"Authorization: Bearer ", "Authorization: Basic ",
		"Authorization: ", "X-Amz-Security-Token: ", "X-aws-ec2-metadata-token: "};
	size_t len = buf_len(&easy->body_in);
	if (len == 0)
		return;
	char *body = (char *)(easy->body_in.data + easy->body_in.start);
	for (const struct curl_slist *item = easy->headers; item != NULL; item = item->next) {
		const char *value = NULL;
		const char *basic = after(item->data, "Authorization: Basic ");
		for (size_t i = 0; value == NULL && i < sizeof(prefixes) / sizeof(prefixes[0]); i++)
			value = after(item->data, prefixes[i]);
		if (value != NULL)
			mask(body, len, value, strlen(value));
		if (basic != NULL)
			mask_pair(body, len, basic);
	}
}

void http_easy_complete(struct http_easy *easy, CURLcode code, const char *reason)
{
	struct http_result result = {
		.outcome = outcome_of(easy, code), .head = easy->head, .source = easy};
	result.error = reason != NULL ? reason : error_of(easy, code, result.outcome);
	if (easy->head.status >= STATUS_REFUSED_MIN)
		mask_credentials(easy);
	/* A partial body is not returned. */
	if (result.outcome == HTTP_ANSWERED) {
		result.body = buf_str(&easy->body_in);
		curl_easy_getinfo(easy->handle, CURLINFO_CONTENT_TYPE, &result.content_type);
	}
	if (!easy->silent)
		easy->call.on_done(easy->call.ctx, &result);
}

const char *http_result_header(const struct http_result *result, const char *name)
{
	struct curl_header *header = NULL;
	if (result->source == NULL || curl_easy_header(result->source->handle, name, 0,
					      CURLH_HEADER, -1, &header) != CURLHE_OK)
		return NULL;
	return header->value;
}

/* ---- setting up ---- */

static bool has_header(const struct curl_slist *headers, const char *name)
{
	size_t len = strlen(name);
	for (const struct curl_slist *item = headers; item != NULL; item = item->next) {
		if (strncasecmp(item->data, name, len) == 0 && item->data[len] == ':')
			return true;
	}
	return false;
}

static bool add_headers(struct http_easy *easy, const struct http_call *call)
{
	bool good = true;
	for (size_t i = 0; good && call->headers != NULL && call->headers[i] != NULL; i++)
		good = http_headers_add(&easy->headers, call->headers[i]);
	if (good && call->bearer != NULL && secret_is_set(call->bearer))
		good = http_headers_add_bearer(&easy->headers, call->bearer);
	else if (good && call->username != NULL && call->aws_sigv4 == NULL)
		good = http_headers_add_basic(&easy->headers, call->username, call->password);
	/* libcurl 7.88 would sign the headers that it is told to leave out. */
	if (call->aws_sigv4 != NULL)
		return good;
	/* No "Expect: 100-continue", which costs a round trip or a second; no default Content-Type. */
	http_headers_add(&easy->headers, "Expect:");
	if (!has_header(easy->headers, "Content-Type"))
		http_headers_add(&easy->headers, "Content-Type:");
	return good;
}

/* POST, PUT and PATCH send a length even without a body. */
static bool wants_body(const struct http_call *call)
{
	return call->body.p != NULL || strcmp(call->method, "POST") == 0 ||
	       strcmp(call->method, "PUT") == 0 || strcmp(call->method, "PATCH") == 0;
}

static void set_request(struct http_easy *easy, const struct http_call *call)
{
	CURL *handle = easy->handle;
	if (strcmp(call->method, "HEAD") == 0)
		curl_easy_setopt(handle, CURLOPT_NOBODY, 1L);
	if (wants_body(call)) {
		easy->body_out = str_dup(call->body);
		easy->body_out_len = call->body.len;
		curl_easy_setopt(handle, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)call->body.len);
		curl_easy_setopt(handle, CURLOPT_POSTFIELDS, easy->body_out);
	}
	curl_easy_setopt(handle, CURLOPT_CUSTOMREQUEST, call->method);
	if (call->accept_gzip)
		curl_easy_setopt(handle, CURLOPT_ACCEPT_ENCODING, "gzip");
	/* libcurl retries only on a reused connection. */
	if (call->only_once)
		curl_easy_setopt(handle, CURLOPT_FRESH_CONNECT, 1L);
	if (call->sends_proxy)
		curl_easy_setopt(handle, CURLOPT_HAPROXYPROTOCOL, 1L);
	curl_easy_setopt(handle, CURLOPT_HTTPHEADER, easy->headers);
}

/* libcurl copies the key, and does not wipe its copy. */
static void set_signature(CURL *handle, const struct http_call *call)
{
	if (call->aws_sigv4 == NULL)
		return;
	must(call->username != NULL && call->password != NULL && secret_is_set(call->password));
	curl_easy_setopt(handle, CURLOPT_AWS_SIGV4, call->aws_sigv4);
	curl_easy_setopt(handle, CURLOPT_USERNAME, call->username);
	curl_easy_setopt(handle, CURLOPT_PASSWORD, call->password->text);
}

static void set_callbacks(struct http_easy *easy)
{
	curl_easy_setopt(easy->handle, CURLOPT_ERRORBUFFER, easy->error);
	curl_easy_setopt(easy->handle, CURLOPT_PREREQFUNCTION, on_connected);
	curl_easy_setopt(easy->handle, CURLOPT_PREREQDATA, easy);
	curl_easy_setopt(easy->handle, CURLOPT_HEADERFUNCTION, on_header);
	curl_easy_setopt(easy->handle, CURLOPT_HEADERDATA, easy);
	curl_easy_setopt(easy->handle, CURLOPT_WRITEFUNCTION, on_body);
	curl_easy_setopt(easy->handle, CURLOPT_WRITEDATA, easy);
}

struct http_easy *http_easy_new(const struct http_call *call, const char *user_agent,
	void (*on_activity)(void *owner), void *owner)
{
	struct http_easy *easy = xcalloc(1, sizeof(*easy));
	easy->call = *call;
	easy->on_activity = on_activity;
	easy->owner = owner;
	easy->head.retry_after_s = -1;
	buf_init(&easy->body_in, call->body_max);
	easy->handle = curl_easy_init();
	must(easy->handle != NULL);
	easy->problem = http_peer_apply(easy->handle, call->peer, call->url,
		call->connect_timeout_s, &easy->headers, &easy->connect_to);
	if (!add_headers(easy, call))
		easy->problem = "a header or the token holds a line break";
	curl_easy_setopt(easy->handle, CURLOPT_USERAGENT, user_agent);
	set_callbacks(easy);
	set_request(easy, call);
	set_signature(easy->handle, call);
	return easy;
}

void http_easy_free(struct http_easy *easy)
{
	curl_easy_cleanup(easy->handle);
	http_headers_free(easy->headers);
	curl_slist_free_all(easy->connect_to);
	if (easy->call.body_is_secret) {
		if (easy->body_out != NULL)
			explicit_bzero(easy->body_out, easy->body_out_len);
		buf_wipe_fini(&easy->body_in);
	}
	free(easy->body_out);
	buf_fini(&easy->body_in);
	free(easy);
}

CURL *http_easy_handle(struct http_easy *easy)
{
	return easy->handle;
}

const char *http_easy_problem(const struct http_easy *easy)
{
	return easy->problem;
}

void http_easy_silence(struct http_easy *easy)
{
	easy->silent = true;
}

const char *http_outcome_text(enum http_outcome outcome)
{
	static const char *const texts[] = {
		[HTTP_ANSWERED] = "answered",
		[HTTP_E_RESOLVE] = "the host name has no address",
		[HTTP_E_CONNECT] = "cannot connect",
		[HTTP_E_TLS] = "TLS failed",
		[HTTP_E_TIMEOUT] = "timed out",
		[HTTP_E_CUT] = "the connection was cut",
		[HTTP_E_TOO_LONG] = "the answer is too long",
		[HTTP_E_REFUSED_DATA] = "the answer was refused",
		[HTTP_E_OTHER] = "failed",
	};
	return texts[outcome];
}

char *http_escape(struct str text)
{
	/* With length zero libcurl calls strlen() itself. */
	char *curls = curl_easy_escape(
		NULL, text.len != 0 ? text.p : "", text.len != 0 ? (int)text.len : 0);
	must(curls != NULL);
	char *escaped = xstrdup(curls);
	curl_free(curls);
	return escaped;
}
