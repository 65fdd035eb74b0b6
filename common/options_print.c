// SPDX-License-Identifier: Apache-2.0
/* Options as people see them: --help, and effective values for the log. */
#include "common/options.h"

#include "common/xalloc.h"

#include <string.h>

enum { HELP_COLUMN = 34, HELP_WIDTH = 100 };

static const void *member_of_const(const struct option_spec *spec, const void *config)
{
	return (const char *)config + spec->offset;
}

static char *list_text(const struct option_list *list)
{
	char *text = xstrdup("");
	for (size_t i = 0; i < list->count; i++) {
		char *longer = xasprintf("%s%s%s", text, i != 0 ? "," : "", list->items[i]);
		free(text);
		text = longer;
	}
	return text;
}

static char *choice_text(const char *choices, int index)
{
	for (; index > 0; index--)
		choices += strcspn(choices, "|") + 1;
	return xstrndup(choices, strcspn(choices, "|"));
}

char *options_value_text(const struct option_spec *spec, const void *config)
{
	const void *member = member_of_const(spec, config);
	switch (spec->type) {
	case OPTION_BOOL:
		return xstrdup(*(const bool *)member ? "true" : "false");
	case OPTION_INT:
		return xasprintf("%lld", (long long)*(const int64_t *)member);
	case OPTION_SECONDS:
		return xasprintf("%.15gs", *(const double *)member);
	case OPTION_CHOICE:
		return choice_text(spec->choices, *(const int *)member);
	case OPTION_LIST:
	case OPTION_FILES:
		return list_text(member);
	case OPTION_STRING:
		break;
	}
	const char *text = *(char *const *)member;
	if (spec->is_secret || text == NULL)
		return xstrdup(text != NULL ? "(set)" : "(unset)");
	return xstrdup(text);
}

/* Word-wrapped; each line starts at HELP_COLUMN. */
static void print_wrapped(FILE *out, const char *text)
{
	int column = HELP_COLUMN;
	while (*text != '\0') {
		int len = (int)strcspn(text, " ");
		if (column + len > HELP_WIDTH && column > HELP_COLUMN) {
			fprintf(out, "\n%*s", HELP_COLUMN, "");
			column = HELP_COLUMN;
		}
		column += fprintf(out, "%.*s ", len, text);
		text += len;
		text += strspn(text, " ");
	}
	fputc('\n', out);
}

static void print_option(const struct option_spec *spec, FILE *out)
{
	char *left = spec->type == OPTION_BOOL ? xasprintf("  --[no-]%s", spec->name)
					       : xasprintf("  --%s %s", spec->name, spec->arg);
	char *range = NULL;
	if (spec->type == OPTION_INT || spec->type == OPTION_SECONDS)
		range = xasprintf(" [%.15g..%.15g]", spec->min, spec->max);
	char *text = xasprintf("%s%s%s%s%s%s%s%s%s%s", spec->help,
		spec->choices != NULL ? " One of " : "", spec->choices != NULL ? spec->choices : "",
		spec->choices != NULL ? "." : "", range != NULL ? range : "",
		spec->fallback != NULL ? " (default " : "",
		spec->fallback != NULL ? spec->fallback : "", spec->fallback != NULL ? ")" : "",
		spec->env != NULL ? " $" : "", spec->env != NULL ? spec->env : "");
	if ((int)strlen(left) >= HELP_COLUMN)
		fprintf(out, "%s\n%*s", left, HELP_COLUMN, "");
	else
		fprintf(out, "%-*s", HELP_COLUMN, left);
	print_wrapped(out, text);
	free(left);
	free(range);
	free(text);
}

void options_print_help(const struct option_table *table, FILE *out)
{
	fprintf(out, "Usage: %s [OPTION...]\n%s\n\nOptions:\n", table->program, table->summary);
	for (size_t i = 0; i < table->count; i++)
		print_option(&table->options[i], out);
	fprintf(out, "%-*s", HELP_COLUMN, "  --config FILE");
	print_wrapped(out, "Read options from FILE, one `name = value` a line; weaker than the "
			   "environment and the command line. Read at the start only: another "
			   "value of an option needs a restart, which loses no request.");
	fprintf(out, "%-*sShow this text.\n", HELP_COLUMN, "  -h, --help");
	fprintf(out, "%-*sShow what each line of the log means, and what to do about it.\n",
		HELP_COLUMN, "  --help=events");
	fprintf(out, "%-*sShow the version.\n", HELP_COLUMN, "  --version");
	if (table->details != NULL)
		fprintf(out, "\n%s\n", table->details);
}

void options_print_names(const struct option_table *table, FILE *out)
{
	for (size_t i = 0; i < table->count; i++)
		fprintf(out, "%s\n", table->options[i].name);
}
