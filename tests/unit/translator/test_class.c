// SPDX-License-Identifier: Apache-2.0
#include "translator/class.h"

#include "tests/unit/translator/help.h"

#define OURS   "sluice.io/ingress-controller"
#define ABSENT NULL

struct row {
	const char *name;
	const char *word;       /* annotation */
	const char *field;      /* spec.ingressClassName */
	const char *controller; /* of the class that the field names */
	bool without_class;
	const char *our_default;
	bool not_synced;
	const char *want; /* name of the class; NULL: not ours */
	bool conflict;
};

static const struct row rows[] = {
	{"nothing, taken", .without_class = true, .want = "rancher"},
	{"nothing, not taken", .want = NULL},
	{"nothing, our default class", .our_default = "edge", .want = "edge"},
	{"nothing, taken, our default class", .without_class = true, .our_default = "edge",
		.want = "edge"},
	{"empty word is none, taken", .word = "", .without_class = true, .want = "rancher"},
	{"empty word is none, not taken", .word = "", .want = NULL},
	{"our word", .word = "rancher", .want = "rancher"},
	{"our word, another default", .word = "rancher", .our_default = "edge", .want = "rancher"},
	{"another word", .word = "nginx", .without_class = true, .our_default = "edge"},
	{"words have their case", .word = "Rancher", .without_class = true},
	{"field of ours", .field = "edge", .controller = OURS, .want = "edge"},
	{"field of others", .field = "edge", .controller = "k8s.io/ingress-nginx",
		.without_class = true},
	{"field of nobody", .field = "rancher", .without_class = true},
	{"field of others, our word", .word = "rancher", .field = "edge", .controller = "other"},
	{"field of ours, another word", .word = "nginx", .field = "edge", .controller = OURS,
		.want = "edge", .conflict = true},
	{"field of ours, our word", .word = "rancher", .field = "edge", .controller = OURS,
		.want = "edge"},
	{"field of ours, its name as word", .word = "edge", .field = "edge", .controller = OURS,
		.want = "edge"},
	{"not synced, our name", .field = "rancher", .not_synced = true, .want = "rancher"},
	{"not synced, another name", .field = "nginx", .not_synced = true, .without_class = true},
};

static void check(const struct row *row)
{
	struct arena arena;
	struct diag_list diags;
	arena_init(&arena);
	diag_list_init(&diags, &arena);
	struct source_settings settings = {.ingress_class = STR("rancher"),
		.controller_name = STR(OURS),
		.without_class = row->without_class};
	struct ingress_class_record named = {.controller = str_from(row->controller)};
	struct annotation annotations[] = {
		{STR("a"), STR("b")}, {STR(CLASS_ANNOTATION), str_from(row->word)}};
	struct ingress_record ingress = {.class_name = str_from(row->field),
		.annotations = {annotations, row->word != ABSENT ? 2 : 1}};
	struct class_context context = {.settings = &settings,
		.classes_are_synced = !row->not_synced,
		.named = row->controller != NULL ? &named : NULL,
		.our_default = str_from(row->our_default)};
	struct str class = STR_NONE;
	bool ours = class_is_ours(&ingress, &context, &class, &diags);
	bool named_none = row->field == ABSENT && (row->word == ABSENT || row->word[0] == '\0');
	if (ours != (row->want != NULL) || (ours && !str_eq_c(class, row->want)) ||
		(diags.count != 0) != row->conflict || class_is_unnamed(&ingress) != named_none)
		fail_msg("%s: ours %d, class %.*s, %zu diagnostics", row->name, ours,
			STR_FMT(class), diags.count);
	arena_fini(&arena);
}

static void the_table_of_classes(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++)
		check(&rows[i]);
}

static const struct {
	const char *word;
	const char *field;
	const char *controller;
	bool not_synced;
	const char *want; /* NULL: not of ingress-nginx */
} nginx_rows[] = {
	{.word = "nginx", .want = "nginx"},
	{.word = "Nginx"},
	{.word = "nginx-internal"},
	{.word = ""},
	{.word = ABSENT},
	{.field = "web", .controller = CLASS_NGINX_CONTROLLER, .want = "web"},
	{.field = "nginx", .controller = OURS},
	{.field = "nginx"},
	{.word = "nginx", .field = "web", .controller = OURS},
	{.word = "rancher", .field = "web", .controller = CLASS_NGINX_CONTROLLER, .want = "web"},
	{.field = "nginx", .not_synced = true, .want = "nginx"},
	{.field = "web", .not_synced = true},
};

static void those_of_ingress_nginx(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(nginx_rows); i++) {
		struct ingress_class_record named = {
			.controller = str_from(nginx_rows[i].controller)};
		struct annotation word = {STR(CLASS_ANNOTATION), str_from(nginx_rows[i].word)};
		struct ingress_record ingress = {.class_name = str_from(nginx_rows[i].field),
			.annotations = {&word, nginx_rows[i].word != ABSENT ? 1 : 0}};
		struct class_context context = {.takes_nginx = true,
			.classes_are_synced = !nginx_rows[i].not_synced,
			.named = nginx_rows[i].controller != NULL ? &named : NULL};
		struct str class = STR_NONE;
		bool is_nginx = class_is_nginx(&ingress, &context, &class);
		if (is_nginx != (nginx_rows[i].want != NULL) ||
			(is_nginx && !str_eq_c(class, nginx_rows[i].want)))
			fail_msg("row %zu: %d, %.*s", i, is_nginx, STR_FMT(class));
		context.takes_nginx = false;
		assert_false(class_is_nginx(&ingress, &context, &class));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_table_of_classes), cmocka_unit_test(those_of_ingress_nginx)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
