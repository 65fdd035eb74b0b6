// SPDX-License-Identifier: Apache-2.0
/* diff: the running line, or other manifests, and what would be there. */
#include "common/xalloc.h"
#include "proto/frame.h"
#include "proto/inspection.h"
#include "sluicectl/commands.h"
#include "sluicectl/compare.h"
#include "sluicectl/live.h"
#include "sluicectl/offline_commands.h"

#include <stdlib.h>
#include <string.h>

/* The provider that is connected, for what it can do; NULL: not known. */
static const char *connected_provider(const struct ask *question)
{
	struct inspection_status status;
	struct schema_error error = {""};
	struct arena arena;
	struct buf body;
	char *problem = NULL;
	const char *name = NULL;
	buf_init(&body, ASK_LEN_MAX);
	arena_init(&arena);
	if (ask(question, "translator", "/status", &body, &problem) == ASK_GOOD &&
		inspection_decode(
			&inspection_status_schema, buf_str(&body), &arena, &status, &error) == 0 &&
		status.peers.count == 2) {
		char *given = str_dup(status.peers.items[1].name);
		const struct offline *provider = line_provider(given);
		name = provider != NULL ? provider->name : NULL;
		free(given);
	}
	arena_fini(&arena);
	buf_fini(&body);
	free(problem);
	return name;
}

/* Every record of a list into both lines. */
static int take_records(struct buf *body, struct line *before, struct line *after)
{
	struct str payload;
	while (frame_next(body, &payload) == FRAME_READY) {
		if (line_put_record(before, payload) != 0 || line_put_record(after, payload) != 0) {
			command_complain(
				xstrdup("the translator's list holds something else than records"));
			return CTL_EXIT_AWAY;
		}
		buf_consume(body, frame_len_of(payload));
	}
	return CTL_EXIT_GOOD;
}

static int take_running(const struct ask *question, struct line *before, struct line *after)
{
	static const char *const types[] = {
		"ingress-class", "ingress", "service", "endpoints", "secret"};
	int code = CTL_EXIT_GOOD;
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]) && code == CTL_EXIT_GOOD; i++) {
		struct buf body;
		buf_init(&body, ASK_LEN_MAX);
		code = live_fetch(question, types[i], "", &body);
		if (code == CTL_EXIT_GOOD)
			code = take_records(&body, before, after);
		buf_fini(&body);
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
		if (is_new(&new[i], old, old_count))
			printf("new warning: %.*s %.*s/%.*s: %.*s: %.*s\n", STR_FMT(new[i].kind),
				STR_FMT(new[i].namespace), STR_FMT(new[i].name),
				STR_FMT(new[i].reason), STR_FMT(new[i].message));
	}
}

static int compare(const struct args *args, struct line *before, struct line *after)
{
	struct comparison counts;
	line_run(before);
	line_run(after);
	compare_print(
		stdout, line_state(before), line_state(after), command_has_color(args), &counts);
	print_new_findings(before, after);
	printf("%zu added, %zu changed, %zu removed\n", counts.added, counts.changed,
		counts.removed);
	return counts.added + counts.changed + counts.removed != 0 ? CTL_EXIT_FINDINGS
								   : CTL_EXIT_GOOD;
}

static int with_running(const struct args *args, const struct ask *question)
{
	static const struct text_list none = {0};
	int code = CTL_EXIT_GOOD;
	const char *provider = connected_provider(question);
	const char *fallback = provider != NULL ? provider : "haproxy";
	struct line *before = offline_open(args, &none, fallback, &code);
	struct line *after = before != NULL ? offline_open(args, &none, fallback, &code) : NULL;
	if (after != NULL)
		code = take_running(question, before, after);
	if (after != NULL && code == CTL_EXIT_GOOD)
		code = offline_read(after, args, &args->files);
	if (after != NULL && code == CTL_EXIT_GOOD)
		code = compare(args, before, after);
	line_free(before);
	line_free(after);
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
	struct line *before = offline_open(args, &args->against, "haproxy", &code);
	struct line *after =
		before != NULL ? offline_open(args, &args->files, "haproxy", &code) : NULL;
	if (after != NULL)
		code = compare(args, before, after);
	line_free(before);
	line_free(after);
	return code;
}
