// SPDX-License-Identifier: Apache-2.0
#include "sluicectl/ask.h"

#include "common/str.h"
#include "common/xalloc.h"

#include <curl/curl.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static const char ending[] = ".window";

struct transfer {
	CURL *curl;
	struct buf *out;
	bool (*on_piece)(void *ctx, struct str piece);
	void *ctx;
	bool is_ended; /* by on_piece() */
};

static size_t on_bytes(char *bytes, size_t one, size_t len, void *ctx)
{
	struct transfer *transfer = ctx;
	long status = 0;
	(void)one;
	curl_easy_getinfo(transfer->curl, CURLINFO_RESPONSE_CODE, &status);
	if (transfer->on_piece != NULL && status == 200) {
		transfer->is_ended = !transfer->on_piece(transfer->ctx, (struct str){bytes, len});
		return transfer->is_ended ? 0 : len;
	}
	return buf_append(transfer->out, bytes, len) == 0 ? len : 0;
}

static char *first_line(const struct buf *body)
{
	struct str text = buf_str(body);
	const char *end = str_find(text, '\n');
	return str_dup_utf8((struct str){text.p, end != NULL ? (size_t)(end - text.p) : text.len});
}

static char *why_away(const char *path, CURLcode code)
{
	if (access(path, F_OK) != 0)
		return xasprintf("%s: nobody listens there; is it running, and is --runtime-dir "
				 "right?",
			path);
	if (access(path, R_OK | W_OK) != 0)
		return xasprintf("%s: %s; run this as root, or be named by --window-allow-uid",
			path, strerrordesc_np(errno));
	return xasprintf("%s: %s", path,
		code == CURLE_OPERATION_TIMEDOUT ? "no answer in time"
						 : "nobody answers there; it may be down");
}

static enum ask_outcome judge(
	struct transfer *transfer, const char *path, CURLcode code, char **ret_problem)
{
	long status = 0;
	if (code != CURLE_OK && !transfer->is_ended) {
		*ret_problem = why_away(path, code);
		return ASK_AWAY;
	}
	curl_easy_getinfo(transfer->curl, CURLINFO_RESPONSE_CODE, &status);
	if (status == 200)
		return ASK_GOOD;
	*ret_problem = first_line(transfer->out);
	return status == 404 ? ASK_NOT_FOUND : status == 503 ? ASK_UNREADY : ASK_BAD;
}

static enum ask_outcome run(const struct ask *question, const char *program, const char *target,
	struct transfer *transfer, bool is_endless, char **ret_problem)
{
	char *path = xasprintf("%s/%s%s", question->runtime_dir, program, ending);
	char *url = xasprintf("http://sluice%s", target);
	CURL *curl = curl_easy_init();
	if (curl == NULL)
		abort();
	transfer->curl = curl;
	*ret_problem = NULL;
	curl_easy_setopt(curl, CURLOPT_UNIX_SOCKET_PATH, path);
	curl_easy_setopt(curl, CURLOPT_URL, url);
	curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http");
	curl_easy_setopt(curl, CURLOPT_PROXY, "");
	curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, on_bytes);
	curl_easy_setopt(curl, CURLOPT_WRITEDATA, transfer);
	curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS, (long)(question->timeout_s * 1000));
	if (!is_endless)
		curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, (long)(question->timeout_s * 1000));
	CURLcode code = curl_easy_perform(curl);
	enum ask_outcome outcome = judge(transfer, path, code, ret_problem);
	curl_easy_cleanup(curl);
	free(path);
	free(url);
	return outcome;
}

enum ask_outcome ask(const struct ask *question, const char *program, const char *target,
	struct buf *out, char **ret_problem)
{
	struct transfer transfer = {.out = out};
	return run(question, program, target, &transfer, false, ret_problem);
}

enum ask_outcome ask_follow(const struct ask *question, const char *program, const char *target,
	bool (*on_piece)(void *ctx, struct str piece), void *ctx, char **ret_problem)
{
	struct buf refusal;
	struct transfer transfer = {.out = &refusal, .on_piece = on_piece, .ctx = ctx};
	buf_init(&refusal, 64 * 1024);
	enum ask_outcome outcome = run(question, program, target, &transfer, true, ret_problem);
	buf_fini(&refusal);
	return outcome;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(a, b);
}

size_t ask_programs(const struct ask *question, char (*ret_names)[ASK_NAME_LEN_MAX], size_t max)
{
	DIR *folder = opendir(question->runtime_dir);
	const struct dirent *entry;
	size_t count = 0;
	while (folder != NULL && count < max && (entry = readdir(folder)) != NULL) {
		struct str name = str_from(entry->d_name);
		size_t len = name.len - (sizeof(ending) - 1);
		if (!str_ends_with(name, str_from(ending)) || len == 0 || len >= ASK_NAME_LEN_MAX)
			continue;
		memcpy(ret_names[count], name.p, len);
		ret_names[count++][len] = '\0';
	}
	if (folder != NULL)
		closedir(folder);
	qsort(ret_names, count, ASK_NAME_LEN_MAX, by_name);
	return count;
}

char *ask_escape(const char *text)
{
	char *escaped = curl_easy_escape(NULL, text, 0);
	char *copy = xstrdup(escaped != NULL ? escaped : "");
	curl_free(escaped);
	return copy;
}
