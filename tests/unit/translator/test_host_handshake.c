// SPDX-License-Identifier: Apache-2.0
#include "translator/host_handshake.h"

#include "tests/unit/translator/help.h"

static struct str strong[] = {STR("ECDHE-ECDSA-AES256-GCM-SHA384")};
static struct str weak[] = {STR("ECDHE-ECDSA-AES128-GCM-SHA256")};

struct row {
	const char *name;
	struct host_handshake wishes[3]; /* of the oldest Ingress, the middle one, the youngest */
	const struct str *ciphers;       /* that are chosen; NULL: none */
	enum cipher_order order;
	size_t told;
	bool is_nothing;
};

static const struct row rows[] = {
	{"nobody says anything", .is_nothing = true},
	{"the oldest's ciphers", {{.ciphers = {strong, 1}}, {.ciphers = {weak, 1}}}, strong,
		CIPHER_ORDER_OWN, 1},
	{"the only one's", {{0}, {.ciphers = {weak, 1}}}, weak, CIPHER_ORDER_OWN, 0},
	{"ciphers and order of two",
		{{.order = CIPHER_ORDER_CLIENT}, {.ciphers = {weak, 1}},
			{.ciphers = {weak, 1}, .order = CIPHER_ORDER_CLIENT}},
		weak, CIPHER_ORDER_CLIENT, 0},
	{"the oldest's order",
		{{.order = CIPHER_ORDER_SERVER}, {.order = CIPHER_ORDER_CLIENT},
			{.order = CIPHER_ORDER_CLIENT}},
		NULL, CIPHER_ORDER_SERVER, 2},
};

static void test_choice(void **state)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct row *row = &rows[i];
		struct claim_route routes[3] = {{0}};
		struct path_claim claims[3] = {{0}};
		struct object_ref refs[3] = {{.namespace = STR("ns"), .name = STR("a")},
			{.namespace = STR("ns"), .name = STR("b")},
			{.namespace = STR("ns"), .name = STR("c")}};
		struct arena arena;
		struct diag_list diags;
		arena_init(&arena);
		diag_list_init(&diags, &arena);
		/* The youngest first: the order of claims does not matter. */
		for (size_t k = 0; k < 3; k++) {
			const struct host_handshake *wish = &row->wishes[k];
			bool says_it = wish->ciphers.count != 0 || wish->order != CIPHER_ORDER_OWN;
			routes[k].handshake = says_it ? wish : NULL;
			claims[2 - k] = (struct path_claim){
				.route = &routes[k], .ingress = &refs[k], .created = k + 1};
		}
		const struct host_handshake *chosen =
			host_handshake_choose(claims, 3, STR("a.test"), &arena, &diags);
		print_message("%s\n", row->name);
		assert_int_equal(chosen == NULL, row->is_nothing);
		assert_int_equal(diags.count, row->told);
		if (chosen != NULL) {
			assert_ptr_equal(chosen->ciphers.items, row->ciphers);
			assert_int_equal(chosen->order, row->order);
		}
		arena_fini(&arena);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_choice)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
