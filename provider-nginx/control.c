// SPDX-License-Identifier: Apache-2.0
#include "provider-nginx/control.h"

#include "common/http.h"
#include "common/xalloc.h"

#include <stdio.h>

enum { ANSWER_LEN_MAX = 4096 };
static const double timeout_s = 30;

struct control {
	struct http *http;
	struct http_peer peer;
	struct http_request *request;
	control_done *done;
	void *ctx;
};

/* The value of `name=...` in the line; absent if there is none. */
static struct str find_word(struct str line, const char *name)
{
	size_t name_len = strlen(name);
	while (line.len != 0) {
		const char *end = str_find(line, ' ');
		size_t len = end != NULL ? (size_t)(end - line.p) : line.len;
		if (len > name_len && memcmp(line.p, name, name_len) == 0 &&
			line.p[name_len] == '=')
			return (struct str){line.p + name_len + 1, len - name_len - 1};
		line = str_skip(line, len + 1);
	}
	return STR_NONE;
}

static bool read_hex(struct str text, uint64_t *ret_value)
{
	uint64_t value = 0;
	if (text.len == 0 || text.len > 16)
		return false;
	for (size_t i = 0; i < text.len; i++) {
		const char *digits = "0123456789abcdef";
		const char *at = strchr(digits, text.p[i]);
		if (at == NULL || *at == '\0')
			return false;
		value = value << 4 | (uint64_t)(at - digits);
	}
	*ret_value = value;
	return true;
}

bool control_read_answer(struct str line, struct control_answer *ret_answer)
{
	int64_t free = 0;
	int64_t capacity = 0;
	if (line.len != 0 && line.p[line.len - 1] == '\n')
		line.len--;
	if (!str_eq(find_word(line, "version"), STR("1")) ||
		!read_hex(find_word(line, "serial"), &ret_answer->serial) ||
		!read_hex(find_word(line, "generation"), &ret_answer->generation) ||
		!str_to_int(find_word(line, "free"), 0, INT64_MAX, &free) ||
		!str_to_int(find_word(line, "capacity"), 0, INT64_MAX, &capacity))
		return false;
	ret_answer->free = (uint64_t)free;
	ret_answer->capacity = (uint64_t)capacity;
	ret_answer->late = find_word(line, "late");
	return true;
}

static void on_done(void *ctx, const struct http_result *result)
{
	struct control *control = ctx;
	struct control_answer answer = {.problem = ""};
	control->request = NULL;
	if (result->outcome != HTTP_ANSWERED) {
		answer.problem = result->error;
	} else if (control_read_answer(result->body, &answer)) {
		answer.status = result->head.status;
		struct str problem = find_word(result->body, "problem");
		static char words[128];
		snprintf(words, sizeof(words), "%.*s", STR_FMT(problem));
		for (char *c = words; *c != 0; c++)
			*c = *c == '-' || *c == '\n' ? ' ' : *c;
		answer.problem = words;
	} else {
		answer.problem = "the answer cannot be read";
	}
	control->done(control->ctx, &answer);
}

static void start(
	struct control *control, const char *url, struct str body, control_done *done, void *ctx)
{
	struct http_call call = {
		.method = body.p != NULL ? "POST" : "GET",
		.url = url,
		.body = body,
		.body_is_secret = body.p != NULL,
		.peer = &control->peer,
		.body_max = ANSWER_LEN_MAX,
		.connect_timeout_s = timeout_s,
		.timeout_s = timeout_s,
		.on_done = on_done,
		.ctx = control,
	};
	control->done = done;
	control->ctx = ctx;
	control->request = http_start(control->http, &call);
}

void control_ask(struct control *control, control_done *done, void *ctx)
{
	start(control, "http://nginx/v1/state", STR_NONE, done, ctx);
}

void control_send(struct control *control, struct str batch, control_done *done, void *ctx)
{
	start(control, "http://nginx/v1/batch", batch, done, ctx);
}

bool control_is_busy(const struct control *control)
{
	return control->request != NULL;
}

void control_cancel(struct control *control)
{
	if (control->request != NULL)
		http_cancel(control->request);
	control->request = NULL;
}

struct control *control_new(struct ev_loop *loop, const char *socket_path)
{
	struct control *control = xcalloc(1, sizeof(*control));
	control->http = http_new(loop, "sluice-provider-nginx", 1);
	control->peer.unix_socket = xstrdup(socket_path);
	return control;
}

void control_set_path(struct control *control, const char *socket_path)
{
	control_cancel(control);
	http_drop_idle(control->http);
	free(control->peer.unix_socket);
	control->peer.unix_socket = xstrdup(socket_path);
}

void control_free(struct control *control)
{
	if (control == NULL)
		return;
	control_cancel(control);
	http_free(control->http);
	http_peer_fini(&control->peer);
	free(control);
}
