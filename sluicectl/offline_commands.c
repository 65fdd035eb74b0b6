// SPDX-License-Identifier: Apache-2.0
/* render and lint. */
#include "sluicectl/offline_commands.h"

#include "common/buf.h"
#include "common/must.h"
#include "common/xalloc.h"
#include "common/files.h"
#include "sluicectl/args_table.h"
#include "sluicectl/commands.h"
#include "common/json_text.h"
#include "sluicectl/reasons.h"
#include "sluicectl/show.h"

#include <stdlib.h>
#include <string.h>

enum { JSON_MAX = 1024 * 1024 * 1024 };

static void on_object(void *ctx, const struct json *object, const struct manifest_place *place)
{
	line_put(ctx, object, place);
}

int offline_read(struct line *line, const struct args *args, const struct text_list *files)
{
	struct manifest_options options = {
		.namespace = args->namespace != NULL ? args->namespace : "default",
		.on_object = on_object,
		.ctx = line,
	};
	for (size_t i = 0; i < files->count; i++) {
		char *problem = manifest_read_file(files->items[i], &options);
		if (problem != NULL) {
			command_complain(problem);
			return CTL_EXIT_INPUT;
		}
	}
	return CTL_EXIT_GOOD;
}

struct line *offline_open(
	const struct args *args, const struct text_list *files, const char *fallback, int *ret_code)
{
	char *problem = NULL;
	const struct offline *provider =
		line_provider(args->provider != NULL ? args->provider : fallback);
	struct line *line = line_new(provider, args->settings.items, args->settings.count,
		args->command == COMMAND_DIFF, &problem);
	if (line == NULL) {
		command_complain(problem);
		*ret_code = CTL_EXIT_USAGE;
		return NULL;
	}
	*ret_code = offline_read(line, args, files);
	if (*ret_code == CTL_EXIT_GOOD)
		return line;
	line_free(line);
	return NULL;
}

static bool check(const struct args *args)
{
	if (args->files.count != 0 && args->rest.count == 0)
		return true;
	fprintf(stderr, "sluicectl: %s needs manifests by --filename, and nothing else\n",
		command_specs[args->command].name);
	return false;
}

/* ---- findings ---- */

static void print_finding(FILE *out, const struct line_finding *finding)
{
	const char *remedy = reason_remedy(finding->reason);
	if (finding->place.file != NULL)
		fprintf(out, "%s:", finding->place.file);
	if (finding->place.file != NULL && finding->place.line != 0)
		fprintf(out, "%u:", finding->place.line);
	fprintf(out, "%s%s: %.*s ", finding->place.file != NULL ? " " : "",
		finding->type == EVENT_WARNING ? "warning" : "note", STR_FMT(finding->kind));
	if (finding->namespace.len != 0)
		fprintf(out, "%.*s/", STR_FMT(finding->namespace));
	fprintf(out, "%.*s: %.*s: %.*s\n", STR_FMT(finding->name), STR_FMT(finding->reason),
		STR_FMT(finding->message));
	if (remedy != NULL)
		fprintf(out, "    %s\n", remedy);
}

/* "web.yaml:3: warning: Ingress default/web: ServiceNotFound: ...", and what to do. Returns how many are warnings. */
static size_t print_findings(FILE *out, struct line *line)
{
	const struct line_finding *findings;
	size_t count = line_findings(line, &findings);
	size_t warnings = 0;
	for (size_t i = 0; i < count; i++) {
		print_finding(out, &findings[i]);
		warnings += findings[i].type == EVENT_WARNING;
	}
	return warnings;
}

/* ---- render ---- */

struct output {
	const struct args *args;
	int code;
};

/* What stands up to the end of the mark; all of it when there is none, *ret_found says which. */
static struct str up_to(struct str content, const char *mark, bool *ret_found)
{
	size_t len = strlen(mark);
	const char *at = content.len != 0 ? memmem(content.p, content.len, mark, len) : NULL;
	*ret_found = at != NULL;
	return at != NULL ? (struct str){content.p, (size_t)(at - content.p) + len} : content;
}

/* Private keys are left out, also one without an end. */
static void print_masked(struct str content)
{
	static const char label[] = "PRIVATE KEY-----";
	static const char closing[] = "-----END";
	while (content.len != 0) {
		bool is_found = false;
		struct str open = up_to(content, label, &is_found);
		fwrite(open.p, 1, open.len, stdout);
		content = str_skip(content, open.len);
		if (!is_found)
			return;
		fputs(" (not shown) ", stdout);
		struct str key = up_to(content, closing, &is_found);
		content = str_skip(content, key.len);
		if (!is_found)
			return;
		/* The closing line names the key, too. */
		fputs(closing, stdout);
		struct str rest = up_to(content, label, &is_found);
		fwrite(rest.p, 1, is_found ? rest.len : 0, stdout);
		content = str_skip(content, is_found ? rest.len : 0);
	}
}

static void on_printed(void *ctx, const char *name, struct str content)
{
	const struct output *output = ctx;
	printf("==> %s <==\n", name);
	if (output->args->secrets)
		fwrite(content.p, 1, content.len, stdout);
	else
		print_masked(content);
}

static void on_written(void *ctx, const char *name, struct str content)
{
	struct output *output = ctx;
	char *path = xasprintf("%s/%s", output->args->to, name);
	char *folder = str_dup((struct str){path, (size_t)(strrchr(path, '/') - path)});
	int err = files_make_dir(folder, 0700);
	if (err == 0)
		err = files_write_loose(path, content, 0600);
	if (err != 0) {
		command_complain(xasprintf("%s: %s", path, files_problem(err)));
		output->code = CTL_EXIT_INPUT;
	}
	free(folder);
	free(path);
}

int command_render(const struct args *args)
{
	struct output output = {args, CTL_EXIT_GOOD};
	int code = CTL_EXIT_USAGE;
	struct line *line = check(args) ? offline_open(args, &args->files, "haproxy", &code) : NULL;
	if (line == NULL)
		return code;
	line_run(line);
	char *problem = line_render(line, args->to != NULL ? on_written : on_printed, &output);
	if (problem != NULL) {
		command_complain(problem);
		output.code = CTL_EXIT_USAGE;
	} else {
		print_findings(stderr, line);
	}
	line_free(line);
	return output.code;
}

/* ---- lint ---- */

static void on_dropped(void *ctx, const char *name, struct str content)
{
	(void)ctx;
	(void)name;
	(void)content;
}

static int put_member(struct buf *out, const char *name, struct str text)
{
	int err = buf_printf(out, "\"%s\":", name);
	return err == 0 ? json_text_put(out, text) : err;
}

static int put_finding(struct buf *out, const struct line_finding *finding)
{
	const char *remedy = reason_remedy(finding->reason);
	const struct {
		const char *name;
		struct str text;
	} members[] = {
		{"file", str_from(finding->place.file)},
		{"kind", finding->kind},
		{"namespace", finding->namespace},
		{"name", finding->name},
		{"type", finding->type == EVENT_WARNING ? STR("Warning") : STR("Normal")},
		{"reason", finding->reason},
		{"message", finding->message},
		{"remedy", str_from(remedy)},
	};
	int err = buf_printf(out, "{\"line\":%u", finding->place.line);
	for (size_t i = 0; i < sizeof(members) / sizeof(members[0]) && err == 0; i++) {
		err = buf_append(out, ",", 1);
		if (err == 0)
			err = put_member(out, members[i].name, members[i].text);
	}
	return err == 0 ? buf_append(out, "}", 1) : err;
}

static size_t print_data(struct line *line, bool is_yaml)
{
	const struct line_finding *findings;
	size_t count = line_findings(line, &findings);
	size_t warnings = 0;
	struct buf text;
	buf_init(&text, JSON_MAX);
	int err = buf_append(&text, "[", 1);
	for (size_t i = 0; i < count && err == 0; i++) {
		warnings += findings[i].type == EVENT_WARNING;
		err = i != 0 ? buf_append(&text, ",", 1) : 0;
		if (err == 0)
			err = put_finding(&text, &findings[i]);
	}
	if (err == 0)
		err = buf_append(&text, "]", 1);
	must(err == 0);
	show_print(stdout, buf_str(&text), is_yaml);
	buf_fini(&text);
	return warnings;
}

static void print_summary(struct line *line, size_t foreign, size_t warnings)
{
	char note[64] = "";
	if (foreign != 0)
		snprintf(note, sizeof(note), " (%zu not ours)", foreign);
	printf("%zu Ingresses%s, %zu Services, %zu Secrets: %zu warnings\n",
		line_count(line, RECORD_INGRESS), note, line_count(line, RECORD_SERVICE),
		line_count(line, RECORD_SECRET), warnings);
}

int command_lint(const struct args *args)
{
	int code = CTL_EXIT_USAGE;
	struct line *line = check(args) ? offline_open(args, &args->files, "haproxy", &code) : NULL;
	if (line == NULL)
		return code;
	bool is_yaml = args->output != NULL && strcmp(args->output, "yaml") == 0;
	bool is_data = is_yaml || (args->output != NULL && strcmp(args->output, "json") == 0);
	line_run(line);
	char *problem = line_render(line, on_dropped, NULL);
	if (problem != NULL) {
		command_complain(problem);
		line_free(line);
		return CTL_EXIT_USAGE;
	}
	size_t foreign = line_note_foreign(line);
	size_t warnings = is_data ? print_data(line, is_yaml) : print_findings(stdout, line);
	if (!is_data)
		print_summary(line, foreign, warnings);
	line_free(line);
	return warnings != 0 ? CTL_EXIT_FINDINGS : CTL_EXIT_GOOD;
}
