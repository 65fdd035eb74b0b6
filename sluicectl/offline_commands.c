// SPDX-License-Identifier: Apache-2.0
/* render and lint. */
#include "sluicectl/offline_commands.h"

#include "common/buf.h"
#include "common/must.h"
#include "common/xalloc.h"
#include "sluicectl/args_table.h"
#include "sluicectl/command_output.h"
#include "sluicectl/commands.h"
#include "common/json.h"
#include "sluicectl/reasons.h"
#include "sluicectl/show.h"

#include <stdlib.h>
#include <string.h>

enum { JSON_MAX = 1024 * 1024 * 1024 };

struct line *offline_run(const struct args *args, enum line_goal goal, int *ret_code)
{
	const struct line_request request = {
		.goal = goal,
		.args = args,
		.provider = args->provider != NULL ? args->provider : OFFLINE_PROVIDER,
		.files = &args->files,
		.folder = args->to,
	};
	return line_run(&request, ret_code);
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
	const bool has_place = finding->place.file != NULL;
	if (has_place)
		command_write_clean(out, str_from(finding->place.file));
	if (has_place && finding->place.line != 0)
		fprintf(out, ":%u", finding->place.line);
	fprintf(out, "%s%s: ", has_place ? ": " : "",
		finding->type == EVENT_WARNING ? "warning" : "note");
	command_write_clean(out, finding->kind);
	fputc(' ', out);
	command_write_clean(out, finding->namespace);
	fputs(finding->namespace.len != 0 ? "/" : "", out);
	command_write_clean(out, finding->name);
	fprintf(out, ": %.*s: ", STR_FMT(finding->reason));
	command_write_clean(out, finding->message);
	fputc('\n', out);
	if (remedy != NULL)
		fprintf(out, "    %s\n", remedy);
}

/* "web.yaml:3: warning: Ingress default/web: ServiceNotFound: ...", and the remedy. Returns the count. */
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

/* The content up to the end of `mark`, or all of it if there is none; *ret_found says which. */
static struct str up_to(struct str content, const char *mark, bool *ret_found)
{
	size_t len = strlen(mark);
	const char *at = content.len != 0 ? memmem(content.p, content.len, mark, len) : NULL;
	*ret_found = at != NULL;
	return at != NULL ? (struct str){content.p, (size_t)(at - content.p) + len} : content;
}

/* Private keys are left out, even one without an end. */
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
		/* The closing line contains the label, too. */
		fputs(closing, stdout);
		struct str rest = up_to(content, label, &is_found);
		fwrite(rest.p, 1, is_found ? rest.len : 0, stdout);
		content = str_skip(content, is_found ? rest.len : 0);
	}
}

static void print_file(void *ctx, struct str name, struct str content)
{
	const struct args *args = ctx;
	printf("==> %.*s <==\n", STR_FMT(name));
	if (args->secrets)
		fwrite(content.p, 1, content.len, stdout);
	else
		print_masked(content);
}

int command_render(const struct args *args)
{
	int code = CTL_EXIT_USAGE;
	struct line *line = check(args) ? offline_run(args, LINE_FILES, &code) : NULL;
	if (line == NULL)
		return code;
	if (args->to == NULL && !line_files(line, print_file, (void *)(uintptr_t)args)) {
		command_complain(xstrdup("the provider breaks off what it writes"));
		code = CTL_EXIT_AWAY;
	}
	print_findings(stderr, line);
	line_free(line);
	return code;
}

/* ---- lint ---- */

static int put_member(struct buf *out, const char *name, struct str text)
{
	int err = buf_printf(out, "\"%s\":", name);
	return err == 0 ? json_put_text(out, text) : err;
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
	if (foreign != 0 && foreign == line_count(line, RECORD_INGRESS))
		fputs("sluicectl: none of the Ingresses was checked: say which class is ours with "
		      "--with ingress-class=NAME or by an IngressClass among the manifests, or "
		      "--with ingress-nginx=true for those of ingress-nginx\n",
			stderr);
}

int command_lint(const struct args *args)
{
	int code = CTL_EXIT_USAGE;
	struct line *line = check(args) ? offline_run(args, LINE_FINDINGS, &code) : NULL;
	if (line == NULL)
		return code;
	bool is_yaml = args->output != NULL && strcmp(args->output, "yaml") == 0;
	bool is_data = is_yaml || (args->output != NULL && strcmp(args->output, "json") == 0);
	size_t warnings = is_data ? print_data(line, is_yaml) : print_findings(stdout, line);
	if (!is_data)
		print_summary(line, line_foreign_count(line), warnings);
	line_free(line);
	return warnings != 0 ? CTL_EXIT_FINDINGS : CTL_EXIT_GOOD;
}
