// SPDX-License-Identifier: Apache-2.0
#include "provider-proxy/proxy.h"

#include "common/backoff.h"
#include "common/buf.h"
#include "common/clock.h"
#include "common/stream.h"
#include "common/unix_socket.h"
#include "common/xalloc.h"
#include "proto/proxy_folder.h"
#include "provider-proxy/inherited.h"
#include "provider-proxy/local.h"
#include "provider-proxy/metrics.h"
#include "provider-proxy/proxy_log.h"
#include "provider-proxy/supervisor.h"

#include <errno.h>

enum { FAILURES_MAX = 5, LINE_LEN_MAX = 16 * 1024, YIELD_S_MAX = 60 };

/* The time connections need to end once they are cut. */
static const double cut_within_s = 10;

struct proxy {
	struct ev_loop *loop;
	struct proxy_config config;
	char *socket;
	struct stream *stream; /* NULL: not connected */
	ev_child supervisor;   /* started by us, while it lives */
	ev_timer again;
	ev_timer limit; /* for its end */
	struct backoff backoff;
	pid_t pid;
	unsigned failures; /* to connect; in a row */
	bool is_known;
	bool is_starting;
	bool is_start_wanted; /* as soon as the supervisor is connected */
	bool is_from_files;   /* it is unknown whether the files are what is wanted */
	bool is_taken;        /* another proxy serves in its place */
	struct inherited inherited;
	struct proxy_log *log;
	bool is_stopping;
	struct supervisor_words words; /* its output since its start */
	/* The check under way. */
	command_done *on_checked;
	void *check_ctx;
	double check_timeout_s;
	enum command_outcome outcome;
	size_t output_len; /* bytes of output still to come; SIZE_MAX: no response yet */
	ev_timer unanswered;
};

/* ---- commands ---- */

static int send_command(struct proxy *proxy, const char *text)
{
	if (proxy->stream == NULL)
		return -ENOTCONN;
	/* Commands are few and short: a supervisor that does not read them hangs, and gets them later. */
	if (stream_is_full(proxy->stream) ||
		buf_append(stream_out(proxy->stream), text, strlen(text)) != 0)
		return -EAGAIN;
	stream_flush(proxy->stream);
	return 0;
}

static int send_command_within(struct proxy *proxy, const char *word, double seconds)
{
	char *text = xasprintf("%s\t%.3f\n", word, seconds);
	int err = send_command(proxy, text);
	free(text);
	return err;
}

/* ---- reports of the supervisor ---- */

static void take_up(struct proxy *proxy, const struct supervisor_line *line)
{
	int64_t pid = 0;
	char *dir = str_dup(line->fields[3]);
	enum proxy_origin origin = str_eq_c(line->fields[2], "started")   ? PROXY_STARTED
				   : str_eq_c(line->fields[2], "running") ? PROXY_RUNNING
									  : PROXY_FOUND;
	(void)str_to_int(line->fields[1], 1, INT32_MAX, &pid);
	/* After a lost connection, or with a proxy that an earlier supervisor started. */
	bool is_same = origin != PROXY_STARTED && proxy->pid == (pid_t)pid;
	proxy->pid = (pid_t)pid;
	proxy->is_known = true;
	proxy->is_starting = false;
	metric_set(&proxy_metrics[PROXY_UP], 0, 1);
	if (origin == PROXY_STARTED)
		metric_add(&proxy_metrics[PROXY_STARTS], 0, 1);
	if (!is_same)
		proxy->config.ops->on_up(proxy->config.ctx, origin, dir);
	free(dir);
}

static void take_down(struct proxy *proxy, const struct supervisor_line *line)
{
	char *again = str_dup(line->fields[1]);
	char *why = str_dup_utf8(line->fields[2]);
	supervisor_keep_words(&proxy->words, line->fields[3]);
	proxy->is_starting = false;
	proxy->pid = 0;
	metric_set(&proxy_metrics[PROXY_UP], 0, 0);
	metric_add(&proxy_metrics[PROXY_ENDS], 0, 1);
	proxy->config.ops->on_down(proxy->config.ctx, why, proxy->words.text, strtod(again, NULL));
	free(again);
	free(why);
}

static void take_none(struct proxy *proxy)
{
	bool was_up = proxy->pid != 0;
	/* While another proxy serves, files of unknown age are worse than nothing. */
	bool is_to_wait = proxy->is_from_files && inherited_list(&proxy->inherited)->count != 0;
	if (is_to_wait)
		proxy->is_starting = false;
	else if (proxy->is_start_wanted)
		(void)send_command(proxy, "start\n");
	proxy->is_known = true;
	proxy->pid = 0;
	metric_set(&proxy_metrics[PROXY_UP], 0, 0);
	supervisor_keep_words(&proxy->words, STR_NONE);
	/* It may have ended, unnoticed, between two lives of its supervisor. */
	if (was_up)
		proxy->config.ops->on_down(proxy->config.ctx, "it does not run any more", "", 0);
	else
		proxy->config.ops->on_none(proxy->config.ctx);
}

static void finish_check(struct proxy *proxy, enum command_outcome outcome, struct str output)
{
	command_done *on_checked = proxy->on_checked;
	ev_timer_stop(proxy->loop, &proxy->unanswered);
	proxy->on_checked = NULL;
	if (on_checked != NULL)
		on_checked(proxy->check_ctx, outcome, output);
}

static int take_checked(struct proxy *proxy, const struct supervisor_line *line)
{
	int64_t len = 0;
	if (!str_to_int(line->fields[2], 0, COMMAND_OUTPUT_MAX, &len))
		return -EBADMSG;
	proxy->outcome = str_eq_c(line->fields[1], "good")     ? COMMAND_SUCCEEDED
			 : str_eq_c(line->fields[1], "late")   ? COMMAND_TIMEOUT
			 : str_eq_c(line->fields[1], "bad")    ? COMMAND_FAILED
			 : str_eq_c(line->fields[1], "killed") ? COMMAND_KILLED
							       : COMMAND_UNSTARTED;
	proxy->output_len = (size_t)len;
	return 0;
}

static void take_workers(struct proxy *proxy, const struct supervisor_line *line)
{
	int64_t taking = 0;
	if (str_to_int(line->fields[1], 0, INT32_MAX, &taking) &&
		proxy->config.ops->on_workers != NULL)
		proxy->config.ops->on_workers(proxy->config.ctx, (size_t)taking);
}

static void take_taken(struct proxy *proxy, const struct supervisor_line *line)
{
	char *by = str_dup_utf8(line->fields[1]);
	proxy->is_taken = true;
	local_be_taken(proxy->config.local, by);
	free(by);
}

static void take_yield(struct proxy *proxy, const struct supervisor_line *line)
{
	int64_t seconds = 0;
	if (str_to_int(line->fields[1], 0, YIELD_S_MAX, &seconds))
		local_yield(proxy->config.local, (double)seconds);
}

static int take_line(struct proxy *proxy, struct str text)
{
	struct supervisor_line line = supervisor_split(text);
	struct str word = line.fields[0];
	/* Bytes that are no lines follow this one. */
	if (str_eq_c(word, "checked"))
		return take_checked(proxy, &line);
	/* Whoever would be told has gone: the end of the connection alone counts. */
	if (proxy->is_stopping)
		return 0;
	if (str_eq_c(word, "sluice-proxy"))
		inherited_clear(&proxy->inherited); /* The following lines are the complete list. */
	else if (str_eq_c(word, "inherits"))
		inherited_add(&proxy->inherited, line.fields[1], line.fields[2]);
	else if (str_eq_c(word, "taken"))
		take_taken(proxy, &line);
	else if (str_eq_c(word, "yield"))
		take_yield(proxy, &line);
	else if (str_eq_c(word, "up"))
		take_up(proxy, &line);
	else if (str_eq_c(word, "down"))
		take_down(proxy, &line);
	else if (str_eq_c(word, "none"))
		take_none(proxy);
	else if (str_eq_c(word, "words"))
		supervisor_keep_words(&proxy->words, str_skip(text, word.len + 1));
	else if (str_eq_c(word, "workers"))
		take_workers(proxy, &line);
	else if (str_eq_c(word, "refused") && str_eq_c(line.fields[1], "start"))
		proxy->is_starting = false;
	/* It may be newer than we are: unknown lines are skipped. */
	return 0;
}

static int on_input(void *ctx, struct stream *stream, struct buf *in)
{
	struct proxy *proxy = ctx;
	for (;;) {
		struct str text = buf_str(in);
		if (proxy->output_len != SIZE_MAX) {
			size_t len = proxy->output_len;
			if (text.len < len)
				return 0;
			proxy->output_len = SIZE_MAX;
			finish_check(proxy, proxy->outcome, (struct str){text.p, len});
			buf_consume(in, len);
			continue;
		}
		const char *end = str_find(text, '\n');
		if (end == NULL)
			return text.len >= LINE_LEN_MAX ? -EMSGSIZE : 0;
		size_t len = (size_t)(end - text.p);
		int err = take_line(proxy, (struct str){text.p, len});
		if (err != 0)
			return err;
		buf_consume(in, len + 1);
	}
}

/* ---- connection ---- */

static void connect_again(struct proxy *proxy)
{
	ev_timer_stop(proxy->loop, &proxy->again);
	ev_timer_set(&proxy->again, backoff_next(&proxy->backoff), 0.);
	ev_timer_start(proxy->loop, &proxy->again);
}

static void on_dry(void *ctx, struct stream *stream)
{
}

static void on_closed(void *ctx, struct stream *stream, int err)
{
	struct proxy *proxy = ctx;
	stream_close(stream);
	proxy->stream = NULL;
	proxy->output_len = SIZE_MAX;
	if (proxy->is_taken)
		return;
	if (proxy->is_stopping) {
		ev_break(proxy->loop, EVBREAK_ALL);
		return;
	}
	connect_again(proxy);
	finish_check(proxy, COMMAND_UNSTARTED, STR("the proxy's supervisor has ended"));
}

static void on_supervisor_end(struct ev_loop *loop, ev_child *watcher, int events)
{
	ev_child_stop(loop, watcher);
}

static void start_supervisor(struct proxy *proxy)
{
	pid_t pid = supervisor_start(&proxy->config);
	if (pid > 0) {
		ev_child_set(&proxy->supervisor, pid, 0);
		ev_child_start(proxy->loop, &proxy->supervisor);
	}
}

static bool try_connect(struct proxy *proxy)
{
	static const struct stream_limits limits = {
		.in_max = LINE_LEN_MAX + COMMAND_OUTPUT_MAX,
		.out_high = 4 * 1024,
		.out_low = 1024,
		.out_max = 8 * 1024,
	};
	static const struct stream_ops ops = {
		.on_input = on_input, .on_dry = on_dry, .on_room = on_dry, .on_closed = on_closed};
	int fd = unix_connect(proxy->socket);
	if (fd < 0)
		return false;
	proxy->stream = stream_new(proxy->loop, fd, &limits, &ops, proxy);
	backoff_succeeded(&proxy->backoff);
	proxy->failures = 0;
	if (proxy->on_checked != NULL)
		(void)send_command_within(proxy, "check", proxy->check_timeout_s);
	return true;
}

static void on_again(struct ev_loop *loop, ev_timer *watcher, int events)
{
	struct proxy *proxy = watcher->data;
	if (proxy->stream != NULL || try_connect(proxy))
		return;
	/* A supervisor started by us shares our sandbox, and cannot make the folder if we cannot. */
	if (proxy->config.supervisor != NULL && !ev_is_active(&proxy->supervisor) &&
		local_keep_proxy_folder(proxy->config.local))
		start_supervisor(proxy);
	if (++proxy->failures == FAILURES_MAX)
		proxy->config.ops->on_unreachable(proxy->config.ctx, proxy->socket);
	connect_again(proxy);
}

/* ---- public functions ---- */

void proxy_start_from_files(struct proxy *proxy)
{
	proxy->is_starting = proxy->pid == 0;
	proxy->is_start_wanted = proxy->is_from_files = true;
}

const struct socket_list *proxy_inherited(struct proxy *proxy)
{
	return inherited_list(&proxy->inherited);
}

void proxy_serves(struct proxy *proxy, const struct ports *ports)
{
	if (inherited_list(&proxy->inherited)->count == 0)
		return;
	bool is_used = inherited_is_used(&proxy->inherited, ports);
	if (send_command(proxy, is_used ? "take-over\n" : "leave\n") == 0)
		inherited_clear(&proxy->inherited);
}

void proxy_start(struct proxy *proxy)
{
	proxy->is_from_files = false;
	proxy->is_starting = proxy->pid == 0;
	proxy->is_start_wanted = true;
	(void)send_command(proxy, "start\n");
}

int proxy_reload(struct proxy *proxy)
{
	return proxy->pid == 0 ? -ESRCH : send_command(proxy, "reload\n");
}

static void on_unanswered(struct ev_loop *loop, ev_timer *watcher, int events)
{
	finish_check(watcher->data, COMMAND_TIMEOUT, STR_NONE);
}

void proxy_check(struct proxy *proxy, double timeout_s, command_done *on_done, void *ctx)
{
	proxy->on_checked = on_done;
	proxy->check_ctx = ctx;
	proxy->check_timeout_s = timeout_s;
	/* A supervisor that hangs, or is gone, never responds. */
	ev_timer_stop(proxy->loop, &proxy->unanswered);
	ev_timer_set(&proxy->unanswered, timeout_s + cut_within_s, 0.);
	ev_timer_start(proxy->loop, &proxy->unanswered);
	(void)send_command_within(proxy, "check", timeout_s);
}

void proxy_cancel_check(struct proxy *proxy)
{
	if (proxy == NULL)
		return;
	ev_timer_stop(proxy->loop, &proxy->unanswered);
	proxy->on_checked = NULL;
}

void proxy_replace(struct proxy *proxy)
{
	(void)send_command(proxy, "replace\n");
}

void proxy_is_well(struct proxy *proxy)
{
	(void)send_command(proxy, "well\n");
}

void proxy_count_workers(struct proxy *proxy)
{
	(void)send_command(proxy, "workers\n");
}

static void on_limit(struct ev_loop *loop, ev_timer *watcher, int events)
{
	ev_break(loop, EVBREAK_ALL);
}

/* Whether the supervisor ended in time, and nobody has stopped the loop. */
static bool await_end(struct proxy *proxy, double limit_s)
{
	if (proxy->stream == NULL)
		return true;
	ev_now_update(proxy->loop);
	ev_timer_set(&proxy->limit, limit_s, 0.);
	ev_timer_start(proxy->loop, &proxy->limit);
	ev_run(proxy->loop, 0);
	ev_timer_stop(proxy->loop, &proxy->limit);
	return proxy->stream == NULL;
}

bool proxy_stop(struct proxy *proxy, double limit_s)
{
	/* It is draining already. */
	if (proxy->is_taken)
		return true;
	proxy->is_stopping = true;
	ev_timer_stop(proxy->loop, &proxy->again);
	double begun_s = clock_monotonic_s();
	if (send_command_within(proxy, "stop", limit_s) != 0)
		return true;
	/* The supervisor has the same limit: if it ends at the limit, it has cut the remaining connections. */
	if (await_end(proxy, limit_s))
		return clock_monotonic_s() - begun_s < limit_s;
	(void)send_command_within(proxy, "stop", 0); /* the second time: at once */
	(void)await_end(proxy, cut_within_s);
	return false;
}

pid_t proxy_pid(const struct proxy *proxy)
{
	return proxy->pid;
}

bool proxy_is_up(const struct proxy *proxy)
{
	return proxy->pid != 0;
}

bool proxy_is_starting(const struct proxy *proxy)
{
	return proxy->is_starting;
}

bool proxy_is_known(const struct proxy *proxy)
{
	return proxy->is_known;
}

const char *proxy_last_output(const struct proxy *proxy)
{
	return proxy->words.text + proxy->words.last;
}

/* ---- lifecycle ---- */

struct proxy *proxy_new(const struct proxy_config *config)
{
	struct proxy *proxy = xcalloc(1, sizeof(*proxy));
	proxy->loop = config->loop;
	proxy->config = *config;
	proxy->socket = xasprintf("%s/" SUPERVISOR_SOCKET, config->proxy_dir);
	proxy->output_len = SIZE_MAX;
	backoff_init(&proxy->backoff, 0.05, 1);
	ev_init(&proxy->supervisor, on_supervisor_end);
	ev_init(&proxy->limit, on_limit);
	ev_init(&proxy->unanswered, on_unanswered);
	ev_timer_init(&proxy->again, on_again, 0., 0.);
	proxy->again.data = proxy->unanswered.data = proxy;
	ev_timer_start(config->loop, &proxy->again);
	proxy->log = proxy_log_new(config->loop, config->proxy_dir);
	return proxy;
}

void proxy_free(struct proxy *proxy)
{
	if (proxy == NULL)
		return;
	ev_timer_stop(proxy->loop, &proxy->again);
	ev_timer_stop(proxy->loop, &proxy->unanswered);
	ev_child_stop(proxy->loop, &proxy->supervisor);
	if (proxy->stream != NULL) {
		stream_flush_now(proxy->stream);
		stream_close(proxy->stream);
	}
	inherited_clear(&proxy->inherited);
	proxy_log_free(proxy->log);
	free(proxy->socket);
	free(proxy);
}
