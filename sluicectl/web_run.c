// SPDX-License-Identifier: Apache-2.0
#include "sluicectl/web_run.h"

#include "common/command.h"
#include "common/json.h"
#include "common/must.h"
#include "common/xalloc.h"
#include "sluicectl/exits.h"

#include <bsd/sys/queue.h>
#include <stdio.h>
#include <stdlib.h>

enum { PIECE_LEN = 32 * 1024, PROBLEM_LEN_MAX = 4 * 1024, OWN_WORDS_MAX = 3 };

struct run {
	TAILQ_ENTRY(run) link;
	struct web_runs *runs;
	const struct web_api *api;
	struct admin_reply *reply;
	struct command *command; /* NULL: it waits */
	struct arena arena;
	const char *words[OWN_WORDS_MAX + WEB_WORDS_MAX];
};

struct web_runs {
	struct ev_loop *loop;
	char *runtime_dir; /* as an option */
	char *timeout;     /* as an option */
	TAILQ_HEAD(run_list, run)
	waiting;
	size_t running;
	bool is_ending;
};

/* ---- answers ---- */

struct text {
	struct buf body;
};

static enum admin_turn produce_text(void *state, struct buf *out)
{
	struct text *text = state;
	size_t len = buf_len(&text->body) < PIECE_LEN ? buf_len(&text->body) : PIECE_LEN;
	if (len != 0 && buf_append(out, buf_data(&text->body), len) != 0)
		return ADMIN_END;
	buf_consume(&text->body, len);
	return buf_len(&text->body) != 0 ? ADMIN_MORE : ADMIN_END;
}

static void release_text(void *state)
{
	struct text *text = state;
	buf_fini(&text->body);
	free(text);
}

static void reply_output(struct admin_reply *reply, const char *type, struct str output)
{
	static const struct admin_producer producer = {produce_text, release_text};
	struct text *text = xcalloc(1, sizeof(*text));
	buf_init(&text->body, output.len);
	must(buf_append_str(&text->body, output) == 0);
	admin_reply_stream(reply, 200, type, &producer, text);
}

static void reply_problem(struct admin_reply *reply, int status, struct str problem)
{
	struct buf body;
	problem.len = problem.len < PROBLEM_LEN_MAX ? problem.len : PROBLEM_LEN_MAX;
	char *clean = str_dup_utf8(problem);
	buf_init(&body, ADMIN_WHOLE_LEN_MAX);
	must(buf_append_str(&body, STR("{\"error\":")) == 0);
	must(json_put_text(&body, str_from(clean)) == 0);
	must(buf_append_str(&body, STR("}\n")) == 0);
	admin_reply_bytes(reply, status, "application/json", buf_str(&body));
	buf_fini(&body);
	free(clean);
}

static int status_of(int exit_code)
{
	switch (exit_code) {
	case CTL_EXIT_USAGE:
		return 400;
	case CTL_EXIT_AWAY:
		return 503;
	case CTL_EXIT_NOT_FOUND:
		return 404;
	default:
		return 500;
	}
}

/* What it has said, without its name and the end of the line. */
static struct str problem_of(const struct command *command)
{
	static const struct str name = STR("sluicectl: ");
	struct str text = str_trim(command_errors(command));
	return str_starts_with(text, name) ? str_skip(text, name.len) : text;
}

static void reply_failure(const struct run *run, enum command_outcome outcome)
{
	if (outcome == COMMAND_TIMEOUT)
		reply_problem(run->reply, 504, STR("there was no answer in time"));
	else if (outcome == COMMAND_KILLED || outcome == COMMAND_UNSTARTED)
		reply_problem(
			run->reply, 500, STR("the command could not be run; is there memory?"));
	else
		reply_problem(run->reply, status_of(command_exit_status(run->command)),
			problem_of(run->command));
}

static bool is_told(const struct run *run, enum command_outcome outcome, struct str output)
{
	if (outcome == COMMAND_SUCCEEDED)
		return true;
	if (outcome != COMMAND_FAILED || output.len == 0)
		return false;
	int code = command_exit_status(run->command);
	return code == CTL_EXIT_FINDINGS ||
	       (code == CTL_EXIT_AWAY && web_api_tells_anyway(run->api));
}

/* ---- runs ---- */

static void start_next(struct web_runs *runs);

static void free_run(struct run *run)
{
	arena_fini(&run->arena);
	free(run);
}

static void end_run(struct run *run)
{
	struct web_runs *runs = run->runs;
	free_run(run);
	runs->running--;
	start_next(runs);
}

static void on_done(void *ctx, enum command_outcome outcome, struct str output)
{
	struct run *run = ctx;
	if (!is_told(run, outcome, output))
		reply_failure(run, outcome);
	else if (command_is_cut(run->command))
		reply_problem(run->reply, 500, STR("the answer is longer than 8 MB: ask for less"));
	else
		reply_output(run->reply, web_api_type(run->api), output);
	end_run(run);
}

static void on_gone(void *ctx)
{
	struct run *run = ctx;
	if (run->command == NULL) {
		TAILQ_REMOVE(&run->runs->waiting, run, link);
		free_run(run);
		return;
	}
	command_cancel(run->command);
	end_run(run);
}

static void start_next(struct web_runs *runs)
{
	struct run *run = TAILQ_FIRST(&runs->waiting);
	if (run == NULL || runs->running == WEB_RUNS_MAX || runs->is_ending)
		return;
	TAILQ_REMOVE(&runs->waiting, run, link);
	runs->running++;
	/* The array is only read. */
	run->command = command_start_call(&(struct command_call){
		.loop = runs->loop,
		.argv = (char *const *)(uintptr_t)run->words,
		.timeout_s = WEB_RUN_S,
		.output_max = WEB_ANSWER_LEN_MAX,
		.has_own_errors = true,
		.on_done = on_done,
		.ctx = run,
	});
}

void web_runs_add(struct web_runs *runs, const struct web_api *api, struct str query,
	struct admin_reply *reply)
{
	struct run *run = xcalloc(1, sizeof(*run));
	run->runs = runs;
	run->api = api;
	run->reply = reply;
	arena_init(&run->arena);
	run->words[0] = "/proc/self/exe";
	run->words[1] = runs->runtime_dir;
	run->words[2] = runs->timeout;
	char *problem = web_api_words(api, query, &run->arena, run->words + OWN_WORDS_MAX);
	if (problem != NULL) {
		reply_problem(reply, 400, str_from(problem));
		free(problem);
		free_run(run);
		return;
	}
	admin_reply_later(reply, on_gone, run);
	TAILQ_INSERT_TAIL(&runs->waiting, run, link);
	start_next(runs);
}

/* ---- life ---- */

struct web_runs *web_runs_new(struct ev_loop *loop, const char *runtime_dir, double timeout_s)
{
	struct web_runs *runs = xcalloc(1, sizeof(*runs));
	runs->loop = loop;
	runs->runtime_dir = xasprintf("--runtime-dir=%s", runtime_dir);
	runs->timeout = xasprintf("--timeout=%g", timeout_s);
	TAILQ_INIT(&runs->waiting);
	return runs;
}

void web_runs_stop(struct web_runs *runs)
{
	runs->is_ending = true;
}

void web_runs_free(struct web_runs *runs)
{
	must(TAILQ_EMPTY(&runs->waiting) && runs->running == 0);
	free(runs->runtime_dir);
	free(runs->timeout);
	free(runs);
}
