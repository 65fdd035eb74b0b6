// SPDX-License-Identifier: Apache-2.0
/* The manual page (mdoc(7)) and the reference (Markdown) of a process, from its table of options. */
#include "common/options.h"

#include <string.h>

/* The same for every process; see daemon.h. */
static const char *const exit_codes[][2] = {
	{"0", "It was asked to stop."},
	{"1", "It failed at run time; its supervisor should start it again."},
	{"2", "Wrong usage; starting it again cannot help."},
};
static const char *const signals[][2] = {
	{"SIGTERM", "Says good-bye to its neighbours and stops. Traffic and statuses stay as they "
		    "are."},
	{"SIGHUP",
		"Reads again the files whose options say so. One that is no good is named in the "
		"log, and what was read before stays in use."},
};

static bool ends_sentence(const char *text)
{
	return text[0] == '.' && text[1] == ' ' && text[2] >= 'A' && text[2] <= 'Z';
}

/* In mdoc a line that begins with a dot or a quote is a macro, and a backslash is an escape; each sentence
 * starts a line. */
static void print_roff(FILE *out, const char *text)
{
	bool at_start = true;
	for (; *text != '\0'; text++) {
		if (at_start && (*text == '.' || *text == '\''))
			fputs("\\&", out);
		if (*text == '\\')
			fputs("\\e", out);
		else if (*text == '-')
			fputs("\\-", out);
		else
			fputc(*text, out);
		at_start = *text == '\n' || ends_sentence(text);
		if (ends_sentence(text)) {
			fputc('\n', out);
			text++;
		}
	}
}

/* `text` as arguments of a macro: two-letter words may be macros themselves. */
static void print_argument(FILE *out, const char *text)
{
	fputs(" \\&", out);
	print_roff(out, text);
}

/* `gap` precedes each sentence, `code` surrounds what is typed. */
static void print_facts(
	const struct option_spec *spec, FILE *out, const char *gap, const char *code)
{
	if (spec->choices != NULL)
		fprintf(out, "%sOne of %s%s%s.", gap, code, spec->choices, code);
	if (spec->type == OPTION_INT || spec->type == OPTION_SECONDS)
		fprintf(out, "%sFrom %.15g to %.15g.", gap, spec->min, spec->max);
	if (spec->type == OPTION_LIST)
		fprintf(out, "%sMay be given several times, or as a list with commas.", gap);
	if (spec->type == OPTION_FILES)
		fprintf(out, "%sMay be given several times.", gap);
	if (spec->fallback != NULL)
		fprintf(out, "%sDefault: %s%s%s.", gap, code, spec->fallback, code);
}

static void print_man_option(const struct option_spec *spec, FILE *out)
{
	fputs(".It Fl \\-", out);
	if (spec->type == OPTION_BOOL)
		fputs("[no\\-]", out);
	print_roff(out, spec->name);
	if (spec->type != OPTION_BOOL) {
		fputs(" Ar", out);
		print_argument(out, spec->arg);
	}
	fputc('\n', out);
	print_roff(out, spec->help);
	print_facts(spec, out, "\n", "");
	fputc('\n', out);
	if (spec->env != NULL)
		fprintf(out, "Environment:\n.Ev %s .\n", spec->env);
}

static void print_man_list(FILE *out, const char *title, const char *const rows[][2], size_t count)
{
	fprintf(out, ".Sh %s\n.Bl -tag -width SIGTERM\n", title);
	for (size_t i = 0; i < count; i++) {
		fprintf(out, ".It %s\n", rows[i][0]);
		print_roff(out, rows[i][1]);
		fputc('\n', out);
	}
	fputs(".El\n", out);
}

void options_print_man(const struct option_table *table, FILE *out)
{
	char name[64] = "";
	for (size_t i = 0; i + 1 < sizeof(name) && table->program[i] != '\0'; i++)
		name[i] = table->program[i];
	fputs(".Dd $Mdocdate$\n.Dt ", out);
	for (const char *p = name; *p != '\0'; p++)
		fputc(*p >= 'a' && *p <= 'z' ? *p - 'a' + 'A' : *p, out);
	fprintf(out, " 8\n.Os Sluice\n.Sh NAME\n.Nm %s\n.Nd %s\n", name, table->summary);
	fputs(".Sh SYNOPSIS\n.Nm\n.Op Ar option ...\n.Sh DESCRIPTION\n.Nm\n", out);
	print_roff(out, table->summary);
	fputc('\n', out);
	if (table->details != NULL) {
		print_roff(out, table->details);
		fputc('\n', out);
	}
	fputs(".Pp\nEvery option may stand on the command line, in the environment, or in a file; "
	      "the "
	      "first of these\nthat has it counts.\n.Bl -tag -width Ds\n",
		out);
	for (size_t i = 0; i < table->count; i++)
		print_man_option(&table->options[i], out);
	fputs(".It Fl \\-config Ar FILE\nRead options from this file, one\n.Ql name = value\na "
	      "line.\nRead at the start only: another value of an option needs a restart, which "
	      "loses no request.\n"
	      ".It Fl h , \\-help\nShow a short text.\n"
	      ".It Fl \\-help Ns = Ns events\nShow what each line of the log means, and what to do "
	      "about it.\n.It Fl \\-version\nShow the version.\n.El\n",
		out);
	print_man_list(out, "SIGNALS", signals, sizeof(signals) / sizeof(signals[0]));
	print_man_list(out, "EXIT STATUS", exit_codes, sizeof(exit_codes) / sizeof(exit_codes[0]));
	fputs(".Sh SEE ALSO\n.Xr sluice 7\n", out);
}

/* A bar would end the cell. */
static void print_cell(FILE *out, const char *text)
{
	for (; *text != '\0'; text++) {
		if (*text == '|')
			fputc('\\', out);
		fputc(*text, out);
	}
}

void options_print_markdown(const struct option_table *table, FILE *out)
{
	fprintf(out, "## %s\n\n%s\n\n| option | environment | meaning |\n| --- | --- | --- |\n",
		table->program, table->summary);
	for (size_t i = 0; i < table->count; i++) {
		const struct option_spec *spec = &table->options[i];
		if (spec->type == OPTION_BOOL)
			fprintf(out, "| `--[no-]%s` | ", spec->name);
		else
			fprintf(out, "| `--%s %s` | ", spec->name, spec->arg);
		fprintf(out, spec->env != NULL ? "`%s` | " : "%s| ",
			spec->env != NULL ? spec->env : "");
		print_cell(out, spec->help);
		print_facts(spec, out, " ", "`");
		fputs(" |\n", out);
	}
	fputc('\n', out);
}
