// SPDX-License-Identifier: Apache-2.0
#include "translator/policies.h"
#include "translator/policy_words.h"

#include "tests/unit/translator/help.h"

static void words_are_bits(void **state)
{
	struct str words[] = {STR("scale"), STR("unheard-of"), STR("stickiness")};
	struct str_list none = {0};
	struct str_list some = {words, 3};
	(void)state;
	const uint64_t all = (UINT64_C(1) << POLICY_COUNT) - 1;
	assert_int_equal(policies_missing(&none), all);
	assert_int_equal(
		policies_missing(&some), all & ~(uint64_t)(POLICY_SCALE | POLICY_STICKINESS));
}

static void what_cannot_be_had_is_refused_by_name(void **state)
{
	static const struct {
		unsigned cannot;
		enum balancer_scope scope;
		bool scale;
		bool stickiness;
		const char *reasons;
	} rows[] = {
		{0, BALANCER_OF_INGRESS, true, true, ""},
		{POLICY_SCALE, BALANCER_OF_INGRESS, false, true, "NotSupported"},
		{POLICY_STICKINESS, BALANCER_OF_GROUP, true, false, "NotSupported"},
		{0, BALANCER_OF_CLASS, false, true, "SharedLoadBalancer"},
		{POLICY_SCALE | POLICY_STICKINESS, BALANCER_OF_CLASS, false, false,
			"NotSupported NotSupported"},
	};
	static const struct ingress_record ingress = {.key = {.name = STR("web")}};
	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct stickiness cookie = {.cookie = STR("c")};
		struct plan plan = {
			.scope = rows[i].scope, .values = {.scale = 2, .stickiness = &cookie}};
		struct plan_context context = {.cannot = {.policies = rows[i].cannot}};
		struct diag_list diags;
		struct arena arena;
		arena_init(&arena);
		diag_list_init(&diags, &arena);
		policies_refuse(&ingress, &context, &arena, &plan, &diags);
		assert_int_equal(plan.values.scale != 0, rows[i].scale);
		assert_int_equal(plan.values.stickiness != NULL, rows[i].stickiness);
		assert_string_equal(reasons_of(&diags), rows[i].reasons);
		arena_fini(&arena);
	}
}

static struct str port_with(struct arena *arena, const char *cookie, uint64_t rise)
{
	struct stickiness stickiness = {.cookie = str_from(cookie)};
	struct health_check check = {.service = STR("web"), .rise = rise};
	struct annotation_values values = {
		.stickiness = cookie != NULL ? &stickiness : NULL,
		.health_checks = {&check, rise != 0},
	};
	struct plan_pool pool = {.service = STR("web"), .port = STR("80")};
	struct plan plan = {.values = values};
	policies_settle_pool(&plan, arena, &pool);
	return pool.port;
}

static void pools_with_the_same_settings_are_one(void **state)
{
	struct arena arena;
	(void)state;
	arena_init(&arena);
	assert_text(port_with(&arena, NULL, 0), "80");
	assert_true(str_eq(port_with(&arena, "a", 0), port_with(&arena, "a", 0)));
	assert_false(str_eq(port_with(&arena, "a", 0), port_with(&arena, "b", 0)));
	assert_false(str_eq(port_with(&arena, "a", 0), port_with(&arena, "a", 1)));
	assert_false(str_eq(port_with(&arena, NULL, 1), port_with(&arena, NULL, 2)));
	assert_true(str_starts_with(port_with(&arena, "a", 0), STR("80+")));
	arena_fini(&arena);
}

/* The same for what a dialect alone can ask for. */
static void pools_differ_by_affinity_and_hash(void **state)
{
	struct piece pieces[] = {
		{.value = REQUEST_TARGET}, {.value = REQUEST_HEADER, .text = STR("x-a")}};
	struct affinity affinities[] = {{.path = STR("/a")}, {.path = STR("/b")}, {.max_age_s = 1},
		{.expires_s = 1}, {.same_site = SAME_SITE_LAX}, {.same_site_known = true},
		{.secure = SECURE_TLS}, {.stays = true}};
	const struct route_hash hashes[] = {{.key = {&pieces[0], 1}}, {.key = {&pieces[1], 1}},
		{.key = {&pieces[1], 1}, .subset = 3}};
	enum {
		AFFINITIES = sizeof(affinities) / sizeof(affinities[0]),
		HASHES = sizeof(hashes) / sizeof(hashes[0])
	};
	struct str ports[AFFINITIES + HASHES];
	struct arena arena;
	arena_init(&arena);
	for (size_t i = 0; i < AFFINITIES + HASHES; i++) {
		struct stickiness stickiness = {
			.cookie = STR("c"), .affinity = &affinities[i % AFFINITIES]};
		struct plan plan = {.values.stickiness = i < AFFINITIES ? &stickiness : NULL,
			.route.hash = i < AFFINITIES ? NULL : &hashes[i - AFFINITIES]};
		struct plan_pool pool = {.service = STR("web"), .port = STR("80")};
		policies_settle_pool(&plan, &arena, &pool);
		ports[i] = pool.port;
		for (size_t k = 0; k < i; k++)
			assert_false(str_eq(ports[k], ports[i]));
	}
	arena_fini(&arena);
}

/* One of two different values of a row. */
static void set_value(struct annotation_values *values, enum annotation_row row, bool second)
{
	const struct annotation_spec *spec = &annotation_specs[row];
	void *at = (char *)values + spec->offset;
	switch (spec->type) {
	case ANNOTATION_COUNT:
		*(uint64_t *)at = second ? 2 : 1;
		break;
	case ANNOTATION_SWITCH:
		*(enum annotation_switch *)at = second ? SWITCH_OFF : SWITCH_ON;
		break;
	case ANNOTATION_PROTOCOL:
		*(enum backend_protocol *)at = second ? BACKEND_GRPCS : BACKEND_HTTPS;
		break;
	case ANNOTATION_TEXT:
	case ANNOTATION_NAME:
	case ANNOTATION_OBJECT:
	case ANNOTATION_HOST:
	case ANNOTATION_NAMESPACES:
		*(struct str *)at = second ? STR("b") : STR("a");
		break;
	default:
		fail_msg("%s: backends have no two values of this type yet", spec->canonical);
	}
}

static struct str port_by_row(struct arena *arena, enum annotation_row row, bool second)
{
	struct annotation_values values = {0};
	struct plan_pool pool = {.service = STR("web"), .port = STR("80")};
	set_value(&values, row, second);
	struct plan plan = {.values = values};
	policies_settle_pool(&plan, arena, &pool);
	return pool.port;
}

/* Whatever Ingresses may ask of backends: with different values they must not share a pool. */
static void pools_differ_by_every_setting_of_backends(void **state)
{
	struct arena arena;
	arena_init(&arena);
	for (enum annotation_row row = 0; row < ANNOTATION_ROW_COUNT; row++) {
		if (annotation_specs[row].place != ANNOTATION_OF_BACKEND)
			continue;
		if (str_eq(port_by_row(&arena, row, false), port_by_row(&arena, row, true)))
			fail_msg(
				"%s: mix_backend() leaves it out", annotation_specs[row].canonical);
	}
	arena_fini(&arena);
}

static struct str port_by_terms(struct arena *arena, const struct backend_terms *terms)
{
	struct annotation_values values = {.backend = {.protocol = BACKEND_HTTPS, .terms = terms}};
	struct plan_pool pool = {.service = STR("web"), .port = STR("80")};
	struct plan plan = {.values = values};
	policies_settle_pool(&plan, arena, &pool);
	return pool.port;
}

static void pools_differ_by_how_handshakes_are_made(void **state)
{
	const struct backend_terms rows[] = {{0}, {.sends_name = true}, {.usual_name = STR("a")},
		{.min_version = 12}, {.max_version = 12}, {.max_depth = 1},
		{.ciphers = {(struct str[]){STR("A"), STR("B")}, 2}},
		{.ciphers = {(struct str[]){STR("AB")}, 1}}};
	struct arena arena;
	(void)state;
	arena_init(&arena);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct str one = port_by_terms(&arena, &rows[i]);
		assert_false(str_eq(one, port_by_terms(&arena, NULL)));
		for (size_t k = 0; k < i; k++)
			assert_false(str_eq(one, port_by_terms(&arena, &rows[k])));
	}
	arena_fini(&arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(words_are_bits),
		cmocka_unit_test(what_cannot_be_had_is_refused_by_name),
		cmocka_unit_test(pools_with_the_same_settings_are_one),
		cmocka_unit_test(pools_differ_by_affinity_and_hash),
		cmocka_unit_test(pools_differ_by_every_setting_of_backends),
		cmocka_unit_test(pools_differ_by_how_handshakes_are_made),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
