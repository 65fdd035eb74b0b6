// SPDX-License-Identifier: Apache-2.0
#include "sluicectl/ask.h"

#include "common/str.h"
#include "common/xalloc.h"
#include "proto/frame.h"

#include <curl/curl.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static const char ending[] = ".admin";

/* What curl reads at a time. */
static const long READ_LEN = 256L * 1024;

struct transfer {
	const struct ask *question;
	const char *program;
	char *path;
	CURL *curl;
	struct buf *out; /* the whole response; with frames: an incomplete one */
	bool (*on_frame)(void *ctx, struct str payload);
	void *ctx;
	bool is_begun; /* part of a response has arrived */
	bool is_ended; /* by on_frame() */
	bool is_bad;   /* the response is not a valid frame */
};

static bool take_frames(struct transfer *t)
{
	struct str payload;
	enum frame_outcome outcome = FRAME_PARTIAL;
	while (!t->is_ended && (outcome = frame_next(t->out, &payload)) == FRAME_READY) {
		t->is_ended = !t->on_frame(t->ctx, payload);
		buf_consume(t->out, frame_len_of(payload));
	}
	t->is_bad = !t->is_ended && outcome != FRAME_PARTIAL;
	return !t->is_ended && !t->is_bad;
}

static size_t on_bytes(char *bytes, size_t one, size_t len, void *ctx)
{
	struct transfer *t = ctx;
	long status = 0;
	t->is_begun = true;
	curl_easy_getinfo(t->curl, CURLINFO_RESPONSE_CODE, &status);
	if (buf_append(t->out, bytes, len) != 0)
		return 0;
	return t->on_frame == NULL || status != 200 || take_frames(t) ? len : 0;
}

static char *first_line(const struct buf *body)
{
	return str_dup_utf8(str_before(buf_str(body), '\n'));
}

/* ---- why there is no response, and what to do ---- */

static char *why_refused(const struct transfer *t)
{
	return xasprintf("%s: user %u may not look in; run this as root or as the user of "
			 "sluice-%s, or start that with --admin-allow-uid %u",
		t->path, (unsigned)getuid(), t->program, (unsigned)getuid());
}

/* The connection was closed before the request was sent. Root is never refused. */
static char *why_rejected(const struct transfer *t)
{
	if (geteuid() != 0)
		return why_refused(t);
	return xasprintf("%s: sluice-%s turned us away: too many look in, or it is ending; ask "
			 "again",
		t->path, t->program);
}

static char *why_unconnected(const struct transfer *t)
{
	long err = 0;
	curl_easy_getinfo(t->curl, CURLINFO_OS_ERRNO, &err);
	if (err == EACCES || err == EPERM)
		return why_refused(t);
	/* It accepted the connection and closed it at once. */
	if (err == 0)
		return why_rejected(t);
	if (err == ENOENT)
		return xasprintf("%s: there is no such socket; start sluice-%s, or name the folder "
				 "of its --runtime-dir or --admin-dir by --runtime-dir",
			t->path, t->program);
	if (err == EAGAIN)
		return xasprintf("%s: sluice-%s takes no more connections: it hangs, or too many "
				 "look in; look at its log",
			t->path, t->program);
	return xasprintf("%s: nobody listens there any more: sluice-%s has ended; start it, and "
			 "look in its log why",
		t->path, t->program);
}

static char *why_unavailable(const struct transfer *t, CURLcode code)
{
	if (code == CURLE_COULDNT_CONNECT)
		return why_unconnected(t);
	if (code == CURLE_SEND_ERROR)
		return why_rejected(t);
	if (code == CURLE_OPERATION_TIMEDOUT)
		return xasprintf("%s: sluice-%s %s for %g s: it hangs, or is very busy; look at "
				 "its log, ask again with a longer --timeout, or restart it",
			t->path, t->program, t->is_begun ? "was answering" : "has not answered",
			t->question->timeout_s);
	if (t->is_bad || code == CURLE_UNSUPPORTED_PROTOCOL || code == CURLE_WEIRD_SERVER_REPLY)
		return xasprintf("%s: the answer cannot be read; are sluicectl and sluice-%s of "
				 "one version?",
			t->path, t->program);
	return xasprintf(
		"%s: sluice-%s ended before the answer did; ask again", t->path, t->program);
}

static bool is_ended(const struct transfer *t, CURLcode code)
{
	long err = 0;
	curl_easy_getinfo(t->curl, CURLINFO_OS_ERRNO, &err);
	return code == CURLE_COULDNT_CONNECT && (err == ENOENT || err == ECONNREFUSED);
}

static enum ask_outcome judge(const struct transfer *t, CURLcode code, char **ret_problem)
{
	long status = 0;
	if (code != CURLE_OK && !t->is_ended) {
		*ret_problem = why_unavailable(t, code);
		return is_ended(t, code) ? ASK_ENDED : ASK_AWAY;
	}
	curl_easy_getinfo(t->curl, CURLINFO_RESPONSE_CODE, &status);
	if (status == 200)
		return ASK_GOOD;
	if (status == 403) {
		*ret_problem = why_refused(t);
		return ASK_AWAY;
	}
	if (buf_len(t->out) == 0) {
		*ret_problem = why_rejected(t);
		return ASK_AWAY;
	}
	*ret_problem = first_line(t->out);
	return status == 404 ? ASK_NOT_FOUND : status == 503 ? ASK_UNREADY : ASK_BAD;
}

static enum ask_outcome run(
	struct transfer *transfer, const char *target, bool is_endless, char **ret_problem)
{
	const struct ask *question = transfer->question;
	char *url = xasprintf("http://sluice%s", target);
	CURL *curl = curl_easy_init();
	if (curl == NULL)
		abort();
	transfer->path = xasprintf("%s/%s%s", question->runtime_dir, transfer->program, ending);
	transfer->curl = curl;
	*ret_problem = NULL;
	curl_easy_setopt(curl, CURLOPT_UNIX_SOCKET_PATH, transfer->path);
	curl_easy_setopt(curl, CURLOPT_URL, url);
	curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http");
	curl_easy_setopt(curl, CURLOPT_PROXY, "");
	curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(curl, CURLOPT_BUFFERSIZE, READ_LEN);
	curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, on_bytes);
	curl_easy_setopt(curl, CURLOPT_WRITEDATA, transfer);
	curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS, (long)(question->timeout_s * 1000));
	if (!is_endless)
		curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, (long)(question->timeout_s * 1000));
	CURLcode code = curl_easy_perform(curl);
	enum ask_outcome outcome = judge(transfer, code, ret_problem);
	curl_easy_cleanup(curl);
	free(transfer->path);
	free(url);
	return outcome;
}

enum ask_outcome ask(const struct ask *question, const char *program, const char *target,
	struct buf *out, char **ret_problem)
{
	struct transfer transfer = {.question = question, .program = program, .out = out};
	return run(&transfer, target, false, ret_problem);
}

enum ask_outcome ask_frames(const struct ask *question, const char *program, const char *target,
	bool is_endless, bool (*on_frame)(void *ctx, struct str payload), void *ctx,
	char **ret_problem)
{
	struct buf in;
	struct transfer transfer = {
		.question = question,
		.program = program,
		.out = &in,
		.on_frame = on_frame,
		.ctx = ctx,
	};
	buf_init(&in, FRAME_HEAD_LEN + FRAME_LEN_MAX + (size_t)READ_LEN);
	enum ask_outcome outcome = run(&transfer, target, is_endless, ret_problem);
	buf_fini(&in);
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
