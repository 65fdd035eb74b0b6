// SPDX-License-Identifier: Apache-2.0
#include "provider-nginx/control.h"

#include "common/buf.h"
#include "common/unix_socket.h"
#include "common/xalloc.h"

#include <errno.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

/*
 * The connection is kept from one request to the next. nginx gives it up from time to time, at each reload for one, perhaps at the moment when a
 * request is on its way; so a request that got nothing on a connection that was kept is sent once more on a new one. HTTP/1.0 has answers of
 * known length.
 */
enum { ANSWER_LEN_MAX = 8 * 1024, HEAD_LEN_MAX = 128 };
static const double timeout_s = 30;

struct control {
	struct ev_loop *loop;
	char *path;
	ev_io io; /* of the connection, also while it is idle; fd -1: none */
	ev_timer limit;
	struct buf in;
	char head[HEAD_LEN_MAX]; /* of the request */
	struct str body;
	size_t sent; /* of both */
	bool is_busy;
	bool is_kept;        /* the connection has served another request */
	const char *failure; /* to be told when the timer fires */
	control_done *done;
	void *ctx;
};

/* The value of `name=...` in the line; absent if there is none. */
static struct str find_word(struct str line, const char *name)
{
	size_t name_len = strlen(name);
	while (line.len != 0) {
		struct str word = str_cut(&line, ' ');
		if (word.len > name_len && memcmp(word.p, name, name_len) == 0 &&
			word.p[name_len] == '=')
			return str_skip(word, name_len + 1);
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

int control_read_head(struct str text, long *ret_status, size_t *ret_head_len, size_t *ret_body_len)
{
	static const char end_mark[] = "\r\n\r\n";
	static const struct str length = {"content-length:", 15};
	const char *end = memmem(text.p, text.len, end_mark, 4);
	int64_t status = 0;
	int64_t len = -1;
	if (end == NULL)
		return text.len < ANSWER_LEN_MAX ? -EAGAIN : -EBADMSG;
	*ret_head_len = (size_t)(end - text.p) + 4;
	struct str rest = {text.p, *ret_head_len - 2};
	if (!str_starts_with(rest, STR("HTTP/1.")) || rest.len < 13 || rest.p[8] != ' ' ||
		!str_to_int((struct str){rest.p + 9, 3}, 100, 599, &status))
		return -EBADMSG;
	while (rest.len != 0) {
		size_t line_len = (size_t)(str_find(rest, '\n') - rest.p) + 1;
		struct str line = {rest.p, line_len};
		rest = str_skip(rest, line_len);
		if (line_len < length.len + 2 || strncasecmp(line.p, length.p, length.len) != 0)
			continue;
		line.len -= 2; /* CR LF */
		line = str_skip(line, length.len);
		while (line.len != 0 && line.p[0] == ' ')
			line = str_skip(line, 1);
		if (len >= 0 || !str_to_int(line, 0, ANSWER_LEN_MAX, &len))
			return -EBADMSG;
	}
	if (len < 0)
		return -EBADMSG;
	*ret_status = (long)status;
	*ret_body_len = (size_t)len;
	return 0;
}

/* ---- the end of a request ---- */

static void hang_up(struct control *control)
{
	ev_io_stop(control->loop, &control->io);
	if (control->io.fd >= 0)
		close(control->io.fd);
	ev_io_set(&control->io, -1, EV_READ);
	buf_clear(&control->in);
}

static void finish(struct control *control, const struct control_answer *answer)
{
	ev_timer_stop(control->loop, &control->limit);
	control->is_busy = false;
	control->body = STR_NONE;
	control->done(control->ctx, answer);
}

static void fail(struct control *control, const char *problem)
{
	hang_up(control);
	finish(control, &(struct control_answer){.problem = problem});
}

/* done() is called from the loop alone. */
static void fail_later(struct control *control, const char *problem)
{
	hang_up(control);
	control->failure = problem;
	ev_timer_stop(control->loop, &control->limit);
	ev_timer_set(&control->limit, 0., 0.);
	ev_timer_start(control->loop, &control->limit);
}

static void on_limit(struct ev_loop *loop, ev_timer *watcher, int events)
{
	struct control *control = watcher->data;
	fail(control, control->failure != NULL ? control->failure : "there is no answer");
}

static void finish_answered(struct control *control, long status, struct str body)
{
	struct control_answer answer = {.problem = ""};
	char words[128];
	if (!control_read_answer(body, &answer)) {
		fail(control, "the answer cannot be read");
		return;
	}
	answer.status = status;
	struct str problem = find_word(body, "problem");
	if (problem.len >= sizeof(words))
		problem.len = sizeof(words) - 1;
	(void)str_join(words, sizeof(words), STR_PARTS(problem));
	for (char *c = words; *c != 0; c++)
		*c = *c == '-' || *c == '\n' ? ' ' : *c;
	answer.problem = words;
	finish(control, &answer);
}

/* ---- sending ---- */

static int send_some(struct control *control)
{
	size_t head_len = strlen(control->head);
	size_t total = head_len + control->body.len;
	while (control->sent < total) {
		bool has_head = control->sent >= head_len;
		struct str head =
			str_skip(str_from(control->head), has_head ? head_len : control->sent);
		struct str body = str_skip(control->body, has_head ? control->sent - head_len : 0);
		struct iovec parts[2] = {
			{(void *)(uintptr_t)head.p, head.len},
			{(void *)(uintptr_t)body.p, body.len},
		};
		struct msghdr message = {.msg_iov = parts, .msg_iovlen = body.len != 0 ? 2 : 1};
		ssize_t len = sendmsg(control->io.fd, &message, MSG_NOSIGNAL);
		if (len < 0 && errno != EINTR)
			return -errno;
		control->sent += len > 0 ? (size_t)len : 0;
	}
	return 0;
}

static void want(struct control *control, int events)
{
	if (ev_is_active(&control->io) && control->io.events == events)
		return;
	ev_io_stop(control->loop, &control->io);
	ev_io_set(&control->io, control->io.fd, events);
	ev_io_start(control->loop, &control->io);
}

static void transmit(struct control *control)
{
	int err = 0;
	control->sent = 0;
	if (control->io.fd < 0) {
		int fd = unix_connect(control->path);
		control->is_kept = false;
		if (fd < 0) {
			fail_later(control, strerrordesc_np(-fd));
			return;
		}
		ev_io_set(&control->io, fd, EV_READ);
	}
	err = send_some(control);
	/* A connection that has ended is seen when it is read. */
	want(control, err == -EAGAIN ? EV_READ | EV_WRITE : EV_READ);
}

/* ---- receiving ---- */

static void take_answer(struct control *control)
{
	long status = 0;
	size_t head_len = 0;
	size_t body_len = 0;
	struct str text = buf_str(&control->in);
	int err = control_read_head(text, &status, &head_len, &body_len);
	if (err == -EAGAIN || (err == 0 && text.len < head_len + body_len))
		return;
	if (err != 0 || text.len != head_len + body_len) {
		fail(control, "the answer cannot be read");
		return;
	}
	bool is_sent = control->sent == strlen(control->head) + control->body.len;
	/* What follows may use the connection again. */
	char body[ANSWER_LEN_MAX];
	memcpy(body, text.p + head_len, body_len);
	buf_clear(&control->in);
	control->is_kept = true;
	/* An answer before its request is complete, as when that is too long: what is left of it would begin the next one. */
	if (!is_sent)
		hang_up(control);
	else
		want(control, EV_READ);
	finish_answered(control, status, (struct str){body, body_len});
}

static void on_closed(struct control *control, const char *problem)
{
	bool is_again = control->is_busy && control->is_kept && buf_len(&control->in) == 0;
	hang_up(control);
	if (is_again)
		transmit(control);
	else if (control->is_busy)
		fail(control, problem);
}

static void on_socket(struct ev_loop *loop, ev_io *watcher, int events)
{
	struct control *control = watcher->data;
	if ((events & EV_WRITE) != 0 && send_some(control) != -EAGAIN)
		want(control, EV_READ);
	uint8_t *place = buf_reserve(&control->in, ANSWER_LEN_MAX - buf_len(&control->in));
	size_t room = ANSWER_LEN_MAX - buf_len(&control->in);
	ssize_t len = (events & EV_READ) == 0      ? -1
		      : place != NULL && room != 0 ? recv(watcher->fd, place, room, 0)
						   : 0;
	if ((events & EV_READ) == 0 || (len < 0 && (errno == EAGAIN || errno == EINTR)))
		return;
	if (len <= 0 || !control->is_busy) {
		on_closed(control, len < 0 ? strerrordesc_np(errno) : "it hangs up");
		return;
	}
	buf_commit(&control->in, (size_t)len);
	take_answer(control);
}

/* ---- public functions ---- */

static void start(struct control *control, const char *method, const char *path, struct str body,
	control_done *done, void *ctx)
{
	char digits[STR_UINT_LEN];
	(void)str_join(control->head, sizeof(control->head),
		STR_PARTS(str_from(method), STR(" "), str_from(path),
			STR(" HTTP/1.0\r\nHost: nginx\r\nConnection: "
			    "keep-alive\r\nContent-Length: "),
			str_from_uint(body.len, digits), STR("\r\n\r\n")));
	control->body = body;
	control->done = done;
	control->ctx = ctx;
	control->is_busy = true;
	control->failure = NULL;
	ev_timer_set(&control->limit, timeout_s, 0.);
	ev_timer_start(control->loop, &control->limit);
	transmit(control);
}

void control_ask(struct control *control, control_done *done, void *ctx)
{
	start(control, "GET", "/v1/state", STR(""), done, ctx);
}

void control_send(struct control *control, struct str batch, control_done *done, void *ctx)
{
	start(control, "POST", "/v1/batch", batch, done, ctx);
}

bool control_is_busy(const struct control *control)
{
	return control->is_busy;
}

void control_cancel(struct control *control)
{
	if (!control->is_busy)
		return;
	/* Its answer would be taken for that of the next. */
	hang_up(control);
	ev_timer_stop(control->loop, &control->limit);
	control->is_busy = false;
	control->body = STR_NONE;
}

struct control *control_new(struct ev_loop *loop, const char *socket_path)
{
	struct control *control = xcalloc(1, sizeof(*control));
	control->loop = loop;
	control->path = xstrdup(socket_path);
	buf_init(&control->in, ANSWER_LEN_MAX);
	ev_io_init(&control->io, on_socket, -1, EV_READ);
	ev_init(&control->limit, on_limit);
	control->io.data = control->limit.data = control;
	return control;
}

void control_set_path(struct control *control, const char *socket_path)
{
	control_cancel(control);
	hang_up(control);
	free(control->path);
	control->path = xstrdup(socket_path);
}

void control_free(struct control *control)
{
	if (control == NULL)
		return;
	control_cancel(control);
	hang_up(control);
	buf_fini(&control->in);
	free(control->path);
	free(control);
}
