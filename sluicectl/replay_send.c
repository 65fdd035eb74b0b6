// SPDX-License-Identifier: Apache-2.0
#include "sluicectl/replay_send.h"

#include "common/ascii.h"
#include "common/hash.h"
#include "common/must.h"
#include "common/version.h"
#include "common/xalloc.h"

#include <curl/curl.h>
#include <stdint.h>
#include <stdlib.h>

enum { HEADER_LEN_MAX = 16 * 1024 };

struct replay_sender {
	const struct replay_target_options *options;
	CURL *easy;
	bool is_tls;
	char *address; /* host and port to connect to */
};

/* What arrives of one answer. */
struct intake {
	struct replay_answer *answer;
	struct arena *arena;
	struct hash hash;
	bool is_cut; /* the body is longer than is read */
};

static CURLcode set_text(CURL *easy, CURLoption option, const char *text)
{
	return curl_easy_setopt(easy, option, text);
}

static char *part_of(CURLU *url, CURLUPart part)
{
	char *text = NULL;
	return curl_url_get(url, part, &text, part == CURLUPART_PORT ? CURLU_DEFAULT_PORT : 0) ==
			       CURLUE_OK
		       ? text
		       : NULL;
}

/* Scheme, host and port. A path would be part of no request, so it is a mistake. */
static char *read_url(struct replay_sender *sender, const char *text)
{
	CURLU *url = curl_url();
	char *problem = NULL;
	must(url != NULL);
	bool is_good = curl_url_set(url, CURLUPART_URL, text, 0) == CURLUE_OK;
	char *scheme = is_good ? part_of(url, CURLUPART_SCHEME) : NULL;
	char *host = is_good ? part_of(url, CURLUPART_HOST) : NULL;
	char *port = is_good ? part_of(url, CURLUPART_PORT) : NULL;
	char *path = is_good ? part_of(url, CURLUPART_PATH) : NULL;
	char *user = is_good ? part_of(url, CURLUPART_USER) : NULL;
	sender->is_tls = scheme != NULL && strcmp(scheme, "https") == 0;
	is_good = scheme != NULL && host != NULL && port != NULL && user == NULL &&
		  (sender->is_tls || strcmp(scheme, "http") == 0) &&
		  (path == NULL || strcmp(path, "/") == 0);
	if (is_good)
		sender->address = xasprintf("%s:%s", host, port);
	else
		problem = xasprintf(
			"%s is no URL such as http://192.0.2.1:8080 or https://ingress.example",
			text);
	curl_free(scheme);
	curl_free(host);
	curl_free(port);
	curl_free(path);
	curl_free(user);
	curl_url_cleanup(url);
	return problem;
}

struct replay_sender *replay_sender_new(
	const char *url, const struct replay_target_options *options, char **ret_problem)
{
	struct replay_sender *sender = xcalloc(1, sizeof(*sender));
	sender->options = options;
	*ret_problem = read_url(sender, url);
	sender->easy = curl_easy_init();
	must(sender->easy != NULL);
	if (*ret_problem == NULL)
		return sender;
	replay_sender_free(sender);
	return NULL;
}

void replay_sender_free(struct replay_sender *sender)
{
	if (sender == NULL)
		return;
	curl_easy_cleanup(sender->easy);
	free(sender->address);
	free(sender);
}

/* ---- the answer ---- */

static size_t on_header(char *data, size_t size, size_t count, void *ctx)
{
	struct intake *intake = ctx;
	struct replay_answer *answer = intake->answer;
	struct str line = str_trim((struct str){data, size * count});
	const char *colon = str_find(line, ':');
	/* Interim answers, such as 103, are followed by the real one. */
	if (str_starts_with(line, STR("HTTP/")))
		answer->header_count = 0;
	if (colon == NULL || str_starts_with(line, STR("HTTP/")) ||
		answer->header_count >= REPLAY_HEADERS_MAX || line.len > HEADER_LEN_MAX)
		return size * count;
	struct str name = {line.p, (size_t)(colon - line.p)};
	answer->headers[answer->header_count++] = (struct replay_header){
		.name = ascii_lower(intake->arena, name),
		.value = arena_str(intake->arena, str_trim(str_skip(line, name.len + 1))),
	};
	return size * count;
}

static size_t on_body(char *data, size_t size, size_t count, void *ctx)
{
	struct intake *intake = ctx;
	struct replay_answer *answer = intake->answer;
	size_t len = size * count;
	size_t room = REPLAY_BODY_MAX - answer->body_len;
	size_t taken = len < room ? len : room;
	/* Its boundaries must not count, so bytes are added one by one: the digest is of a body, not of pieces. */
	for (size_t i = 0; i < taken; i++)
		hash_add_int(&intake->hash, (unsigned char)data[i]);
	answer->body_len += taken;
	intake->is_cut |= taken < len;
	return taken == len ? len : 0;
}

/* ---- the request ---- */

static struct curl_slist *add_line(struct curl_slist *list, const char *line)
{
	struct curl_slist *longer = curl_slist_append(list, line);
	must(longer != NULL);
	return longer;
}

static struct curl_slist *headers_of(
	const struct replay_sender *sender, const struct replay_request *request)
{
	struct curl_slist *list = add_line(NULL, "Expect:");
	if (request->origin.len != 0) {
		char *line = xasprintf("Origin: %.*s", STR_FMT(request->origin));
		list = add_line(list, line);
		free(line);
		if (str_eq_c(request->method, "OPTIONS"))
			list = add_line(list, "Access-Control-Request-Method: GET");
	}
	for (size_t i = 0; i < sender->options->headers->count; i++)
		list = add_line(list, sender->options->headers->items[i]);
	return list;
}

static CURLcode set_method(CURL *easy, const char *method)
{
	if (strcmp(method, "HEAD") == 0)
		return curl_easy_setopt(easy, CURLOPT_NOBODY, 1L);
	return strcmp(method, "GET") != 0 ? set_text(easy, CURLOPT_CUSTOMREQUEST, method)
					  : CURLE_OK;
}

static CURLcode set_up(struct replay_sender *sender, const struct replay_request *request,
	const char *url, struct curl_slist *headers, struct curl_slist *connect_to)
{
	CURL *easy = sender->easy;
	const long verifies = sender->options->verifies ? 1L : 0L;
	const struct {
		CURLoption option;
		long value;
	} numbers[] = {
		{CURLOPT_NOSIGNAL, 1L},
		{CURLOPT_PATH_AS_IS, 1L},
		{CURLOPT_FOLLOWLOCATION, 0L},
		{CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1},
		{CURLOPT_SSL_VERIFYPEER, verifies},
		{CURLOPT_SSL_VERIFYHOST, verifies * 2},
		{CURLOPT_TIMEOUT_MS, (long)(sender->options->timeout_s * 1000)},
	};
	char *method = str_dup(request->method);
	CURLcode code = set_text(easy, CURLOPT_URL, url);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]) && code == CURLE_OK; i++)
		code = curl_easy_setopt(easy, numbers[i].option, numbers[i].value);
	if (code == CURLE_OK)
		code = set_method(easy, method);
	if (code == CURLE_OK)
		code = set_text(easy, CURLOPT_PROTOCOLS_STR, "http,https");
	if (code == CURLE_OK)
		code = set_text(easy, CURLOPT_PROXY, "");
	if (code == CURLE_OK)
		code = set_text(easy, CURLOPT_USERAGENT, "sluicectl/" SLUICE_VERSION " (compare)");
	if (code == CURLE_OK)
		code = curl_easy_setopt(easy, CURLOPT_HTTPHEADER, headers);
	if (code == CURLE_OK)
		code = curl_easy_setopt(easy, CURLOPT_CONNECT_TO, connect_to);
	free(method);
	return code;
}

static int on_progress(
	void *ctx, curl_off_t to_come, curl_off_t come, curl_off_t to_go, curl_off_t gone)
{
	const struct replay_target_options *options = ctx;
	options->on_wait(options->ctx);
	return 0;
}

static CURLcode watch_progress(struct replay_sender *sender)
{
	void *options = (void *)(uintptr_t)sender->options;
	CURLcode code = curl_easy_setopt(sender->easy, CURLOPT_NOPROGRESS, 0L);
	if (code == CURLE_OK)
		code = curl_easy_setopt(sender->easy, CURLOPT_XFERINFOFUNCTION, on_progress);
	return code == CURLE_OK ? curl_easy_setopt(sender->easy, CURLOPT_XFERINFODATA, options)
				: code;
}

static CURLcode perform(
	struct replay_sender *sender, const struct replay_request *request, struct intake *intake)
{
	CURL *easy = sender->easy;
	/* Whatever the host of the URL is, the controller's address is asked, and TLS names the host. */
	char *place = xasprintf("::%s", sender->address);
	char *url = xasprintf("%s://%.*s%.*s", sender->is_tls ? "https" : "http",
		STR_FMT(request->host), STR_FMT(request->target));
	struct curl_slist *connect_to = add_line(NULL, place);
	struct curl_slist *headers = headers_of(sender, request);
	curl_easy_reset(easy);
	CURLcode code = set_up(sender, request, url, headers, connect_to);
	if (code == CURLE_OK)
		code = curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, on_header);
	if (code == CURLE_OK)
		code = curl_easy_setopt(easy, CURLOPT_HEADERDATA, intake);
	if (code == CURLE_OK)
		code = curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_body);
	if (code == CURLE_OK)
		code = curl_easy_setopt(easy, CURLOPT_WRITEDATA, intake);
	if (code == CURLE_OK)
		code = watch_progress(sender);
	if (code == CURLE_OK)
		code = curl_easy_perform(easy);
	curl_slist_free_all(headers);
	curl_slist_free_all(connect_to);
	free(url);
	free(place);
	return code;
}

struct replay_answer replay_send(
	struct replay_sender *sender, const struct replay_request *request, struct arena *arena)
{
	struct replay_answer answer = {.failure = STR("")};
	struct intake intake = {.answer = &answer, .arena = arena};
	long status = 0;
	answer.headers = arena_calloc(arena, REPLAY_HEADERS_MAX, sizeof(*answer.headers));
	hash_begin(&intake.hash);
	CURLcode code = perform(sender, request, &intake);
	(void)curl_easy_getinfo(sender->easy, CURLINFO_RESPONSE_CODE, &status);
	answer.body_hash = hash_end(&intake.hash);
	answer.status = (unsigned)status;
	if (code != CURLE_OK && !intake.is_cut)
		answer.failure = arena_str(arena, str_from(curl_easy_strerror(code)));
	return answer;
}
