// SPDX-License-Identifier: Apache-2.0
/* request: what is done with one, by the objects of the running line, or of manifests. */
#include "common/xalloc.h"
#include "sluicectl/commands.h"
#include "sluicectl/decision_json.h"
#include "sluicectl/decision_source.h"
#include "sluicectl/live.h"
#include "sluicectl/offline_commands.h"
#include "sluicectl/request_print.h"
#include "sluicectl/request_read.h"
#include "sluicectl/show.h"

#include <stdlib.h>

static int print(const struct args *args, const struct load_balancer *balancer,
	const struct decision_request *request, const struct decision *decision)
{
	enum output_form form = live_form(args);
	struct buf json;
	int code = request_is_unserved(decision) ? CTL_EXIT_FINDINGS : CTL_EXIT_GOOD;
	if (form == FORM_TABLE || form == FORM_WIDE) {
		request_print(balancer, request, decision, command_has_color(args));
		return code;
	}
	buf_init(&json, ASK_LEN_MAX);
	if (decision_put_json(decision, &json) == 0)
		show_print(stdout, buf_str(&json), form == FORM_YAML);
	buf_fini(&json);
	return code;
}

static int decide(const struct args *args, struct state *state, struct decision_request *request)
{
	struct decision decision;
	struct arena arena;
	uint64_t port = 0;
	struct decision_source *source = decision_source_new(state);
	const struct load_balancer *balancer = decision_source_balancer(source, request, &port);
	int code = CTL_EXIT_NOT_FOUND;
	arena_init(&arena);
	if (balancer != NULL) {
		request->port = port;
		decision_make(
			decision_source_objects(source), balancer, request, &arena, &decision);
		code = print(args, balancer, request, &decision);
	} else {
		command_complain(xasprintf("no load balancer listens for %s%s",
			request->is_tls ? "HTTPS" : "HTTP",
			request->port != 0 ? " on that port" : ""));
	}
	arena_fini(&arena);
	decision_source_free(source);
	return code;
}

/* ---- the running line ---- */

struct reading {
	struct state *state;
	struct message_reader *reader;
	struct arena arena;
	char *problem; /* with an object; NULL: none */
};

static bool take_object(void *ctx, struct str payload)
{
	struct reading *r = ctx;
	struct schema_error error = {""};
	struct message message;
	int err = message_open(r->reader, payload, &message, &error);
	if (err == 0 && message.type == MESSAGE_UPSERT && message.lb_kind != LB_NONE)
		err = state_stage_upsert(r->state, &message, &r->arena, &error);
	arena_reset(&r->arena);
	if (err != 0)
		r->problem = xasprintf("the translator's list: %s", error.text);
	return err == 0;
}

static int read_objects(const struct ask *question, struct reading *r)
{
	static const char *const targets[] = {"/objects/load-balancer", "/objects/virtual-host",
		"/objects/pool", "/objects/policy", "/objects/users"};
	for (size_t i = 0; i < sizeof(targets) / sizeof(targets[0]); i++) {
		char *problem = NULL;
		enum ask_outcome outcome = ask_frames(
			question, "translator", targets[i], false, take_object, r, &problem);
		if (r->problem != NULL) {
			free(problem);
			command_complain(r->problem);
			return CTL_EXIT_AWAY;
		}
		if (outcome != ASK_GOOD)
			return live_complain(outcome, problem);
	}
	return CTL_EXIT_GOOD;
}

static int request_live(const struct args *args, struct decision_request *request)
{
	struct state_config config = {.want_touched = false};
	struct state_commit commit;
	struct ask question;
	if (!live_open(args, &question))
		return CTL_EXIT_USAGE;
	struct reading r = {.state = state_new(&config), .reader = message_reader_new()};
	arena_init(&r.arena);
	state_begin_snapshot(r.state);
	int code = read_objects(&question, &r);
	state_commit(r.state, &commit);
	state_commit_done(r.state);
	if (code == CTL_EXIT_GOOD)
		code = decide(args, r.state, request);
	message_reader_free(r.reader);
	arena_fini(&r.arena);
	state_free(r.state);
	return code;
}

static int request_offline(const struct args *args, struct decision_request *request)
{
	int code = CTL_EXIT_GOOD;
	struct line *line = offline_run(args, LINE_STATE, &code);
	if (line != NULL)
		code = decide(args, line_state(line), request);
	line_free(line);
	return code;
}

int command_request(const struct args *args)
{
	struct decision_request request;
	struct arena arena;
	int code = CTL_EXIT_USAGE;
	arena_init(&arena);
	char *problem = request_read(args, &arena, &request);
	if (problem != NULL)
		command_complain(problem);
	else
		code = args->files.count != 0 ? request_offline(args, &request)
					      : request_live(args, &request);
	arena_fini(&arena);
	return code;
}
