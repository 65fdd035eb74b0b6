// SPDX-License-Identifier: Apache-2.0
/* status and events. */
#include "common/must.h"
#include "common/xalloc.h"
#include "proto/inspection.h"
#include "sluicectl/about.h"
#include "sluicectl/command_output.h"
#include "sluicectl/commands.h"
#include "common/json.h"
#include "sluicectl/live.h"
#include "sluicectl/reasons.h"
#include "sluicectl/show.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { TEXT_MAX = 1024 * 1024 };

static const char red[] = "\033[31m";
static const char green[] = "\033[32m";
static const char yellow[] = "\033[33m";
static const char plain[] = "\033[0m";

/* ---- status ---- */

struct program {
	char name[ASK_NAME_LEN_MAX];
	enum ask_outcome outcome;
	char *words; /* what it waits for, or why it does not respond; if ready: other remarks; NULL: none */
	struct buf said;    /* /about */
	struct buf metrics; /* /metrics */
	struct about about; /* points into both */
};

struct standing {
	struct ask ask;
	struct program programs[ASK_PROGRAMS_MAX];
	size_t count;
	bool has_status;
	struct buf body;
	struct arena arena;
	struct inspection_status status; /* of the translator */
	bool has_color;
};

/* What a program reports about itself; programs by others need not report anything. */
static void read_about(const struct standing *s, struct program *program)
{
	char *problem = NULL;
	buf_init(&program->said, TEXT_MAX);
	buf_init(&program->metrics, TEXT_MAX);
	if (program->outcome != ASK_GOOD && program->outcome != ASK_UNREADY)
		return;
	if (ask(&s->ask, program->name, "/about", &program->said, &problem) == ASK_GOOD)
		about_read(&program->about, buf_str(&program->said));
	free(problem);
	if (ask(&s->ask, program->name, "/metrics", &program->metrics, &problem) == ASK_GOOD)
		about_read_metrics(&program->about, buf_str(&program->metrics));
	free(problem);
}

static void add_program(struct standing *s, const char *name)
{
	struct buf body;
	struct program *program = &s->programs[s->count++];
	snprintf(program->name, sizeof(program->name), "%s", name);
	buf_init(&body, TEXT_MAX);
	program->outcome = ask(&s->ask, name, "/readyz", &body, &program->words);
	/* The whole body; of a ready program the first line only says that it is ready. */
	struct str lines = buf_str(&body);
	if (lines.len != 0)
		lines.len--;
	const char *first_end = str_find(lines, '\n');
	if (program->outcome == ASK_GOOD)
		lines = first_end != NULL ? str_skip(lines, (size_t)(first_end - lines.p) + 1)
					  : STR_NONE;
	if ((program->outcome == ASK_GOOD || program->outcome == ASK_UNREADY) && lines.len != 0) {
		free(program->words);
		program->words = str_dup_utf8(lines);
	}
	buf_fini(&body);
	read_about(s, program);
}

static bool is_known(const struct standing *s, const char *name)
{
	for (size_t i = 0; i < s->count; i++) {
		if (strcmp(s->programs[i].name, name) == 0)
			return true;
	}
	return false;
}

/* In the order of the line; the first two belong to every line, even if their sockets are missing. */
static void collect_status(struct standing *s)
{
	char names[ASK_PROGRAMS_MAX - 3][ASK_NAME_LEN_MAX];
	char *problem = NULL;
	struct schema_error error = {""};
	size_t count = ask_programs(&s->ask, names, ASK_PROGRAMS_MAX - 3);
	add_program(s, "watcher");
	add_program(s, "translator");
	for (size_t i = 0; i < count; i++) {
		if (!is_known(s, names[i]))
			add_program(s, names[i]);
	}
	buf_init(&s->body, TEXT_MAX);
	arena_init(&s->arena);
	bool is_there = s->programs[1].outcome == ASK_GOOD || s->programs[1].outcome == ASK_UNREADY;
	s->has_status = is_there &&
			ask(&s->ask, "translator", "/status", &s->body, &problem) == ASK_GOOD &&
			inspection_decode(&inspection_status_schema, buf_str(&s->body), &s->arena,
				&s->status, &error) == 0;
	free(problem);
}

static bool has_provider(const struct standing *s)
{
	return s->has_status && s->status.peers.count == 2 && s->status.peers.items[1].is_up;
}

/* A killed program leaves its socket behind; if another one has replaced it, that does not matter. */
static bool is_replaced(const struct standing *s, const struct program *program)
{
	return program->outcome == ASK_ENDED && program - s->programs >= 2 && has_provider(s);
}

static const char *color_of(enum ask_outcome outcome)
{
	return outcome == ASK_GOOD ? green : outcome == ASK_UNREADY ? yellow : red;
}

static const char *word_of(enum ask_outcome outcome)
{
	switch (outcome) {
	case ASK_GOOD:
		return "ready";
	case ASK_UNREADY:
		return "waits for";
	case ASK_ENDED:
		return "does not run";
	default:
		return "does not answer";
	}
}

static void print_program(const struct standing *s, const struct program *program)
{
	const char *color = !s->has_color             ? ""
			    : is_replaced(s, program) ? plain
						      : color_of(program->outcome);
	printf("  %s●%s %-18s %s%s%s", color, s->has_color ? plain : "", program->name, color,
		word_of(program->outcome), s->has_color ? plain : "");
	const char *words = is_replaced(s, program)
				    ? "it has ended, and another provider is connected"
				    : program->words;
	char room[32];
	for (const char *end, *first = words; words != NULL; words = end) {
		size_t len = strcspn(words, "\n");
		end = words[len] != '\0' ? words + len + 1 : NULL;
		printf("%s%.*s", words == first ? ": " : "; ", (int)len, words);
	}
	if (program->about.version.len != 0)
		printf(" (%.*s, up %s)", STR_FMT(program->about.version),
			live_age(program->about.started, room));
	fputc('\n', stdout);
}

/* Below a program: the line continues to the next one, or ends. */
static const char *edge_of(const struct standing *s, const struct program *program)
{
	return program - s->programs < 2 ? "  │   " : "      ";
}

/* The last error, unless the program has become ready since. */
static void print_problem(const struct standing *s, const struct program *program)
{
	const struct about *about = &program->about;
	char room[32];
	if (about->problem.len == 0 || (about->ready != 0 && about->problem_at <= about->ready))
		return;
	printf("%s%slast error%s %s ago: %.*s\n", edge_of(s, program), s->has_color ? yellow : "",
		s->has_color ? plain : "", live_age(about->problem_at, room),
		STR_FMT(about->problem));
	if (about->remedy.len != 0)
		printf("%s  → %.*s\n", edge_of(s, program), STR_FMT(about->remedy));
}

static void print_tally(const struct about_count *counts, size_t count)
{
	for (size_t i = 0; i < count; i++)
		printf("%s%" PRIu64 " %.*s", i != 0 ? ", " : "", counts[i].count,
			STR_FMT(counts[i].what));
}

/* Its lag, its position, and its counts. */
static void print_load(const struct standing *s, const struct program *program)
{
	const struct about *about = &program->about;
	const char *edge = edge_of(s, program);
	for (size_t i = 0; i < about->lost_count; i++)
		printf("%s%s%.*s%s", i == 0 ? edge : "", i == 0 ? "not followed: " : ", ",
			STR_FMT(about->lost[i].what), i + 1 < about->lost_count ? "" : "; ");
	if (about->lost_count != 0)
		printf("at most %.0fs behind Kubernetes\n", about->lag_s);
	if (about->waiting != 0)
		printf("%s%" PRIu64 " changes waiting\n", edge, about->waiting);
	if (about->state_count == 0)
		return;
	fputs(edge, stdout);
	print_tally(about->counts, about->count);
	printf("\n%sload balancers: ", edge);
	print_tally(about->states, about->state_count);
	fputc('\n', stdout);
}

static void print_counts(const struct standing *s, size_t from, size_t to)
{
	fputs("  │   ", stdout);
	for (size_t i = from; i < to && i < s->status.counts.count; i++)
		printf("%s%llu %.*s", i != from ? ", " : "",
			(unsigned long long)s->status.counts.items[i].count,
			STR_FMT(s->status.counts.items[i].what));
	fputc('\n', stdout);
}

static void print_link(const struct standing *s, size_t index)
{
	char room[32];
	if (!s->has_status || index >= s->status.peers.count) {
		puts("  │");
		return;
	}
	const struct inspection_peer *peer = &s->status.peers.items[index];
	const char *color = !s->has_color ? "" : peer->is_up ? green : red;
	if (!peer->is_up && peer->since == 0)
		printf("  ┆   %snever connected%s\n", color, s->has_color ? plain : "");
	else
		printf("  %s   %s%s%s %.*s for %s, %llu waiting\n", peer->is_up ? "│" : "┆", color,
			peer->is_up ? "connected" : "lost", s->has_color ? plain : "",
			STR_FMT(peer->software), live_age(peer->since, room),
			(unsigned long long)peer->waiting);
}

static void print_picture(const struct standing *s)
{
	const size_t records = RECORD_KIND_COUNT - 1;
	puts("    Kubernetes");
	puts("  │");
	print_program(s, &s->programs[0]);
	print_load(s, &s->programs[0]);
	print_problem(s, &s->programs[0]);
	print_link(s, 0);
	if (s->has_status)
		print_counts(s, 0, records);
	print_program(s, &s->programs[1]);
	print_problem(s, &s->programs[1]);
	print_link(s, 1);
	if (s->has_status)
		print_counts(s, records, s->status.counts.count);
	for (size_t i = 2; i < s->count; i++) {
		print_program(s, &s->programs[i]);
		print_load(s, &s->programs[i]);
		print_problem(s, &s->programs[i]);
	}
	if (s->count == 2)
		puts("    no provider here");
	if (s->has_status && s->status.trouble.len != 0)
		printf("\n  last error: %s%.*s%s\n", s->has_color ? red : "",
			STR_FMT(s->status.trouble), s->has_color ? plain : "");
}

static int put_program(const struct program *program, struct buf *out)
{
	static const char *const words[] = {[ASK_GOOD] = "ready",
		[ASK_UNREADY] = "waiting",
		[ASK_ENDED] = "ended",
		[ASK_AWAY] = "away",
		[ASK_BAD] = "away",
		[ASK_NOT_FOUND] = "away"};
	int err = buf_printf(out, "{\"program\":\"%s\",\"state\":\"%s\"", program->name,
		words[program->outcome]);
	if (err == 0 && program->words != NULL) {
		err = buf_printf(out, ",\"message\":");
		if (err == 0)
			err = json_put_text(out, str_from(program->words));
	}
	if (err == 0)
		err = about_put_json(&program->about, out);
	return err == 0 ? buf_append(out, "}", 1) : err;
}

static void print_json(const struct standing *s, bool is_yaml)
{
	struct buf out;
	buf_init(&out, TEXT_MAX);
	int err = buf_printf(&out, "{\"programs\":[");
	for (size_t i = 0; i < s->count && err == 0; i++) {
		err = i != 0 ? buf_append(&out, ",", 1) : 0;
		if (err == 0)
			err = put_program(&s->programs[i], &out);
	}
	if (err == 0)
		err = buf_printf(&out, "]");
	if (err == 0 && s->has_status)
		err = buf_printf(&out, ",\"line\":");
	if (err == 0 && s->has_status)
		err = show_json(&inspection_status_schema, &s->status, &out);
	if (err == 0)
		err = buf_append(&out, "}", 1);
	must(err == 0);
	show_print(stdout, buf_str(&out), is_yaml);
	buf_fini(&out);
}

static int exit_code_of(const struct standing *s)
{
	int code = CTL_EXIT_GOOD;
	for (size_t i = 0; i < s->count; i++) {
		if (is_replaced(s, &s->programs[i]))
			continue;
		if (s->programs[i].outcome == ASK_UNREADY && code == CTL_EXIT_GOOD)
			code = CTL_EXIT_FINDINGS;
		else if (s->programs[i].outcome != ASK_GOOD &&
			 s->programs[i].outcome != ASK_UNREADY)
			code = CTL_EXIT_AWAY;
	}
	/* A missing provider counts as away, whether or not it has left its socket. */
	if (s->has_status && !has_provider(s))
		code = CTL_EXIT_AWAY;
	if (code == CTL_EXIT_GOOD && s->status.trouble.len != 0)
		code = CTL_EXIT_FINDINGS;
	return code;
}

int command_status(const struct args *args)
{
	struct standing s = {.has_color = command_has_color(args)};
	enum output_form form = live_form(args);
	if (!live_open(args, &s.ask))
		return CTL_EXIT_USAGE;
	collect_status(&s);
	if (form == FORM_TABLE || form == FORM_WIDE)
		print_picture(&s);
	else
		print_json(&s, form == FORM_YAML);
	int code = exit_code_of(&s);
	for (size_t i = 0; i < s.count; i++) {
		free(s.programs[i].words);
		buf_fini(&s.programs[i].said);
		buf_fini(&s.programs[i].metrics);
	}
	buf_fini(&s.body);
	arena_fini(&s.arena);
	return code;
}

/* ---- events ---- */

struct following {
	enum output_form form;
};

/* As in the logs and in what kubectl says, with which it is compared. */
static void print_event(const struct inspection_event *event)
{
	char clock[32] = "";
	time_t at = (time_t)event->at;
	struct tm parts;
	if (gmtime_r(&at, &parts) != NULL)
		(void)strftime(clock, sizeof(clock), "%Y-%m-%dT%H:%M:%SZ", &parts);
	printf("%s  %-8s %.*s%s%.*s%s%.*s: %.*s: ", clock,
		event->type == EVENT_WARNING ? "warning" : "normal", STR_FMT(event->kind),
		event->kind.len != 0 ? " " : "", STR_FMT(event->namespace),
		event->namespace.len != 0 ? "/" : "", STR_FMT(event->name), STR_FMT(event->reason));
	command_print_clean(event->message);
	putchar('\n');
}

static bool take_event(void *ctx, struct str payload)
{
	const struct following *f = ctx;
	struct inspection_event event;
	struct schema_error error = {""};
	struct arena arena;
	struct buf json;
	arena_init(&arena);
	bool is_good =
		inspection_decode(&inspection_event_schema, payload, &arena, &event, &error) == 0;
	if (is_good && (f->form == FORM_TABLE || f->form == FORM_WIDE)) {
		print_event(&event);
	} else if (is_good) {
		buf_init(&json, TEXT_MAX);
		must(show_json(&inspection_event_schema, &event, &json) == 0);
		fputs(f->form == FORM_YAML ? "---\n" : "", stdout);
		show_print(stdout, buf_str(&json), f->form == FORM_YAML);
		buf_fini(&json);
	}
	arena_fini(&arena);
	/* Each event is shown at once; once our output is closed, no more are wanted. */
	return is_good && fflush(stdout) == 0;
}

int command_events(const struct args *args)
{
	struct ask question;
	struct following f = {.form = live_form(args)};
	char *problem = NULL;
	if (!live_open(args, &question))
		return CTL_EXIT_USAGE;
	enum ask_outcome outcome = ask_frames(&question, "translator",
		args->once ? "/events?past=only" : "/events?past=true", !args->once, take_event, &f,
		&problem);
	if (outcome != ASK_GOOD)
		return live_complain(outcome, problem);
	if (args->once)
		return CTL_EXIT_GOOD;
	/* The stream ends only if the translator ends. */
	command_complain(xstrdup("the translator has ended"));
	return CTL_EXIT_AWAY;
}
