// SPDX-License-Identifier: Apache-2.0
/* compare: the same requests to two controllers, and what they answer differently. */
#include "common/clock.h"
#include "common/must.h"
#include "common/xalloc.h"
#include "sluicectl/command_output.h"
#include "sluicectl/commands.h"
#include "sluicectl/migrate_line.h"
#include "sluicectl/migrate_objects.h"
#include "sluicectl/progress.h"
#include "sluicectl/replay_log.h"
#include "sluicectl/replay_print.h"
#include "sluicectl/replay_send.h"
#include "sluicectl/show.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

enum {
	JSON_MAX = 256 * 1024 * 1024,
	REQUESTS_USUAL = 2000,
	FAILURES_MAX = 10, /* nothing is answered: then the URL is wrong */
};

static const double rate_usual = 10;
static const double rate_max = 1000;
static const double timeout_usual_s = 5;
static const double timeout_max_s = 300;

struct comparing {
	const struct args *args;
	struct replay_target_options options;
	struct replay_criteria criteria;
	double rate;
	size_t requests_max;
	struct replay_sender *old;
	struct replay_sender *new;
	struct replay_requests requests;
	struct replay_tally tally;
	struct progress progress;
	size_t done;
};

static void tell_progress(void *ctx)
{
	struct comparing *c = ctx;
	progress_tell(&c->progress, c->done, c->requests.count);
}

/* ---- the command line ---- */

static bool take_number(
	const char *name, const char *given, double usual, double max, double *ret_number)
{
	char *end = NULL;
	*ret_number = given != NULL ? strtod(given, &end) : usual;
	if (given == NULL ||
		(end != given && *end == '\0' && *ret_number > 0 && *ret_number <= max))
		return true;
	fprintf(stderr, "sluicectl: --%s must be a number, more than 0 and at most %.0f\n", name,
		max);
	return false;
}

/* "Name: value"; the host is that of each request. */
static bool check_headers(const struct text_list *headers)
{
	for (size_t i = 0; i < headers->count; i++) {
		const char *given = headers->items[i];
		const char *colon = strchr(given, ':');
		bool is_host = strncasecmp(given, "host:", 5) == 0;
		if (colon != NULL && colon != given && strpbrk(given, "\r\n") == NULL && !is_host)
			continue;
		fprintf(stderr, "sluicectl: --header must be NAME: VALUE%s\n",
			is_host ? "; hosts are those of the requests" : "");
		return false;
	}
	return true;
}

static bool check(struct comparing *c)
{
	const struct args *args = c->args;
	double requests_max = 0;
	bool has_source = args->files.count != 0 || args->log != NULL;
	if (args->old_url == NULL || args->new_url == NULL || !has_source ||
		args->rest.count != 0) {
		fputs("sluicectl: compare needs --old URL, --new URL, and manifests by --filename "
		      "or --log FILE\n",
			stderr);
		return false;
	}
	bool is_good = take_number("rate", args->rate, rate_usual, rate_max, &c->rate) &&
		       take_number("requests", args->requests, REQUESTS_USUAL, REPLAY_REQUESTS_MAX,
			       &requests_max) &&
		       take_number("timeout", args->timeout, timeout_usual_s, timeout_max_s,
			       &c->options.timeout_s) &&
		       check_headers(&args->headers);
	c->requests_max = (size_t)requests_max;
	c->options.headers = &args->headers;
	c->options.verifies = args->verify;
	c->options.on_wait = tell_progress;
	c->options.ctx = c;
	c->criteria = (struct replay_criteria){
		.backend_header = args->backend_header,
		.ignored = &args->ignored_headers,
		.bodies = args->bodies,
	};
	return is_good;
}

static bool open_senders(struct comparing *c)
{
	char *problem = NULL;
	c->old = replay_sender_new(c->args->old_url, &c->options, &problem);
	if (problem == NULL)
		c->new = replay_sender_new(c->args->new_url, &c->options, &problem);
	if (problem != NULL)
		command_complain(problem);
	return c->old != NULL && c->new != NULL;
}

/* ---- what to ask ---- */

static bool read_log(struct comparing *c, const struct replay_log *log)
{
	const char *path = c->args->log;
	FILE *file = strcmp(path, "-") == 0 ? stdin : fopen(path, "re");
	char *line = xcalloc(1, REPLAY_LINE_MAX);
	bool is_whole = true;
	while (file != NULL && fgets(line, REPLAY_LINE_MAX, file) != NULL) {
		bool was_whole = is_whole;
		is_whole = strchr(line, '\n') != NULL;
		/* The rest of a line that is too long is no line. */
		if (was_whole && is_whole)
			replay_log_take(log, str_trim(str_from(line)), &c->requests);
		else if (was_whole && feof(file))
			replay_log_take(log, str_trim(str_from(line)), &c->requests);
		else if (was_whole)
			c->requests.unusable++;
	}
	bool is_read = file != NULL && ferror(file) == 0;
	if (!is_read)
		command_complain(xasprintf("%s: %s", path, strerror(errno)));
	if (file != NULL && file != stdin)
		(void)fclose(file);
	free(line);
	return is_read;
}

static bool add_logged(struct comparing *c, const struct migrate_objects *objects)
{
	struct replay_log log = {
		.host = str_from(c->args->host),
		.with_unsafe = c->args->unsafe_methods,
	};
	struct arena arena;
	arena_init(&arena);
	if (objects != NULL)
		replay_log_find_homes(&log, objects, &arena);
	bool is_good = read_log(c, &log);
	arena_fini(&arena);
	return is_good;
}

/* With a log, its requests are sent and the manifests say their hosts. */
static int add_requests(struct comparing *c, struct line *line)
{
	struct migrate_objects objects = {.documents = NULL};
	char *problem = line != NULL ? migrate_objects_read(line_documents(line), &objects) : NULL;
	if (problem != NULL) {
		command_complain(problem);
		return CTL_EXIT_INPUT;
	}
	bool is_good = c->args->log == NULL || add_logged(c, line != NULL ? &objects : NULL);
	if (line != NULL) {
		if (c->args->log == NULL)
			replay_requests_derive(
				&c->requests, &objects, migrate_line_prefix(c->args));
		migrate_objects_free(&objects);
	}
	return is_good ? CTL_EXIT_GOOD : CTL_EXIT_INPUT;
}

static int find_requests(struct comparing *c)
{
	int code = CTL_EXIT_GOOD;
	struct line *line = NULL;
	replay_requests_init(&c->requests, c->requests_max);
	if (c->args->files.count != 0) {
		line = migrate_line_run(c->args, "nginx", STR(""), &code);
		if (line == NULL)
			return code;
	}
	code = add_requests(c, line);
	line_free(line);
	return code;
}

/* ---- asking ---- */

static void wait_until(double at_s)
{
	double rest_s = at_s - clock_monotonic_s();
	if (rest_s <= 0)
		return;
	struct timespec pause = {.tv_sec = (time_t)rest_s};
	pause.tv_nsec = (long)((rest_s - (double)pause.tv_sec) * 1e9);
	(void)nanosleep(&pause, NULL);
}

static struct replay_differences ask_both(
	struct comparing *c, const struct replay_request *request, struct arena *arena)
{
	struct replay_answer old = replay_send(c->old, request, arena);
	struct replay_answer new = replay_send(c->new, request, arena);
	return replay_compare(&old, &new, &c->criteria, arena);
}

static bool is_nothing_answered(const struct replay_tally *tally)
{
	return tally->asked != 0 && tally->unanswered == tally->asked;
}

static bool is_hopeless(const struct replay_tally *tally)
{
	return tally->asked >= FAILURES_MAX && is_nothing_answered(tally);
}

/* What differs is asked again, because something may just have changed. */
static void ask_all(struct comparing *c)
{
	struct arena scratch;
	double next_s = clock_monotonic_s();
	arena_init(&scratch);
	progress_begin(&c->progress, "requests");
	for (size_t i = 0; i < c->requests.count && !is_hopeless(&c->tally); i++) {
		const struct replay_request *request = &c->requests.items[i];
		wait_until(next_s);
		next_s += 1 / c->rate;
		struct replay_differences found = ask_both(c, request, &scratch);
		bool is_unsteady = false;
		if (found.count != 0) {
			wait_until(next_s);
			next_s += 1 / c->rate;
			found = ask_both(c, request, &scratch);
			is_unsteady = found.count == 0;
		}
		if (is_unsteady)
			c->tally.unsteady++;
		else
			replay_tally_add(&c->tally, request, &found);
		c->done = i + 1;
		tell_progress(c);
		arena_reset(&scratch);
	}
	progress_end(&c->progress);
	arena_fini(&scratch);
	replay_tally_sort(&c->tally);
}

static void print(const struct comparing *c)
{
	const struct replay_result result = {
		c->args->old_url, c->args->new_url, &c->tally, &c->requests, &c->criteria};
	const char *form = c->args->output;
	bool is_yaml = form != NULL && strcmp(form, "yaml") == 0;
	struct buf text;
	if (!is_yaml && (form == NULL || strcmp(form, "json") != 0)) {
		replay_print_people(&result);
		return;
	}
	buf_init(&text, JSON_MAX);
	must(replay_print_json(&result, &text) == 0);
	show_print(stdout, buf_str(&text), is_yaml);
	buf_fini(&text);
}

static int run(struct comparing *c)
{
	int code = find_requests(c);
	if (code != CTL_EXIT_GOOD)
		return code;
	if (c->requests.count == 0) {
		fputs("sluicectl: there is no request to send: neither an Ingress with a host and "
		      "a path, nor a line of a log\n",
			stderr);
		return CTL_EXIT_INPUT;
	}
	ask_all(c);
	print(c);
	if (is_nothing_answered(&c->tally))
		return CTL_EXIT_AWAY;
	return c->tally.grave + c->tally.light + c->tally.unsteady != 0 ? CTL_EXIT_FINDINGS
									: CTL_EXIT_GOOD;
}

int command_compare(const struct args *args)
{
	struct comparing c = {.args = args};
	int code = CTL_EXIT_USAGE;
	replay_tally_init(&c.tally);
	if (check(&c) && open_senders(&c))
		code = run(&c);
	replay_sender_free(c.old);
	replay_sender_free(c.new);
	if (c.requests.slots != NULL)
		replay_requests_free(&c.requests);
	replay_tally_free(&c.tally);
	return code;
}
