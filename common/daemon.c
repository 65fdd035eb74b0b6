// SPDX-License-Identifier: Apache-2.0
#include "common/daemon.h"

#include "common/clock.h"
#include "common/daemon_admin.h"
#include "common/heap.h"
#include "common/log_events.h"
#include "common/must.h"
#include "common/notify.h"
#include "common/process_metrics.h"
#include "common/signals.h"
#include "common/version.h"
#include "common/xalloc.h"

#include <signal.h>
#include <stdio.h>
#include <time.h>

enum {
	MISSING_LEN_MAX = 16 * 1024,
	READINESS_LEN_MAX = 2 * MISSING_LEN_MAX,
	METRICS_LEN_MAX = ADMIN_WHOLE_LEN_MAX
};

static const double TRIM_AFTER_S = 3;

struct daemon {
	struct ev_loop *loop;
	const struct daemon_spec *spec;
	ev_signal terminate;
	ev_signal interrupt;
	ev_signal hangup;
	ev_timer watchdog;
	struct heap_trimmer trimmer;
	enum sandbox_mode sandbox;
	struct daemon_admin admin;
	bool is_stopping;
	bool has_failed;
	char *missing;                                /* one item a line; NULL: ready */
	void (*describe)(void *ctx, struct buf *out); /* NULL: nothing to add */
	void *describe_ctx;
	int64_t started_s;
	int64_t ready_s; /* since when it is ready; 0: it is not */
};

struct ev_loop *daemon_loop(struct daemon *daemon)
{
	return daemon->loop;
}

struct admin_server *daemon_admin(struct daemon *daemon)
{
	return daemon->admin.server;
}

char *daemon_runtime_path(const struct daemon_options *options, const char *name)
{
	return xasprintf("%s/%s", options->runtime_dir, name);
}

char *daemon_confine(struct daemon *daemon, struct sandbox *sandbox)
{
	struct sandbox_outcome outcome = {0};
	sandbox_allow_remove_beside(sandbox, admin_server_made(daemon->admin.server));
	char *problem = sandbox_enter(sandbox, daemon->sandbox, &outcome);
	if (problem == NULL)
		log_event(&EV_SANDBOX, LOG_STR("files", outcome.files),
			LOG_STR("calls", outcome.calls));
	return problem;
}

/* Lines as "a, b"; the caller frees it. */
static char *join_lines(const char *lines)
{
	struct buf text;
	buf_init(&text, MISSING_LEN_MAX);
	for (struct str rest = str_from(lines); rest.len != 0;) {
		struct str line = str_cut(&rest, '\n');
		/* The rest is left out. */
		if (buf_printf(&text, "%s%.*s", buf_len(&text) != 0 ? ", " : "", STR_FMT(line)) !=
			0)
			break;
	}
	char *joined = str_dup(buf_str(&text));
	buf_fini(&text);
	return joined;
}

static void tell_missing(const char *missing)
{
	char *text = join_lines(missing);
	log_event(&EV_NOT_READY, LOG_STR("missing", text));
	notify_status("waiting for %s", text);
	free(text);
}

void daemon_describe_with(
	struct daemon *daemon, void (*describe)(void *ctx, struct buf *out), void *ctx)
{
	daemon->describe = describe;
	daemon->describe_ctx = ctx;
}

void daemon_set_missing(struct daemon *daemon, const char *missing)
{
	if (missing == NULL && daemon->missing == NULL)
		return;
	if (missing != NULL && daemon->missing != NULL && strcmp(missing, daemon->missing) == 0)
		return;
	free(daemon->missing);
	metric_set(&common_metrics[METRIC_READY], 0, missing == NULL);
	daemon->missing = missing != NULL ? xstrdup(missing) : NULL;
	daemon->ready_s = missing == NULL ? clock_wall_s() : 0;
	if (missing != NULL) {
		tell_missing(missing);
		return;
	}
	log_event(&EV_READY);
	notify_status("ready");
}

bool daemon_has_failed(const struct daemon *daemon)
{
	return daemon->has_failed;
}

void daemon_fail(struct daemon *daemon)
{
	daemon->has_failed = true;
	ev_break(daemon->loop, EVBREAK_ALL);
}

static void on_stop_signal(struct ev_loop *loop, ev_signal *watcher, int events)
{
	ev_break(loop, EVBREAK_ALL);
}

static void on_hangup(struct ev_loop *loop, ev_signal *watcher, int events)
{
	struct daemon *daemon = watcher->data;
	log_event(&EV_HANGUP);
	if (daemon->spec->reload != NULL && !daemon->is_stopping)
		daemon->spec->reload();
}

static void on_watchdog(struct ev_loop *loop, ev_timer *watcher, int events)
{
	notify_watchdog();
}

static void start_watchers(struct daemon *daemon)
{
	ev_signal_init(&daemon->terminate, on_stop_signal, SIGTERM);
	ev_signal_init(&daemon->interrupt, on_stop_signal, SIGINT);
	ev_signal_init(&daemon->hangup, on_hangup, SIGHUP);
	daemon->hangup.data = daemon;
	ev_signal_start(daemon->loop, &daemon->terminate);
	ev_signal_start(daemon->loop, &daemon->interrupt);
	ev_signal_start(daemon->loop, &daemon->hangup);
	signals_reset(NULL);
	signal(SIGPIPE, SIG_IGN);
	heap_trimmer_start(&daemon->trimmer, daemon->loop, TRIM_AFTER_S, NULL);
	double period_s = notify_watchdog_period();
	if (period_s > 0) {
		/* Sent from the loop itself, so that a hung loop is noticed. */
		ev_timer_init(&daemon->watchdog, on_watchdog, 0., period_s);
		ev_timer_start(daemon->loop, &daemon->watchdog);
	}
}

static void log_options(const struct option_table *table, const void *config)
{
	for (size_t i = 0; i < table->count; i++) {
		char *text = options_value_text(&table->options[i], config);
		log_event(&EV_OPTION, LOG_STR("name", table->options[i].name),
			LOG_STR("value", text));
		free(text);
	}
}

/* ---- the admin server ---- */

static void answer_health(void *ctx, const struct admin_request *request, struct admin_reply *reply)
{
	admin_reply_text(reply, 200, "the event loop turns\n");
}

static const char *readiness_of(const struct daemon *daemon)
{
	if (daemon->missing == NULL)
		return "ready";
	return daemon->missing[0] != '\0' ? daemon->missing : "the start";
}

static void answer_ready(void *ctx, const struct admin_request *request, struct admin_reply *reply)
{
	const struct daemon *daemon = ctx;
	struct buf text;
	buf_init(&text, READINESS_LEN_MAX);
	int err = buf_printf(&text, "%s\n", readiness_of(daemon));
	if (err == 0 && daemon->describe != NULL)
		daemon->describe(daemon->describe_ctx, &text);
	admin_reply_bytes(reply, daemon->missing == NULL ? 200 : 503, "text/plain; charset=utf-8",
		buf_str(&text));
	buf_fini(&text);
}

/* See proto/ADMIN.md. */
static void answer_about(void *ctx, const struct admin_request *request, struct admin_reply *reply)
{
	const struct daemon *daemon = ctx;
	struct log_problem problem = log_last_problem();
	struct buf text;
	buf_init(&text, METRICS_LEN_MAX);
	int err = buf_printf(&text, "program %s\nversion %s\nstarted %lld\n",
		daemon->spec->options->program, SLUICE_VERSION, (long long)daemon->started_s);
	if (err == 0 && daemon->ready_s != 0)
		err = buf_printf(&text, "ready %lld\n", (long long)daemon->ready_s);
	if (err == 0 && problem.at_s != 0)
		err = buf_printf(&text, "problem-at %lld\nproblem %.*s\nremedy %s\n",
			(long long)problem.at_s, STR_FMT(problem.text), problem.remedy);
	must(err == 0);
	admin_reply_bytes(reply, 200, "text/plain; charset=utf-8", buf_str(&text));
	buf_fini(&text);
}

static void answer_metrics(
	void *ctx, const struct admin_request *request, struct admin_reply *reply)
{
	bool is_openmetrics = metrics_wants_openmetrics(request->accept);
	struct buf text;
	buf_init(&text, METRICS_LEN_MAX);
	if (metrics_print(&text, is_openmetrics) != 0)
		admin_reply_text(reply, 500, "there are too many metrics\n");
	else
		admin_reply_bytes(reply, 200,
			is_openmetrics ? metrics_type_openmetrics : metrics_type_text,
			buf_str(&text));
	buf_fini(&text);
}

static char *open_admin(
	struct daemon *daemon, const struct daemon_options *options, bool *ret_usage)
{
	char *problem = daemon_admin_open(&daemon->admin, daemon->loop, options,
		daemon->spec->options->program, daemon->spec->admin_port, ret_usage);
	if (problem != NULL)
		return problem;
	struct admin_server *server = daemon->admin.server;
	admin_add_path(server, "/healthz", ADMIN_PUBLIC, answer_health, daemon);
	admin_add_path(server, "/readyz", ADMIN_PUBLIC, answer_ready, daemon);
	admin_add_path(server, "/metrics", ADMIN_PUBLIC, answer_metrics, daemon);
	admin_add_path(server, "/about", ADMIN_LOCAL, answer_about, daemon);
	return NULL;
}

/* ---- lifecycle ---- */

static char *start(struct daemon *daemon, void *config, bool *ret_usage)
{
	const struct daemon_options *options =
		(const void *)((const char *)config + daemon->spec->common_offset);
	/* Not ready from the start, without a log line: the process itself reports what it waits for. */
	daemon->missing = xstrdup("");
	daemon->started_s = clock_wall_s();
	start_watchers(daemon);
	process_metrics_start();
	metric_set(&common_metrics[METRIC_READY], 0, 0);
	metric_add(&common_metrics[METRIC_JSON_DUPLICATES], 0, 0);
	char *problem = open_admin(daemon, options, ret_usage);
	return problem != NULL ? problem : daemon->spec->start(daemon, config, ret_usage);
}

static int run(struct daemon *daemon, void *config)
{
	bool usage = false;
	char *problem = start(daemon, config, &usage);
	if (problem != NULL) {
		log_event(usage ? &EV_BAD_USAGE : &EV_START_FAILED, LOG_STR("reason", problem));
		free(problem);
		daemon_admin_forget(&daemon->admin);
		admin_server_free(daemon->admin.server);
		return usage ? DAEMON_EXIT_USAGE : DAEMON_EXIT_FAILURE;
	}
	daemon_admin_tell(&daemon->admin);
	log_event(&EV_STARTED, LOG_STR("version", SLUICE_VERSION));
	log_options(daemon->spec->options, config);
	notify_ready();
	ev_run(daemon->loop, 0);
	heap_trimmer_stop(&daemon->trimmer, daemon->loop);
	notify_stopping();
	/* stop() may run the loop once more, after it has freed what reload() needs. */
	daemon->is_stopping = true;
	/* First, because its responses use what stop() frees. */
	admin_server_free(daemon->admin.server);
	daemon->spec->stop();
	log_event(&EV_STOPPED);
	return daemon->has_failed ? DAEMON_EXIT_FAILURE : EXIT_SUCCESS;
}

/* ---- the same program as a filter ---- */

static void drop_line(void *ctx, const struct log_event *event, struct str line)
{
}

static int run_filter(const struct daemon_spec *spec, void *config)
{
	bool usage = false;
	signals_reset(NULL);
	log_set_sink(drop_line, NULL);
	char *problem = spec->filter(spec->filter_ctx, config, &usage);
	if (problem == NULL)
		return EXIT_SUCCESS;
	fprintf(stderr, "%s: %s\n", spec->options->program, problem);
	free(problem);
	return usage ? DAEMON_EXIT_USAGE : DAEMON_EXIT_FAILURE;
}

/* A signal that arrives before the loop runs is handled once it does. */
static void block_signals(void)
{
	sigset_t held;
	sigemptyset(&held);
	sigaddset(&held, SIGTERM);
	sigaddset(&held, SIGINT);
	sigaddset(&held, SIGHUP);
	signals_reset(&held);
}

int daemon_main(const struct daemon_spec *spec, void *config, int argc, char **argv)
{
	const struct option_table *table = spec->options;
	char *problem = NULL;
	block_signals();
	heap_configure();
	enum options_outcome outcome = options_parse(table, config, argc, argv, getenv, &problem);
	const struct daemon_options *options =
		(const void *)((const char *)config + spec->common_offset);
	int code = EXIT_SUCCESS;
	if (outcome != OPTIONS_OK)
		signals_reset(NULL);
	if (outcome == OPTIONS_HELP) {
		options_print_help(table, stdout);
	} else if (outcome == OPTIONS_MAN) {
		options_print_man(table, stdout);
	} else if (outcome == OPTIONS_MARKDOWN) {
		options_print_markdown(table, stdout);
	} else if (outcome == OPTIONS_EVENTS) {
		log_print_events(stdout);
	} else if (outcome == OPTIONS_NAMES) {
		options_print_names(table, stdout);
	} else if (outcome == OPTIONS_VERSION) {
		printf("%s %s\n", table->program, SLUICE_VERSION);
	} else if (outcome == OPTIONS_BAD) {
		/* The log format is not known yet; this is for whoever typed the command. */
		log_init(table->program, LOG_LEVEL_INFO, LOG_FORMAT_LOGFMT);
		fprintf(stderr, "%s%s: %s\n", log_prefix(LOG_LEVEL_ERROR), table->program, problem);
		free(problem);
		code = DAEMON_EXIT_USAGE;
	} else if (spec->is_filter != NULL && spec->is_filter(spec->filter_ctx, config)) {
		code = run_filter(spec, config);
	} else {
		struct daemon daemon = {.spec = spec,
			.loop = ev_default_loop(EVFLAG_AUTO),
			.sandbox = (enum sandbox_mode)options->sandbox};
		log_init(table->program, (enum log_level)options->log_level,
			(enum log_format)options->log_format);
		code = run(&daemon, config);
		free(daemon.missing);
		process_metrics_stop();
		ev_loop_destroy(daemon.loop);
	}
	options_free(table, config);
	return code;
}
