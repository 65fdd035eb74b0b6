// SPDX-License-Identifier: Apache-2.0
#include "watcher/manifest.h"

#include "common/xalloc.h"
#include "watcher/yamltext.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* ---- YAML to JSON ---- */

static void test_values(void **ctx)
{
	static const struct {
		const char *yaml;
		const char *json;
	} cases[] = {
		{"a: 1", "{\"a\":1}"},
		{"a: \"1\"", "{\"a\":\"1\"}"},
		{"a: yes\nb: 'yes'\nc: Off", "{\"a\":true,\"b\":\"yes\",\"c\":false}"},
		{"a: ~\nb: null\nc:", "{\"a\":null,\"b\":null,\"c\":null}"},
		{"a: 0x1f\nb: -7\nc: 0644", "{\"a\":31,\"b\":-7,\"c\":420}"},
		/* What is no whole number, or too great for one, is text. */
		{"a: 1.5\nb: 99999999999999999\nc: 1e3\nd: 2024-01-01T00:00:00Z",
			"{\"a\":\"1.5\",\"b\":\"99999999999999999\",\"c\":\"1e3\",\"d\":\"2024-01-"
			"01T00:00:00Z\"}"},
		{"a: &x [1, {b: c}]\nd: *x", "{\"a\":[1,{\"b\":\"c\"}],\"d\":[1,{\"b\":\"c\"}]}"},
		{"a: |\n  one\n  \"two\"\\\n", "{\"a\":\"one\\n\\\"two\\\"\\\\\\n\"}"},
		{"\xef\xbb\xbf"
		 "a: 1",
			"{\"a\":1}"},
		{"{\"a\": [true, null, \"x\"]}", "{\"a\":[true,null,\"x\"]}"},
	};
	(void)ctx;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct yaml_reader *reader = yaml_reader_new(str_from(cases[i].yaml));
		const struct yaml_document *document;
		char *problem = NULL;
		assert_true(yaml_next(reader, &document, &problem));
		char *json = str_dup(buf_str(&document->json));
		assert_string_equal(json, cases[i].json);
		free(json);
		assert_false(yaml_next(reader, &document, &problem));
		assert_null(problem);
		yaml_reader_free(reader);
	}
}

static void test_refusals(void **ctx)
{
	static const struct {
		const char *yaml;
		const char *problem;
	} cases[] = {
		{"a: [", "line"},
		{"a: 1\n\tb: 2", "line 2: "},
		{"a:\n  \tb: 2", "a tab, where only blanks may indent"},
		{"{{- if .Values.on }}\na: 1\n{{- end }}", "line 1: "},
		{"a: 1\nb: {{ .Values.b }}",
			"line 2: a key must be text: a template, which has to be "
			"rendered first"},
		{"a: &a [*a]", "within itself"},
		{"x: {a: 1}\ny:\n  <<: {a: 1}", "line 3: merge keys"},
		{"? [a]\n: b", "a key must be text"},
	};
	(void)ctx;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct yaml_reader *reader = yaml_reader_new(str_from(cases[i].yaml));
		const struct yaml_document *document;
		char *problem = NULL;
		assert_false(yaml_next(reader, &document, &problem));
		assert_non_null(problem);
		assert_non_null(strstr(problem, cases[i].problem));
		free(problem);
		yaml_reader_free(reader);
	}
}

/* Ten thousand millions of nodes in nine lines. */
static void test_a_bomb_is_refused(void **ctx)
{
	struct buf text;
	const struct yaml_document *document;
	char *problem = NULL;
	(void)ctx;
	buf_init(&text, 4096);
	assert_int_equal(buf_printf(&text, "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n"), 0);
	for (int i = 1; i < 10; i++)
		assert_int_equal(
			buf_printf(&text,
				"a%d: &a%d [*a%d,*a%d,*a%d,*a%d,*a%d,*a%d,*a%d,*a%d,*a%d,*a%d]\n",
				i, i, i - 1, i - 1, i - 1, i - 1, i - 1, i - 1, i - 1, i - 1, i - 1,
				i - 1),
			0);
	struct yaml_reader *reader = yaml_reader_new(buf_str(&text));
	assert_false(yaml_next(reader, &document, &problem));
	assert_non_null(strstr(problem, "too big"));
	free(problem);
	yaml_reader_free(reader);
	buf_fini(&text);
}

/* Reads `head`, then `piece` so many times, then `tail`; returns what is wrong (allocated), or NULL. */
static char *read_pieces(const char *head, const char *piece, size_t count, const char *tail)
{
	struct buf text;
	const struct yaml_document *document;
	char *problem = NULL;
	buf_init(&text, 16 * 1024 * 1024);
	assert_int_equal(buf_printf(&text, "%s", head), 0);
	for (size_t i = 0; i < count; i++)
		assert_int_equal(buf_printf(&text, "%s", piece), 0);
	assert_int_equal(buf_printf(&text, "%s", tail), 0);
	struct yaml_reader *reader = yaml_reader_new(buf_str(&text));
	while (yaml_next(reader, &document, &problem))
		continue;
	yaml_reader_free(reader);
	buf_fini(&text);
	return problem;
}

/* So much is taken, and one more is not. */
static void test_limits(void **ctx)
{
	static const struct {
		const char *head;
		const char *piece;
		size_t most;
		const char *tail;
		const char *problem;
	} cases[] = {
		{"a: ", "[", YAML_DEPTH_MAX, "", "nested too deeply"},
		{"x:\n", "- &a 1\n", YAML_ANCHORS_MAX, "", "line 66: more than 64 anchors"},
		{"", "%TAG !a! tag:x:\n", YAML_TAG_DIRECTIVES_MAX, "---\na: 1\n", "16 %TAG"},
		/* Of a file, not of each document. */
		{"", "---\na: &a [x,x,x,x,x,x,x,x,x,x]\nb: [*a,*a,*a,*a,*a,*a,*a,*a,*a,*a]\n", 1,
			"", NULL},
	};
	(void)ctx;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char *problem =
			read_pieces(cases[i].head, cases[i].piece, cases[i].most, cases[i].tail);
		/* Of brackets that are never closed something else is wrong; of %TAG, that they say the same. */
		if (problem != NULL && cases[i].problem != NULL)
			assert_null(strstr(problem, cases[i].problem));
		free(problem);
		if (cases[i].problem == NULL)
			continue;
		problem = read_pieces(
			cases[i].head, cases[i].piece, cases[i].most + 1, cases[i].tail);
		assert_non_null(problem);
		assert_non_null(strstr(problem, cases[i].problem));
		free(problem);
	}
}

/* Aliases of many small documents are counted together. */
static void test_many_small_bombs_are_refused(void **ctx)
{
	static const char nodes[] =
		"---\na: &a [x,x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a,*a]\n"
		"c: [*b,*b,*b,*b,*b,*b,*b,*b,*b,*b]\n";
	char *bytes = xasprintf("---\na: &a '%1000s'\nb: [*a,*a,*a,*a,*a,*a,*a,*a,*a,*a,*a,*a,*a,"
				"*a,*a,*a,*a,*a,*a,*a,*a,*a,*a,*a,*a,*a,*a,*a,*a,*a]\n",
		"x");
	(void)ctx;
	assert_null(read_pieces(nodes, "", 0, ""));
	char *problem = read_pieces("", nodes, 100, "");
	assert_non_null(problem);
	assert_non_null(strstr(problem, "too big"));
	free(problem);
	assert_null(read_pieces(bytes, "", 0, ""));
	problem = read_pieces("", bytes, 1000, "");
	assert_non_null(problem);
	assert_non_null(strstr(problem, "too big"));
	free(problem);
	free(bytes);
	/* Without aliases they may be many. */
	assert_null(read_pieces("", "---\na: [x, x, x, x]\n", 20000, ""));
}

/* ---- objects ---- */

struct seen {
	size_t count;
	char *texts[8];
	unsigned lines[8];
};

static void on_object(void *ctx, const struct json *object, const struct manifest_place *place)
{
	struct seen *seen = ctx;
	struct buf text;
	buf_init(&text, 64 * 1024);
	assert_int_equal(json_print(object, &text), 0);
	seen->texts[seen->count] = str_dup(buf_str(&text));
	seen->lines[seen->count++] = place->line;
	buf_fini(&text);
}

static void read_text(const char *text, struct seen *seen)
{
	struct manifest_options options = {
		.namespace = "shop", .on_object = on_object, .ctx = seen};
	*seen = (struct seen){0};
	assert_null(manifest_read_text(str_from(text), "test.yaml", &options));
}

static void forget(struct seen *seen)
{
	for (size_t i = 0; i < seen->count; i++)
		free(seen->texts[i]);
}

static void test_documents_and_lists(void **ctx)
{
	struct seen seen;
	(void)ctx;
	read_text("---\n# nothing\n---\napiVersion: v1\nkind: Service\nmetadata: {name: a}\n---\n"
		  "apiVersion: v1\nkind: ServiceList\nitems:\n- metadata: {name: b}\n- metadata: "
		  "{name: c, namespace: other}\n",
		&seen);
	assert_int_equal(seen.count, 3);
	assert_int_equal(seen.lines[0], 4);
	assert_int_equal(seen.lines[1], 11);
	assert_int_equal(seen.lines[2], 12);
	assert_non_null(strstr(seen.texts[0], "\"namespace\":\"shop\""));
	assert_non_null(strstr(seen.texts[1], "\"kind\":\"Service\""));
	assert_non_null(strstr(seen.texts[2], "\"namespace\":\"other\""));
	forget(&seen);
}

static void test_what_a_server_fills_in(void **ctx)
{
	struct seen seen;
	struct seen again;
	static const char text[] =
		"apiVersion: v1\nkind: Service\nmetadata: {name: a}\nspec: {ports: [{port: 80}, "
		"{port: 81, targetPort: x}]}\n"
		"---\napiVersion: v1\nkind: Secret\nmetadata: {name: s, uid: given}\nstringData: "
		"{k: hello}\n"
		"---\napiVersion: networking.k8s.io/v1\nkind: IngressClass\nmetadata: {name: c}\n";
	(void)ctx;
	read_text(text, &seen);
	read_text(text, &again);
	assert_int_equal(seen.count, 3);
	assert_non_null(strstr(seen.texts[0], "{\"port\":80,\"targetPort\":80}"));
	assert_non_null(strstr(seen.texts[0], "\"targetPort\":\"x\""));
	assert_non_null(strstr(seen.texts[0], "\"uid\":\""));
	assert_non_null(strstr(seen.texts[1], "\"data\":{\"k\":\"aGVsbG8=\"}"));
	assert_non_null(strstr(seen.texts[1], "\"uid\":\"given\""));
	assert_null(strstr(seen.texts[2], "namespace"));
	for (size_t i = 0; i < 3; i++)
		assert_string_equal(seen.texts[i], again.texts[i]);
	forget(&seen);
	forget(&again);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_values),
		cmocka_unit_test(test_refusals),
		cmocka_unit_test(test_a_bomb_is_refused),
		cmocka_unit_test(test_limits),
		cmocka_unit_test(test_many_small_bombs_are_refused),
		cmocka_unit_test(test_documents_and_lists),
		cmocka_unit_test(test_what_a_server_fills_in),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
