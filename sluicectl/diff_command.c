// SPDX-License-Identifier: Apache-2.0
/* diff: the running line, or one set of manifests, compared with other manifests. */
#include "common/xalloc.h"
#include "proto/frame.h"
#include "proto/inspection.h"
#include "sluicectl/commands.h"
#include "sluicectl/compare.h"
#include "sluicectl/live.h"
#include "sluicectl/offline_commands.h"
#include "sluicectl/programs.h"

#include <stdlib.h>
#include <string.h>

enum { RECORDS_LEN_MAX = 1024 * 1024 * 1024 };

/* The connected provider, whose capabilities count; NULL: unknown, or not installed. The caller frees it. */
static char *connected_provider(const struct ask *question)
{
	struct inspection_status status;
	struct schema_error error = {""};
	struct arena arena;
	struct buf body;
	char *problem = NULL;
	char *name = NULL;
	buf_init(&body, ASK_LEN_MAX);
	arena_init(&arena);
	if (ask(question, "translator", "/status", &body, &problem) == ASK_GOOD &&
		inspection_decode(
			&inspection_status_schema, buf_str(&body), &arena, &status, &error) == 0 &&
		status.peers.count == 2) {
		char *given = str_dup(status.peers.items[1].name);
		char *program = program_find_provider(given);
		name = program != NULL ? given : NULL;
		free(program);
		if (name == NULL)
			free(given);
	}
	arena_fini(&arena);
	buf_fini(&body);
	free(problem);
	return name;
}

/* True if there are complete records, and nothing else. */
static bool are_records(struct str frames)
{
	struct message_reader *reader = message_reader_new();
	struct buf view;
	bool is_good = true;
	buf_init(&view, ASK_LEN_MAX);
	is_good = buf_append_str(&view, frames) == 0;
	struct str payload;
	while (is_good && frame_next(&view, &payload) == FRAME_READY) {
		struct schema_error error = {""};
		struct message message;
		is_good = message_open(reader, payload, &message, &error) == 0 &&
			  message.type == MESSAGE_UPSERT && message.record_kind != RECORD_NONE;
		buf_consume(&view, frame_len_of(payload));
	}
	is_good = is_good && buf_len(&view) == 0;
	buf_wipe_fini(&view);
	message_reader_free(reader);
	return is_good;
}

static int take_running(const struct ask *question, struct buf *records)
{
	static const char *const types[] = {"ingress-class", "ingress", "service", "endpoints",
		"secret", "config-map", "pod", "node"};
	int code = CTL_EXIT_GOOD;
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]) && code == CTL_EXIT_GOOD; i++) {
		struct buf body;
		buf_init(&body, ASK_LEN_MAX);
		code = live_fetch(question, types[i], "", &body);
		if (code == CTL_EXIT_GOOD &&
			(!are_records(buf_str(&body)) ||
				buf_append_str(records, buf_str(&body)) != 0)) {
			command_complain(
				xstrdup("the translator's list holds something else than records"));
			code = CTL_EXIT_AWAY;
		}
		buf_wipe_fini(&body);
	}
	return code;
}

static bool is_new(const struct line_finding *finding, const struct line_finding *old, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (str_eq(finding->namespace, old[i].namespace) &&
			str_eq(finding->name, old[i].name) &&
			str_eq(finding->reason, old[i].reason) &&
			str_eq(finding->message, old[i].message))
			return false;
	}
	return finding->type == EVENT_WARNING;
}

static void print_new_findings(struct line *before, struct line *after)
{
	const struct line_finding *old;
	const struct line_finding *new;
	size_t old_count = line_findings(before, &old);
	size_t new_count = line_findings(after, &new);
	for (size_t i = 0; i < new_count; i++) {
		if (!is_new(&new[i], old, old_count))
			continue;
		printf("new warning: %.*s ", STR_FMT(new[i].kind));
		command_print_clean(new[i].namespace);
		putchar('/');
		command_print_clean(new[i].name);
		printf(": %.*s: ", STR_FMT(new[i].reason));
		command_print_clean(new[i].message);
		putchar('\n');
	}
}

static int compare(const struct args *args, struct line *before, struct line *after)
{
	struct comparison counts;
	compare_print(
		stdout, line_state(before), line_state(after), command_has_color(args), &counts);
	print_new_findings(before, after);
	printf("%zu added, %zu changed, %zu removed\n", counts.added, counts.changed,
		counts.removed);
	return counts.added + counts.changed + counts.removed != 0 ? CTL_EXIT_FINDINGS
								   : CTL_EXIT_GOOD;
}

/* Runs both lines and compares the results. */
static int run(const struct line_request *old, const struct line_request *new)
{
	int code = CTL_EXIT_GOOD;
	struct line *before = line_run(old, &code);
	struct line *after = before != NULL ? line_run(new, &code) : NULL;
	if (after != NULL)
		code = compare(new->args, before, after);
	line_free(before);
	line_free(after);
	return code;
}

static int with_running(const struct args *args, const struct ask *question)
{
	static const struct text_list none = {0};
	struct buf records;
	buf_init(&records, RECORDS_LEN_MAX);
	char *connected = args->provider == NULL ? connected_provider(question) : NULL;
	struct line_request request = {
		.goal = LINE_STATE,
		.args = args,
		.provider = args->provider != NULL ? args->provider
			    : connected != NULL    ? connected
						   : OFFLINE_PROVIDER,
		.files = &none,
		.has_records = true,
	};
	int code = take_running(question, &records);
	request.records = buf_str(&records);
	struct line_request new = request;
	new.files = &args->files;
	if (code == CTL_EXIT_GOOD)
		code = run(&request, &new);
	free(connected);
	buf_wipe_fini(&records);
	return code;
}

int command_diff(const struct args *args)
{
	struct ask question;
	int code = CTL_EXIT_USAGE;
	if (args->files.count == 0 || args->rest.count != 0) {
		fputs("sluicectl: diff needs manifests by --filename, and nothing else\n", stderr);
		return code;
	}
	if (args->against.count == 0)
		return live_open(args, &question) ? with_running(args, &question) : code;
	const struct line_request old = {
		.goal = LINE_STATE,
		.args = args,
		.provider = args->provider != NULL ? args->provider : OFFLINE_PROVIDER,
		.files = &args->against,
	};
	struct line_request new = old;
	new.files = &args->files;
	return run(&old, &new);
}
