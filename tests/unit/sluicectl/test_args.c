// SPDX-License-Identifier: Apache-2.0
#include "sluicectl/args.h"
#include "sluicectl/args_print.h"
#include "sluicectl/args_table.h"

#include "common/str.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { WORDS_MAX = 8 };

static enum args_outcome parse(const char *const *words, struct args *ret_args, char **ret_problem)
{
	static char *argv[WORDS_MAX + 2];
	int argc = 1;
	argv[0] = (char *)(uintptr_t) "sluicectl";
	for (size_t i = 0; i < WORDS_MAX && words[i] != NULL; i++)
		argv[argc++] = (char *)(uintptr_t)words[i];
	argv[argc] = NULL;
	*ret_problem = NULL;
	return args_parse(argc, argv, ret_args, stdout, ret_problem);
}

static void test_values(void **ctx)
{
	(void)ctx;
	struct args args;
	char *problem;
	const char *words[] = {"render", "-f", "a.yaml", "-fb.yaml", "--provider=nginx",
		"--show-secrets", "--", "-x", NULL};
	assert_int_equal(parse(words, &args, &problem), ARGS_OK);
	assert_int_equal(args.command, COMMAND_RENDER);
	assert_int_equal(args.files.count, 2);
	assert_string_equal(args.files.items[0], "a.yaml");
	assert_string_equal(args.files.items[1], "b.yaml");
	assert_string_equal(args.provider, "nginx");
	assert_true(args.secrets);
	assert_int_equal(args.rest.count, 1);
	assert_string_equal(args.rest.items[0], "-x");
	args_free(&args);
}

static void test_standard_input_is_a_name(void **ctx)
{
	(void)ctx;
	struct args args;
	char *problem;
	const char *words[] = {"lint", "-f", "-", NULL};
	assert_int_equal(parse(words, &args, &problem), ARGS_OK);
	assert_string_equal(args.files.items[0], "-");
	assert_int_equal(args.rest.count, 0);
	args_free(&args);
}

/* The command is the first word that is neither an option nor an option's value. */
static void test_options_before_the_command(void **ctx)
{
	static const char *const forms[][WORDS_MAX] = {
		{"get", "ingress", "-n", "lint", "--output=json", NULL},
		{"-n", "lint", "--output=json", "get", "ingress", NULL},
		{"-nlint", "get", "--output", "json", "ingress", NULL},
		{"--output", "json", "get", "ingress", "--namespace", "lint", NULL},
	};
	(void)ctx;
	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		struct args args;
		char *problem;
		assert_int_equal(parse(forms[i], &args, &problem), ARGS_OK);
		assert_int_equal(args.command, COMMAND_GET);
		assert_string_equal(args.namespace, "lint");
		assert_string_equal(args.output, "json");
		assert_int_equal(args.rest.count, 1);
		assert_string_equal(args.rest.items[0], "ingress");
		args_free(&args);
	}
}

static void test_refusals(void **ctx)
{
	static const struct {
		const char *words[WORDS_MAX];
		const char *problem;
	} cases[] = {
		{{NULL}, "a command is missing"},
		{{"dance", NULL}, "there is no command"},
		{{"lint", "--nope", NULL}, "there is no option"},
		{{"--nope", "lint", NULL}, "there is no option"},
		{{"-n", "lint", NULL}, "a command is missing"},
		{{"--to", "x", "lint", NULL}, "does not know"},
		{{"help", "dance", NULL}, "there is no command"},
		{{"lint", "-f", NULL}, "needs FILE"},
		{{"lint", "--to", "x", NULL}, "does not know"},
		{{"render", "--show-secrets=1", NULL}, "has no value"},
		{{"render", "-p", "envoy", NULL}, "must be one of"},
		/* A part of a word, or two of them, is none. */
		{{"render", "-p", "hapro", NULL}, "must be one of"},
		{{"render", "-p", "haproxy nginx", NULL}, "must be one of"},
		{{"render", "-p", "", NULL}, "must be one of"},
	};
	(void)ctx;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct args args;
		char *problem;
		int outcome = (int)parse(cases[i].words, &args, &problem);
		if (outcome == ARGS_OK)
			fail_msg("case %zu was taken", i);
		assert_int_equal(outcome, ARGS_BAD);
		assert_non_null(strstr(problem, cases[i].problem));
		free(problem);
		args_free(&args);
	}
}

/* Every command and every option stands in every text that is made of the table. */
static void test_texts_name_everything(void **ctx)
{
	static const char *const shells[] = {"bash", "zsh", "fish", "man", "markdown"};
	(void)ctx;
	for (size_t s = 0; s < sizeof(shells) / sizeof(shells[0]); s++) {
		char *text = NULL;
		size_t len = 0;
		FILE *file = open_memstream(&text, &len);
		if (strcmp(shells[s], "man") == 0)
			args_print_man(file);
		else if (strcmp(shells[s], "markdown") == 0)
			args_print_markdown(file);
		else
			assert_true(args_print_completion(file, shells[s]));
		fclose(file);
		for (size_t i = 0; i < COMMAND_COUNT; i++)
			assert_non_null(strstr(text, command_specs[i].name));
		for (size_t i = 0; i < ctl_option_count; i++) {
			/* A hyphen is written with a backslash in a manual. */
			size_t word = strcspn(ctl_option_specs[i].name, "-");
			char *name = str_dup((struct str){ctl_option_specs[i].name, word});
			assert_non_null(strstr(text, name));
			free(name);
		}
		free(text);
	}
	assert_false(args_print_completion(stdout, "csh"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_values),
		cmocka_unit_test(test_standard_input_is_a_name),
		cmocka_unit_test(test_options_before_the_command),
		cmocka_unit_test(test_refusals),
		cmocka_unit_test(test_texts_name_everything),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
