// SPDX-License-Identifier: Apache-2.0
#include "common/daemon.h"

#include "common/heap.h"
#include "common/log_events.h"
#include "common/notify.h"
#include "common/version.h"
#include "common/xalloc.h"

#include <signal.h>
#include <stdio.h>

static const double TRIM_AFTER_S = 3;

struct daemon {
	struct ev_loop *loop;
	const struct daemon_spec *spec;
	ev_signal terminate;
	ev_signal interrupt;
	ev_signal hangup;
	ev_timer watchdog;
	struct heap_trimmer trimmer;
	char *missing; /* NULL: ready */
	enum sandbox_mode sandbox;
	int exit_code;
};

struct ev_loop *daemon_loop(struct daemon *daemon)
{
	return daemon->loop;
}

bool daemon_is_ready(const struct daemon *daemon)
{
	return daemon->missing == NULL;
}

char *daemon_runtime_path(const struct daemon_options *options, const char *name)
{
	return xasprintf("%s/%s", options->runtime_dir, name);
}

char *daemon_confine(struct daemon *daemon, struct sandbox *sandbox)
{
	struct sandbox_outcome outcome = {0};
	char *problem = sandbox_enter(sandbox, daemon->sandbox, &outcome);
	if (problem == NULL)
		log_event(&EV_SANDBOX, LOG_STR("files", outcome.files),
			LOG_STR("calls", outcome.calls));
	return problem;
}

void daemon_fail(struct daemon *daemon)
{
	daemon->exit_code = DAEMON_EXIT_FAILURE;
	ev_break(daemon->loop, EVBREAK_ALL);
}

void daemon_set_missing(struct daemon *daemon, const char *missing)
{
	if (missing == NULL && daemon->missing == NULL)
		return;
	if (missing != NULL && daemon->missing != NULL && strcmp(missing, daemon->missing) == 0)
		return;
	free(daemon->missing);
	daemon->missing = missing != NULL ? xstrdup(missing) : NULL;
	if (missing != NULL) {
		log_event(&EV_NOT_READY, LOG_STR("missing", missing));
		notify_status("waiting for %s", missing);
		return;
	}
	log_event(&EV_READY);
	notify_status("ready");
}

static void on_stop_signal(struct ev_loop *loop, ev_signal *watcher, int events)
{
	(void)watcher;
	(void)events;
	ev_break(loop, EVBREAK_ALL);
}

static void on_hangup(struct ev_loop *loop, ev_signal *watcher, int events)
{
	struct daemon *daemon = watcher->data;
	(void)loop;
	(void)events;
	if (daemon->spec->reload != NULL)
		daemon->spec->reload();
}

static void on_watchdog(struct ev_loop *loop, ev_timer *watcher, int events)
{
	(void)loop;
	(void)watcher;
	(void)events;
	notify_watchdog();
}

static void start_watchers(struct daemon *daemon)
{
	signal(SIGPIPE, SIG_IGN);
	ev_signal_init(&daemon->terminate, on_stop_signal, SIGTERM);
	ev_signal_init(&daemon->interrupt, on_stop_signal, SIGINT);
	ev_signal_init(&daemon->hangup, on_hangup, SIGHUP);
	daemon->hangup.data = daemon;
	ev_signal_start(daemon->loop, &daemon->terminate);
	ev_signal_start(daemon->loop, &daemon->interrupt);
	ev_signal_start(daemon->loop, &daemon->hangup);
	heap_trimmer_start(&daemon->trimmer, daemon->loop, TRIM_AFTER_S, NULL);
	double period_s = notify_watchdog_period();
	if (period_s > 0) {
		/* From the loop itself, so that a loop that hangs is found. */
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

static int run(struct daemon *daemon, void *config)
{
	bool usage = false;
	/* "Not ready" from the first moment, silently: the process says itself what it waits for.
	 */
	daemon->missing = xstrdup("");
	start_watchers(daemon);
	char *problem = daemon->spec->start(daemon, config, &usage);
	if (problem != NULL) {
		log_event(usage ? &EV_BAD_USAGE : &EV_START_FAILED, LOG_STR("reason", problem));
		free(problem);
		return usage ? DAEMON_EXIT_USAGE : DAEMON_EXIT_FAILURE;
	}
	log_event(&EV_STARTED, LOG_STR("version", SLUICE_VERSION));
	log_options(daemon->spec->options, config);
	notify_ready();
	ev_run(daemon->loop, 0);
	heap_trimmer_stop(&daemon->trimmer, daemon->loop);
	notify_stopping();
	daemon->spec->stop();
	log_event(&EV_STOPPED);
	return daemon->exit_code;
}

int daemon_main(const struct daemon_spec *spec, void *config, int argc, char **argv)
{
	const struct option_table *table = spec->options;
	char *problem = NULL;
	heap_configure();
	enum options_outcome outcome = options_parse(table, config, argc, argv, getenv, &problem);
	const struct daemon_options *options =
		(const void *)((const char *)config + spec->common_offset);
	int code = EXIT_SUCCESS;
	if (outcome == OPTIONS_HELP) {
		options_print_help(table, stdout);
	} else if (outcome == OPTIONS_MAN) {
		options_print_man(table, stdout);
	} else if (outcome == OPTIONS_MARKDOWN) {
		options_print_markdown(table, stdout);
	} else if (outcome == OPTIONS_VERSION) {
		printf("%s %s\n", table->program, SLUICE_VERSION);
	} else if (outcome == OPTIONS_BAD) {
		fprintf(stderr, "%s: %s\n", table->program, problem);
		free(problem);
		code = DAEMON_EXIT_USAGE;
	} else {
		struct daemon daemon = {.spec = spec,
			.loop = ev_default_loop(EVFLAG_AUTO),
			.sandbox = (enum sandbox_mode)options->sandbox};
		log_init(table->program, (enum log_level)options->log_level,
			(enum log_format)options->log_format);
		code = run(&daemon, config);
		free(daemon.missing);
		ev_loop_destroy(daemon.loop);
	}
	options_free(table, config);
	return code;
}
