// SPDX-License-Identifier: Apache-2.0
#include "sluicectl/args_print.h"

#include "common/str.h"
#include "sluicectl/args_table.h"

#include <ctype.h>

enum { COLUMNS = 100, INDENT = 6 };

static void print_wrapped(FILE *out, const char *text, int indent)
{
	int at = indent;
	fprintf(out, "%*s", indent, "");
	while (*text != '\0') {
		size_t len = strcspn(text, " ");
		if (at > indent && at + 1 + (int)len > COLUMNS) {
			fprintf(out, "\n%*s", indent, "");
			at = indent;
		} else if (at > indent) {
			fputc(' ', out);
			at++;
		}
		fwrite(text, 1, len, out);
		at += (int)len;
		text += len + (text[len] != '\0');
	}
	fputc('\n', out);
}

static void print_option(FILE *out, const struct ctl_option_spec *spec)
{
	if (spec->letter != 0)
		fprintf(out, "  -%c, --%s", spec->letter, spec->name);
	else
		fprintf(out, "      --%s", spec->name);
	fprintf(out, "%s%s\n", spec->arg != NULL ? " " : "", spec->arg != NULL ? spec->arg : "");
	print_wrapped(out, spec->help, 2 * INDENT);
}

void args_print_help(FILE *out, enum command command)
{
	const struct command_spec *spec = &command_specs[command];
	fprintf(out, "Usage: sluicectl %s [OPTION...] %s\n\n", spec->name, spec->arguments);
	print_wrapped(out, spec->summary, 0);
	if (spec->description[0] != '\0')
		print_wrapped(out, spec->description, 0);
	fputs("\nOptions:\n", out);
	for (size_t i = 0; i < ctl_option_count; i++) {
		if ((ctl_option_specs[i].commands >> command & 1) != 0)
			print_option(out, &ctl_option_specs[i]);
	}
}

void args_print_overview(FILE *out)
{
	fputs("Usage: sluicectl COMMAND [OPTION...] [ARGUMENT...]\n\nLooks into a line of Sluice, "
	      "and at manifests without one.\n\nCommands:\n",
		out);
	for (size_t i = 0; i < COMMAND_COUNT; i++) {
		fprintf(out, "  %s%s%s\n", command_specs[i].name,
			command_specs[i].arguments[0] != '\0' ? " " : "",
			command_specs[i].arguments);
		print_wrapped(out, command_specs[i].summary, INDENT);
	}
	fputs("\nExit codes:\n", out);
	for (size_t i = 0; i < exit_count; i++)
		fprintf(out, "  %d   %s\n", exit_specs[i].number, exit_specs[i].meaning);
	fputs("\n`sluicectl COMMAND --help` tells the options of a command; --help=man prints the "
	      "manual,\n--version the version.\n",
		out);
}

/* Each sentence begins a line; a line that begins with a point or quote would be a macro. */
static void print_mdoc(FILE *out, const char *text)
{
	bool at_start = true;
	for (const char *at = text; *at != '\0'; at++) {
		if (at_start && (*at == '.' || *at == '\''))
			fputs("\\&", out);
		at_start = at[0] == '.' && at[1] == ' ';
		if (*at == '\\')
			fputs("\\e", out);
		else if (*at == '-')
			fputs("\\-", out);
		else
			fputc(*at, out);
		if (at_start) {
			fputc('\n', out);
			at++;
		}
	}
	fputc('\n', out);
}

/* Words of two letters may be macros themselves. */
static void print_argument(FILE *out, const char *text)
{
	if (text[0] != '\0')
		fprintf(out, " Ar \\&%s", text);
	fputc('\n', out);
}

static void print_man_option(FILE *out, const struct ctl_option_spec *spec)
{
	fputs(".It ", out);
	if (spec->letter != 0)
		fprintf(out, "Fl %c , ", spec->letter);
	fprintf(out, "Fl \\-%s", spec->name);
	print_argument(out, spec->arg != NULL ? spec->arg : "");
	print_mdoc(out, spec->help);
}

static void print_man_options(FILE *out, size_t command)
{
	bool is_open = false;
	for (size_t i = 0; i < ctl_option_count; i++) {
		if ((ctl_option_specs[i].commands >> command & 1) == 0)
			continue;
		fputs(is_open ? "" : ".Bl -tag -width Ds\n", out);
		is_open = true;
		print_man_option(out, &ctl_option_specs[i]);
	}
	fputs(is_open ? ".El\n" : "", out);
}

void args_print_man(FILE *out)
{
	fputs(".Dd $Mdocdate$\n.Dt SLUICECTL 8\n.Os Sluice\n.Sh NAME\n.Nm sluicectl\n"
	      ".Nd looks into a line of Sluice, and at manifests without one\n.Sh SYNOPSIS\n",
		out);
	for (size_t i = 0; i < COMMAND_COUNT; i++) {
		fprintf(out, ".Nm\n.Cm %s\n.Op Ar OPTION ...\n", command_specs[i].name);
		if (command_specs[i].arguments[0] != '\0')
			fprintf(out, ".Ar %s\n", command_specs[i].arguments);
	}
	fputs(".Sh COMMANDS\n.Bl -tag -width Ds\n", out);
	for (size_t i = 0; i < COMMAND_COUNT; i++) {
		fprintf(out, ".It Cm %s", command_specs[i].name);
		print_argument(out, command_specs[i].arguments);
		print_mdoc(out, command_specs[i].summary);
		if (command_specs[i].description[0] != '\0')
			print_mdoc(out, command_specs[i].description);
		print_man_options(out, i);
	}
	fputs(".El\n.Sh FILES\n.Bl -tag -width Ds\n.It Pa /run/sluice/*.window\n"
	      "Sockets by which programs of the line are asked.\n.El\n"
	      ".Sh EXIT STATUS\n.Bl -tag -width Ds\n",
		out);
	for (size_t i = 0; i < exit_count; i++)
		fprintf(out, ".It %d\n%s\n", exit_specs[i].number, exit_specs[i].meaning);
	fputs(".El\n.Sh SEE ALSO\n"
	      ".Xr sluice 7 ,\n.Xr sluice\\-translator 8 ,\n.Xr sluice\\-watcher 8\n",
		out);
}

void args_print_markdown(FILE *out)
{
	fputs("## sluicectl\n\n| command | |\n| --- | --- |\n", out);
	for (size_t i = 0; i < COMMAND_COUNT; i++) {
		fprintf(out, "| `%s", command_specs[i].name);
		for (const char *at = command_specs[i].arguments; *at != '\0'; at++)
			fprintf(out, "%s%s%c", at == command_specs[i].arguments ? " " : "",
				*at == '|' ? "\\" : "", *at);
		fprintf(out, "` | %s |\n", command_specs[i].summary);
	}
	fputs("\n| option | commands | |\n| --- | --- | --- |\n", out);
	for (size_t i = 0; i < ctl_option_count; i++) {
		const struct ctl_option_spec *spec = &ctl_option_specs[i];
		fprintf(out, "| `--%s%s%s` | ", spec->name, spec->arg != NULL ? " " : "",
			spec->arg != NULL ? spec->arg : "");
		const char *comma = "";
		for (size_t j = 0; j < COMMAND_COUNT; j++) {
			if ((spec->commands >> j & 1) != 0) {
				fprintf(out, "%s%s", comma, command_specs[j].name);
				comma = ", ";
			}
		}
		fprintf(out, " | %s |\n", spec->help);
	}
	fputs("\n| exit code | |\n| --- | --- |\n", out);
	for (size_t i = 0; i < exit_count; i++)
		fprintf(out, "| %d | %s |\n", exit_specs[i].number, exit_specs[i].meaning);
}

/* ---- completions ---- */

/* The words of `get ingress|lb` and the like that may follow a command; "" when they are names. */
static void print_words(FILE *out, const char *arguments)
{
	if (!islower((unsigned char)arguments[0]))
		return;
	for (const char *at = arguments; *at != '\0' && *at != ' '; at++)
		fputc(*at == '|' ? ' ' : *at, out);
}

static void print_commands(FILE *out)
{
	for (size_t i = 0; i < COMMAND_COUNT; i++)
		fprintf(out, "%s%s", i != 0 ? " " : "", command_specs[i].name);
}

static void print_bash_values(FILE *out)
{
	fputs("\tcase $prev in\n", out);
	for (size_t i = 0; i < ctl_option_count; i++) {
		const struct ctl_option_spec *spec = &ctl_option_specs[i];
		if (spec->arg == NULL)
			continue;
		fprintf(out, "\t--%s", spec->name);
		if (spec->letter != 0)
			fprintf(out, " | -%c", spec->letter);
		fputs(") ", out);
		if (args_choices(spec->value) != NULL)
			fprintf(out, "COMPREPLY=($(compgen -W '%s' -- \"$cur\")) ;;\n",
				args_choices(spec->value));
		else if (spec->value == VALUE_FILES)
			fputs("COMPREPLY=($(compgen -f -- \"$cur\")) ;;\n", out);
		else if (spec->value == VALUE_FOLDER)
			fputs("COMPREPLY=($(compgen -d -- \"$cur\")) ;;\n", out);
		else
			fputs("COMPREPLY=() ;;\n", out);
	}
	fputs("\t*) return 1 ;;\n\tesac\n", out);
}

static void print_options_of(FILE *out, size_t command)
{
	for (size_t j = 0; j < ctl_option_count; j++) {
		if ((ctl_option_specs[j].commands >> command & 1) != 0)
			fprintf(out, " --%s", ctl_option_specs[j].name);
	}
	fputs(" --help", out);
}

static void print_bash(FILE *out)
{
	fputs("# bash completion of sluicectl\n_sluicectl_value() {\n", out);
	print_bash_values(out);
	fputs("}\n_sluicectl() {\n\tlocal cur=${COMP_WORDS[COMP_CWORD]} "
	      "prev=${COMP_WORDS[COMP_CWORD - 1]}\n\tCOMPREPLY=()\n\tif [ \"$COMP_CWORD\" -eq 1 ]; "
	      "then\n\t\tCOMPREPLY=($(compgen -W '",
		out);
	print_commands(out);
	fputs(" --help --version' -- \"$cur\"))\n\t\treturn\n\tfi\n\t_sluicectl_value && "
	      "return\n\tcase ${COMP_WORDS[1]} in\n",
		out);
	for (size_t i = 0; i < COMMAND_COUNT; i++) {
		fprintf(out, "\t%s) COMPREPLY=($(compgen -W '", command_specs[i].name);
		print_words(out, command_specs[i].arguments);
		print_options_of(out, i);
		fputs("' -- \"$cur\")) ;;\n", out);
	}
	fputs("\tesac\n}\ncomplete -F _sluicectl sluicectl\n", out);
}

/* Between single quotes, where a colon and brackets mean something to _arguments. */
static void print_zsh_text(FILE *out, const char *text)
{
	for (; *text != '\0'; text++) {
		if (*text == '\'')
			fputs("'\\''", out);
		else if (strchr(":[]", *text) != NULL)
			fprintf(out, "\\%c", *text);
		else
			fputc(*text, out);
	}
}

static void print_zsh_value(FILE *out, const struct ctl_option_spec *spec)
{
	fputc('[', out);
	print_zsh_text(out, spec->help);
	fputc(']', out);
	if (spec->arg != NULL) {
		fprintf(out, ":%s:", spec->arg);
		if (args_choices(spec->value) != NULL)
			fprintf(out, "(%s)", args_choices(spec->value));
		else if (spec->value == VALUE_FILES)
			fputs("_files", out);
		else if (spec->value == VALUE_FOLDER)
			fputs("_files -/", out);
	}
	fputc('\'', out);
}

/* Those that may be given once exclude their other form. */
static void print_zsh_option(FILE *out, const struct ctl_option_spec *spec)
{
	bool is_many = spec->value == VALUE_FILES || spec->value == VALUE_SETTINGS;
	char before[64] = "";
	if (is_many)
		snprintf(before, sizeof(before), "*");
	else if (spec->letter != 0)
		snprintf(before, sizeof(before), "(-%c --%s)", spec->letter, spec->name);
	fprintf(out, " \\\n\t\t\t'%s--%s%s", before, spec->name, spec->arg != NULL ? "=" : "");
	print_zsh_value(out, spec);
	if (spec->letter == 0)
		return;
	fprintf(out, " \\\n\t\t\t'%s-%c%s", before, spec->letter, spec->arg != NULL ? "+" : "");
	print_zsh_value(out, spec);
}

static void print_zsh(FILE *out)
{
	fputs("#compdef sluicectl\n_sluicectl() {\n\tif ((CURRENT == 2)); then\n\t\tlocal -a "
	      "commands=(\n",
		out);
	for (size_t i = 0; i < COMMAND_COUNT; i++) {
		fprintf(out, "\t\t\t'%s:", command_specs[i].name);
		print_zsh_text(out, command_specs[i].summary);
		fputs("'\n", out);
	}
	fputs("\t\t)\n\t\t_describe command commands\n\t\treturn\n\tfi\n\tlocal "
	      "command=$words[2]\n\tshift words\n\t((CURRENT--))\n\tcase $command in\n",
		out);
	for (size_t i = 0; i < COMMAND_COUNT; i++) {
		fprintf(out, "\t%s)\n\t\t_arguments", command_specs[i].name);
		for (size_t j = 0; j < ctl_option_count; j++) {
			if ((ctl_option_specs[j].commands >> i & 1) != 0)
				print_zsh_option(out, &ctl_option_specs[j]);
		}
		if (islower((unsigned char)command_specs[i].arguments[0])) {
			fputs(" \\\n\t\t\t'1: :(", out);
			print_words(out, command_specs[i].arguments);
			fputs(")'", out);
		}
		fputs(" \\\n\t\t\t'--help[Help]'\n\t\t;;\n", out);
	}
	fputs("\tesac\n}\n_sluicectl \"$@\"\n", out);
}

static void print_fish_text(FILE *out, const char *text)
{
	for (; *text != '\0'; text++)
		fprintf(out, "%s%c", *text == '\'' || *text == '\\' ? "\\" : "", *text);
}

static void print_fish(FILE *out)
{
	fputs("# fish completion of sluicectl\ncomplete -c sluicectl -f\n", out);
	for (size_t i = 0; i < COMMAND_COUNT; i++) {
		const char *name = command_specs[i].name;
		fprintf(out, "complete -c sluicectl -n __fish_use_subcommand -a %s -d '", name);
		print_fish_text(out, command_specs[i].summary);
		fputs("'\n", out);
		if (islower((unsigned char)command_specs[i].arguments[0])) {
			fprintf(out,
				"complete -c sluicectl -n '__fish_seen_subcommand_from %s' -a '",
				name);
			print_words(out, command_specs[i].arguments);
			fputs("'\n", out);
		}
		for (size_t j = 0; j < ctl_option_count; j++) {
			const struct ctl_option_spec *spec = &ctl_option_specs[j];
			if ((spec->commands >> i & 1) == 0)
				continue;
			fprintf(out,
				"complete -c sluicectl -n '__fish_seen_subcommand_from %s' -l %s",
				name, spec->name);
			if (spec->letter != 0)
				fprintf(out, " -s %c", spec->letter);
			if (spec->arg != NULL)
				fputs(spec->value == VALUE_FILES || spec->value == VALUE_FOLDER
						? " -r -F"
						: " -x",
					out);
			if (args_choices(spec->value) != NULL)
				fprintf(out, " -a '%s'", args_choices(spec->value));
			fputs(" -d '", out);
			print_fish_text(out, spec->help);
			fputs("'\n", out);
		}
	}
}

bool args_print_completion(FILE *out, const char *shell)
{
	if (strcmp(shell, "bash") == 0)
		print_bash(out);
	else if (strcmp(shell, "zsh") == 0)
		print_zsh(out);
	else if (strcmp(shell, "fish") == 0)
		print_fish(out);
	else
		return false;
	return true;
}
