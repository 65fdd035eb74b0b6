// SPDX-License-Identifier: Apache-2.0
#include "sluicectl/line.h"

#include "common/json.h"
#include "common/must.h"
#include "common/tar.h"
#include "common/xalloc.h"
#include "proto/frame_stream.h"
#include "sluicectl/command_output.h"
#include "sluicectl/line_outcome.h"
#include "sluicectl/pipeline.h"
#include "sluicectl/programs.h"

#include <stdlib.h>
#include <string.h>

enum {
	OUTPUT_LEN_MAX = 1024 * 1024 * 1024,
	PROGRAM_COUNT = 3,
	COUNT_MAX = INT32_MAX,
};

/* In the order of the line. */
enum { WATCHER, TRANSLATOR, PROVIDER };

struct line {
	const struct line_request *request;
	char *paths[PROGRAM_COUNT];
	struct argument_list arguments[PROGRAM_COUNT];
	struct pipeline pipeline;
	struct buf hello;
	struct buf places;    /* lines of JSON */
	struct buf documents; /* likewise */
	struct buf events;    /* frames */
	struct buf notices;
	struct buf output; /* of the last program */
	struct hello provider;
	bool finds_endpoints; /* the provider finds endpoints by itself, and ignores those of pools */
	struct findings *findings;
	size_t counts[RECORD_KIND_COUNT];
	size_t foreign_count;
	struct state *state;
	struct state_commit commit;
	struct arena arena, scratch; /* as long as the line lives; for one message */
};

/* ---- output of the programs ---- */

static const char *const kind_names[RECORD_KIND_COUNT] = {[RECORD_NONE] = "object",
	[RECORD_INGRESS] = "Ingress",
	[RECORD_INGRESS_CLASS] = "IngressClass",
	[RECORD_SERVICE] = "Service",
	[RECORD_ENDPOINTS] = "EndpointSlice",
	[RECORD_SECRET] = "Secret",
	[RECORD_CONFIG_MAP] = "ConfigMap",
	[RECORD_POD] = "Pod",
	[RECORD_NODE] = "Node"};

/* Calls on_message for each message of a program's output. NULL, or an error message (allocated). */
static char *read_frames(const struct line *line, int program, struct buf *from,
	int (*on_message)(void *ctx, const struct message *message, struct schema_error *ret_error),
	void *ctx)
{
	struct message_reader *reader = message_reader_new();
	struct schema_error error = {""};
	struct str payload;
	int err = 0;
	while (err == 0 && frame_next(from, &payload) == FRAME_READY) {
		struct message message;
		err = message_open(reader, payload, &message, &error);
		if (err == 0)
			err = on_message(ctx, &message, &error);
		buf_consume(from, err == 0 ? frame_len_of(payload) : 0);
	}
	message_reader_free(reader);
	if (err == 0 && buf_len(from) == 0)
		return NULL;
	return xasprintf("%s writes what cannot be read: %s", line->paths[program],
		error.text[0] != '\0' ? error.text : "no whole frame");
}

static int on_event(void *ctx, const struct message *message, struct schema_error *ret_error)
{
	struct line *line = ctx;
	struct event_note note;
	if (message->type != MESSAGE_EVENT)
		return 0;
	int err = message_decode(message, &line->scratch, &note, ret_error);
	/* A cluster creates endpoints from pods; manifests rarely contain any. */
	bool is_told = err == 0 && (!str_eq(note.reason, STR("NoEndpoints")) ||
					   line->counts[RECORD_ENDPOINTS] != 0);
	if (is_told) {
		findings_add(line->findings, &(struct line_finding){
						     .type = note.type,
						     .kind = str_from(kind_names[note.key.kind]),
						     .namespace = note.key.namespace,
						     .name = note.key.name,
						     .reason = note.reason,
						     .message = note.message,
					     });
		line->foreign_count += str_eq(note.reason, STR("ClassNotOurs"));
	}
	arena_reset(&line->scratch);
	return err;
}

static void add_notice(struct line *line, const struct lb_notice *notice)
{
	struct str who = notice->ingress.len != 0 ? notice->ingress : notice->service;
	const char *slash = str_find(who, '/');
	size_t len = slash != NULL ? (size_t)(slash - who.p) : 0;
	bool is_service = notice->ingress.len == 0 && who.len != 0;
	findings_add(
		line->findings, &(struct line_finding){
					.type = EVENT_WARNING,
					.kind = is_service ? STR("Service") : STR("Ingress"),
					.namespace = {who.p, len},
					.name = slash != NULL ? str_skip(who, len + 1) : STR_NONE,
					.reason = notice->reason,
					.message = notice->message,
				});
}

static int on_status(void *ctx, const struct message *message, struct schema_error *ret_error)
{
	struct line *line = ctx;
	struct lb_status status;
	if (message->type != MESSAGE_LB_STATUS)
		return 0;
	int err = message_decode(message, &line->scratch, &status, ret_error);
	for (size_t i = 0; err == 0 && i < status.notices.count; i++)
		add_notice(line, &status.notices.items[i]);
	arena_reset(&line->scratch);
	return err;
}

/* ---- the watcher's lines of JSON ---- */

static struct str text_of(const struct json *object, const char *name)
{
	struct str text = STR_NONE;
	(void)json_get_str(object, name, &text);
	return text;
}

static void take_counts(struct line *line, const struct json *counts)
{
	for (int k = RECORD_NONE + 1; k < RECORD_KIND_COUNT; k++) {
		int64_t count = 0;
		if (json_get_int(
			    counts, record_kind_word((enum record_kind)k), 0, COUNT_MAX, 0, &count))
			line->counts[k] = (size_t)count;
	}
}

static void take_place(struct line *line, const struct json *object)
{
	struct manifest_place place = {.file = NULL};
	int64_t number = 0;
	struct str file = text_of(object, "file");
	struct str kind = text_of(object, "kind");
	struct str namespace = text_of(object, "namespace");
	struct str name = text_of(object, "name");
	struct str reason = text_of(object, "reason");
	if (json_get_int(object, "line", 0, UINT32_MAX, 0, &number))
		place.line = (unsigned)number;
	if (!str_is_empty(file))
		place.file = findings_file(line->findings, file);
	if (str_is_empty(reason)) {
		findings_note_place(line->findings, kind, namespace, name, &place);
		return;
	}
	findings_add(line->findings, &(struct line_finding){EVENT_WARNING, kind, namespace, name,
					     reason, text_of(object, "message"), place});
}

static char *read_places(struct line *line)
{
	struct str rest = buf_str(&line->places);
	while (rest.len != 0) {
		const char *problem = NULL;
		struct json *object = json_parse(str_cut(&rest, '\n'), &problem, NULL);
		if (object == NULL)
			return xasprintf(
				"%s writes what cannot be read: %s", line->paths[WATCHER], problem);
		if (json_is_object(json_get(object, "counts")))
			take_counts(line, json_get(object, "counts"));
		else
			take_place(line, object);
		json_free(object);
	}
	return NULL;
}

/* ---- capabilities and state of the provider ---- */

static int on_hello(void *ctx, const struct message *message, struct schema_error *ret_error)
{
	struct line *line = ctx;
	int err = frame_stream_take_hello(
		message, ROLE_PROVIDER, &line->scratch, &line->provider, ret_error);
	const struct capabilities *capabilities = err == 0 ? line->provider.capabilities : NULL;
	for (size_t i = 0; capabilities != NULL && i < capabilities->features.count; i++)
		line->finds_endpoints |=
			str_eq(capabilities->features.items[i], STR("own-endpoints"));
	arena_reset(&line->scratch);
	return err;
}

static bool drop_endpoints(enum lb_kind kind, void *value)
{
	struct pool *pool = value;
	if (kind != LB_POOL || pool->endpoints.count == 0)
		return false;
	pool->endpoints.count = 0;
	return true;
}

static int on_object(void *ctx, const struct message *message, struct schema_error *ret_error)
{
	struct line *line = ctx;
	int err = 0;
	if (message->type == MESSAGE_UPSERT && message->lb_kind != LB_NONE)
		err = state_stage_upsert(line->state, message, &line->scratch, ret_error);
	arena_reset(&line->scratch);
	return err;
}

static char *read_state(struct line *line)
{
	line->state = state_new(
		&(struct state_config){.reduce = line->finds_endpoints ? drop_endpoints : NULL});
	state_begin_snapshot(line->state);
	char *problem = read_frames(line, TRANSLATOR, &line->output, on_object, line);
	state_commit(line->state, &line->commit);
	return problem;
}

/* ---- command lines ---- */

static void add(struct line *line, int program, const char *option, const char *value)
{
	arguments_add(&line->arguments[program], xstrdup(option));
	if (value != NULL)
		arguments_add(&line->arguments[program], xstrdup(value));
}

/* Passes a descriptor to the program as a path. */
static void add_kept(
	struct line *line, struct pipeline_program *program, int index, const char *option, int fd)
{
	char path[PIPELINE_PATH_LEN];
	pipeline_path(fd, path);
	add(line, index, option, path);
	program->kept[program->kept_count++] = fd;
}

static int find_programs(struct line *line)
{
	static const char *const names[] = {"sluice-watcher", "sluice-translator"};
	char *provider = xasprintf("sluice-provider-%s", line->request->provider);
	int code = CTL_EXIT_GOOD;
	for (int i = 0; i < PROGRAM_COUNT && code == CTL_EXIT_GOOD; i++) {
		const char *name = i == PROVIDER ? provider : names[i];
		line->paths[i] = i == PROVIDER ? program_find_provider(line->request->provider)
					       : program_find(name);
		if (line->paths[i] == NULL) {
			command_complain(program_missing(name));
			code = CTL_EXIT_USAGE;
		} else {
			add(line, i, line->paths[i], NULL);
		}
	}
	free(provider);
	if (code != CTL_EXIT_GOOD)
		return code;
	char *problem = programs_deal_settings(
		&line->request->args->settings, line->paths, line->arguments, PROGRAM_COUNT);
	if (problem == NULL)
		return CTL_EXIT_GOOD;
	command_complain(problem);
	return CTL_EXIT_USAGE;
}

/* ---- running ---- */

static int ask_hello(struct line *line)
{
	static char option[] = "--hello";
	struct pipeline pipeline;
	char *words[] = {line->paths[PROVIDER], option, NULL};
	pipeline_init(&pipeline);
	int output = pipeline_output(&pipeline, &line->hello);
	pipeline_start(&pipeline, &(struct pipeline_program){.words = words, .output = output});
	int code = line_outcome(&pipeline);
	pipeline_fini(&pipeline);
	return code == CTL_EXIT_GOOD ? code : CTL_EXIT_AWAY;
}

static bool reads_input(const struct line *line)
{
	for (size_t i = 0; i < line->request->files->count; i++) {
		if (strcmp(line->request->files->items[i], "-") == 0)
			return true;
	}
	return false;
}

static void start_watcher(struct line *line, int output)
{
	const struct line_request *request = line->request;
	struct pipeline_program program = {.output = output, .has_our_input = reads_input(line)};
	for (size_t i = 0; i < request->files->count; i++)
		add(line, WATCHER, "--manifests", request->files->items[i]);
	if (request->args->namespace != NULL)
		add(line, WATCHER, "--manifest-namespace", request->args->namespace);
	if (request->has_records)
		add_kept(line, &program, WATCHER, "--records", pipeline_file(request->records));
	add_kept(line, &program, WATCHER, "--places",
		pipeline_output(&line->pipeline, &line->places));
	if (request->wants_documents)
		add_kept(line, &program, WATCHER, "--documents",
			pipeline_output(&line->pipeline, &line->documents));
	program.words = line->arguments[WATCHER].words;
	pipeline_start(&line->pipeline, &program);
}

static void start_translator(struct line *line, int input, int output)
{
	const struct line_request *request = line->request;
	struct pipeline_program program = {.input = input, .output = output};
	add(line, TRANSLATOR, "--once", NULL);
	add_kept(line, &program, TRANSLATOR, "--hello", pipeline_file(buf_str(&line->hello)));
	add_kept(line, &program, TRANSLATOR, "--reports",
		pipeline_output(&line->pipeline, &line->events));
	if (request->goal == LINE_EXPLANATION)
		add(line, TRANSLATOR, "--explain", request->explained);
	if (request->goal == LINE_FINDINGS)
		add(line, TRANSLATOR, "--report-foreign", NULL);
	if (request->args->command == COMMAND_DIFF)
		add(line, TRANSLATOR, "--keyless-secrets", NULL);
	program.words = line->arguments[TRANSLATOR].words;
	pipeline_start(&line->pipeline, &program);
}

static void start_provider(struct line *line, int input)
{
	const struct line_request *request = line->request;
	struct pipeline_program program = {.input = input};
	if (request->goal == LINE_FILES)
		add(line, PROVIDER, "--render", request->folder != NULL ? request->folder : "-");
	if (request->goal == LINE_FILES && request->folder == NULL)
		program.output = pipeline_output(&line->pipeline, &line->output);
	add_kept(line, &program, PROVIDER, "--reports",
		pipeline_output(&line->pipeline, &line->notices));
	program.words = line->arguments[PROVIDER].words;
	pipeline_start(&line->pipeline, &program);
}

static int run_programs(struct line *line)
{
	bool has_provider =
		line->request->goal == LINE_FINDINGS || line->request->goal == LINE_FILES;
	int records_out = 0;
	int records_in = 0;
	int objects_out = 0;
	int objects_in = 0;
	pipeline_join(&records_out, &records_in);
	start_watcher(line, records_out);
	if (has_provider)
		pipeline_join(&objects_out, &objects_in);
	else
		objects_out = pipeline_output(&line->pipeline, &line->output);
	start_translator(line, records_in, objects_out);
	if (has_provider)
		start_provider(line, objects_in);
	return line_outcome(&line->pipeline);
}

static char *read_all(struct line *line)
{
	char *problem = read_places(line);
	if (problem == NULL)
		problem = read_frames(line, TRANSLATOR, &line->events, on_event, line);
	if (problem == NULL)
		problem = read_frames(line, PROVIDER, &line->notices, on_status, line);
	if (problem == NULL && line->request->goal == LINE_STATE)
		problem = read_state(line);
	return problem;
}

static int run(struct line *line)
{
	int code = find_programs(line);
	if (code == CTL_EXIT_GOOD)
		code = ask_hello(line);
	if (code == CTL_EXIT_GOOD)
		code = run_programs(line);
	if (code != CTL_EXIT_GOOD)
		return code;
	char *problem = read_frames(line, PROVIDER, &line->hello, on_hello, line);
	if (problem == NULL)
		problem = read_all(line);
	if (problem == NULL)
		return CTL_EXIT_GOOD;
	command_complain(problem);
	return CTL_EXIT_AWAY;
}

struct line *line_run(const struct line_request *request, int *ret_code)
{
	struct line *line = xcalloc(1, sizeof(*line));
	struct buf *const outputs[] = {&line->hello, &line->places, &line->documents, &line->events,
		&line->notices, &line->output};
	line->request = request;
	for (size_t i = 0; i < sizeof(outputs) / sizeof(outputs[0]); i++)
		buf_init(outputs[i], OUTPUT_LEN_MAX);
	arena_init(&line->arena);
	arena_init(&line->scratch);
	line->findings = findings_new();
	pipeline_init(&line->pipeline);
	*ret_code = run(line);
	if (*ret_code == CTL_EXIT_GOOD)
		return line;
	line_free(line);
	return NULL;
}

void line_free(struct line *line)
{
	if (line == NULL)
		return;
	pipeline_fini(&line->pipeline);
	for (int i = 0; i < PROGRAM_COUNT; i++) {
		arguments_free(&line->arguments[i]);
		free(line->paths[i]);
	}
	if (line->commit.is_snapshot)
		state_commit_done(line->state);
	state_free(line->state);
	findings_free(line->findings);
	buf_fini(&line->hello);
	buf_fini(&line->places);
	buf_fini(&line->documents);
	buf_fini(&line->events);
	buf_fini(&line->notices);
	buf_wipe_fini(&line->output);
	arena_fini(&line->arena);
	arena_fini(&line->scratch);
	free(line);
}

/* ---- results ---- */

struct state *line_state(struct line *line)
{
	return line->state;
}

bool line_explanation(struct line *line, struct inspection_explanation *ret_explanation)
{
	struct schema_error error = {""};
	return buf_len(&line->output) != 0 &&
	       inspection_decode(&inspection_explanation_schema, buf_str(&line->output),
		       &line->arena, ret_explanation, &error) == 0;
}

bool line_files(const struct line *line,
	void (*on_file)(void *ctx, struct str name, struct str content), void *ctx)
{
	struct str archive = buf_str(&line->output);
	struct tar_file file;
	enum tar_outcome outcome = TAR_BAD;
	while ((outcome = tar_next(&archive, &file)) == TAR_FILE)
		on_file(ctx, file.name, file.content);
	return outcome == TAR_END;
}

size_t line_findings(struct line *line, const struct line_finding **ret_findings)
{
	return findings_list(line->findings, ret_findings);
}

struct str line_documents(const struct line *line)
{
	return buf_str(&line->documents);
}

size_t line_foreign_count(const struct line *line)
{
	return line->foreign_count;
}

size_t line_count(const struct line *line, enum record_kind kind)
{
	return line->counts[kind];
}
