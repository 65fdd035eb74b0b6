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
	fprintf(out, "Usage: sluicectl [OPTION...] %s [OPTION...] %s\n\n", spec->name,
		spec->arguments);
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
	fputs("Usage: sluicectl [OPTION...] COMMAND [OPTION...] [ARGUMENT...]\n\nLooks into a line "
	      "of Sluice, and at manifests without one.\n\nCommands:\n",
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
	fputs("\n`sluicectl COMMAND --help` tells the options of a command, which may stand before "
	      "and after it;\n--help=man prints the manual, --version the version.\n",
		out);
}

/* Each sentence starts a line; a line that starts with a dot or quote would be a macro. */
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

/* Two-letter words may be macros themselves. */
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
		fprintf(out, ".Nm\n.Op Ar OPTION ...\n.Cm %s\n.Op Ar OPTION ...\n",
			command_specs[i].name);
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
	fputs(".El\n.Sh FILES\n.Bl -tag -width Ds\n.It Pa /run/sluice/*.admin\n"
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
	fputs("\nOptions stand before or after the command.\n\n| option | commands | |\n| --- | "
	      "--- "
	      "| --- |\n",
		out);
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

/* The words of `get ingress|lb` and the like that may follow a command; "" if it takes names. */
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

/* COMMAND_COUNT: before the command, where all options are allowed. */
static bool is_offered(const struct ctl_option_spec *spec, size_t command)
{
	return command == COMMAND_COUNT || (spec->commands >> command & 1) != 0;
}

static void print_options_of(FILE *out, size_t command)
{
	for (size_t j = 0; j < ctl_option_count; j++) {
		if (is_offered(&ctl_option_specs[j], command))
			fprintf(out, " --%s", ctl_option_specs[j].name);
	}
	fputs(" --help", out);
}

/* "--filename BAR -f BAR ...": the options whose value is a separate word. */
static void print_valued(FILE *out, const char *bar)
{
	const char *before = "";
	for (size_t i = 0; i < ctl_option_count; i++) {
		const struct ctl_option_spec *spec = &ctl_option_specs[i];
		if (spec->arg == NULL)
			continue;
		fprintf(out, "%s--%s", before, spec->name);
		before = bar;
		if (spec->letter != 0)
			fprintf(out, "%s-%c", before, spec->letter);
	}
}

/* The command is the first word that is no option and no option's value. bash makes three words of `--output=json`. */
static void print_bash_command(FILE *out)
{
	fputs("_sluicectl_command() {\n\tlocal word skip=\n\tfor word; do\n"
	      "\t\tif [ -n \"$skip\" ]; then\n\t\t\t[ \"$word\" = = ] || skip=\n\t\t\tcontinue\n"
	      "\t\tfi\n\t\tcase $word in\n\t\t",
		out);
	print_valued(out, " | ");
	fputs(") skip=1 ;;\n\t\t-*) ;;\n\t\t*)\n\t\t\tprintf '%s' \"$word\"\n\t\t\treturn\n"
	      "\t\t\t;;\n\t\tesac\n\tdone\n}\n",
		out);
}

static void print_bash(FILE *out)
{
	fputs("# bash completion of sluicectl\n_sluicectl_value() {\n", out);
	print_bash_values(out);
	fputs("}\n", out);
	print_bash_command(out);
	fputs("_sluicectl() {\n\tlocal cur=${COMP_WORDS[COMP_CWORD]} "
	      "prev=${COMP_WORDS[COMP_CWORD - 1]}\n\tCOMPREPLY=()\n\t_sluicectl_value && return\n"
	      "\tcase $(_sluicectl_command \"${COMP_WORDS[@]:1:COMP_CWORD-1}\") in\n"
	      "\t'') COMPREPLY=($(compgen -W '",
		out);
	print_commands(out);
	print_options_of(out, COMMAND_COUNT);
	fputs(" --version' -- \"$cur\")) ;;\n", out);
	for (size_t i = 0; i < COMMAND_COUNT; i++) {
		fprintf(out, "\t%s) COMPREPLY=($(compgen -W '", command_specs[i].name);
		print_words(out, command_specs[i].arguments);
		print_options_of(out, i);
		fputs("' -- \"$cur\")) ;;\n", out);
	}
	fputs("\tesac\n}\ncomplete -F _sluicectl sluicectl\n", out);
}

/* Within single quotes, where _arguments gives colons and brackets a meaning. */
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

/* An option that may be given only once excludes its other form. */
static void print_zsh_option(FILE *out, const struct ctl_option_spec *spec)
{
	bool is_many = args_is_list(spec->value);
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

static void print_zsh_options(FILE *out, size_t command)
{
	fputs("_arguments", out);
	for (size_t j = 0; j < ctl_option_count; j++) {
		if (is_offered(&ctl_option_specs[j], command))
			print_zsh_option(out, &ctl_option_specs[j]);
	}
	fputs(" \\\n\t\t\t'--help[Help]'", out);
}

static void print_zsh_commands(FILE *out)
{
	fputs("#compdef sluicectl\n_sluicectl_commands() {\n\tlocal -a commands=(\n", out);
	for (size_t i = 0; i < COMMAND_COUNT; i++) {
		fprintf(out, "\t\t'%s:", command_specs[i].name);
		print_zsh_text(out, command_specs[i].summary);
		fputs("'\n", out);
	}
	fputs("\t)\n\t_describe command commands\n}\n", out);
}

/* The command's word is removed from the line, so that options before and after it are parsed alike. */
static void print_zsh(FILE *out)
{
	print_zsh_commands(out);
	fputs("_sluicectl() {\n\tlocal command= at\n\tfor ((at = 2; at < CURRENT; at++)); do\n"
	      "\t\tcase $words[at] in\n\t\t(",
		out);
	print_valued(out, "|");
	fputs(") ((at++)) ;;\n\t\t(-*) ;;\n\t\t(*)\n\t\t\tcommand=$words[at]\n\t\t\twords[at]=()\n"
	      "\t\t\t((CURRENT--))\n\t\t\tbreak\n\t\t\t;;\n\t\tesac\n\tdone\n\tcase $command in\n"
	      "\t('')\n\t\t",
		out);
	print_zsh_options(out, COMMAND_COUNT);
	fputs(" \\\n\t\t\t'--version[Version]' \\\n\t\t\t'1:command:_sluicectl_commands'\n\t\t;;\n",
		out);
	for (size_t i = 0; i < COMMAND_COUNT; i++) {
		fprintf(out, "\t(%s)\n\t\t", command_specs[i].name);
		print_zsh_options(out, i);
		if (islower((unsigned char)command_specs[i].arguments[0])) {
			fputs(" \\\n\t\t\t'1: :(", out);
			print_words(out, command_specs[i].arguments);
			fputs(")'", out);
		}
		fputs("\n\t\t;;\n", out);
	}
	fputs("\tesac\n}\n_sluicectl \"$@\"\n", out);
}

static void print_fish_text(FILE *out, const char *text)
{
	for (; *text != '\0'; text++)
		fprintf(out, "%s%c", *text == '\'' || *text == '\\' ? "\\" : "", *text);
}

static void print_fish_command(FILE *out)
{
	fputs("# fish completion of sluicectl\nfunction __sluicectl_command_is\n"
	      "\tset -l words (commandline -opc)\n\tset -e words[1]\n\tset -l skip 0\n"
	      "\tfor word in $words\n\t\tif test $skip = 1\n\t\t\tset skip 0\n\t\t\tcontinue\n"
	      "\t\tend\n\t\tswitch $word\n\t\tcase ",
		out);
	print_valued(out, " ");
	fputs("\n\t\t\tset skip 1\n\t\tcase '-*'\n\t\tcase '*'\n\t\t\ttest $word = \"$argv[1]\"\n"
	      "\t\t\treturn\n\t\tend\n\tend\n\ttest -z \"$argv[1]\"\nend\n"
	      "complete -c sluicectl -f\n",
		out);
}

static void print_fish_option(FILE *out, const struct ctl_option_spec *spec, const char *command)
{
	fprintf(out, "complete -c sluicectl -n '__sluicectl_command_is \"%s\"' -l %s", command,
		spec->name);
	if (spec->letter != 0)
		fprintf(out, " -s %c", spec->letter);
	if (spec->arg != NULL)
		fputs(spec->value == VALUE_FILES || spec->value == VALUE_FOLDER ? " -r -F" : " -x",
			out);
	if (args_choices(spec->value) != NULL)
		fprintf(out, " -a '%s'", args_choices(spec->value));
	fputs(" -d '", out);
	print_fish_text(out, spec->help);
	fputs("'\n", out);
}

static void print_fish(FILE *out)
{
	print_fish_command(out);
	for (size_t i = 0; i <= COMMAND_COUNT; i++) {
		const char *name = i < COMMAND_COUNT ? command_specs[i].name : "";
		for (size_t j = 0; j < ctl_option_count; j++) {
			if (is_offered(&ctl_option_specs[j], i))
				print_fish_option(out, &ctl_option_specs[j], name);
		}
		fprintf(out,
			"complete -c sluicectl -n '__sluicectl_command_is \"%s\"' -s h -l help "
			"-d Help\n",
			name);
		if (i == COMMAND_COUNT)
			break;
		fprintf(out, "complete -c sluicectl -n '__sluicectl_command_is \"\"' -a %s -d '",
			name);
		print_fish_text(out, command_specs[i].summary);
		fputs("'\n", out);
		if (!islower((unsigned char)command_specs[i].arguments[0]))
			continue;
		fprintf(out, "complete -c sluicectl -n '__sluicectl_command_is \"%s\"' -a '", name);
		print_words(out, command_specs[i].arguments);
		fputs("'\n", out);
	}
	fputs("complete -c sluicectl -n '__sluicectl_command_is \"\"' -l version -d Version\n",
		out);
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
