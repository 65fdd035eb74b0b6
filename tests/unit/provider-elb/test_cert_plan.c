// SPDX-License-Identifier: Apache-2.0
#include "provider-elb/cert_plan.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

/* What is there, as wanted. */
#define GOOD \
	.has_copy = true, .is_leaf_wanted = true, .is_content_wanted = true, .is_tag_wanted = true
#define WANTED .is_known = true, .is_wanted = true, .has_object = true

static void takes_one_step_after_the_other(void **state)
{
	static const struct {
		const char *name;
		struct cert_facts in;
		enum cert_step want;
	} rows[] = {
		{"before the list", {.is_wanted = true, .has_object = true}, CERT_NOTHING},
		{"missing", {WANTED}, CERT_IMPORT},
		{"missing, and may be among others", {WANTED, .has_candidate = true}, CERT_LOOK},
		{"missing, after a lost answer", {WANTED, .must_list = true, .has_candidate = true},
			CERT_LIST},
		{"missing, and unusable", {WANTED, .is_unusable = true, .must_list = true},
			CERT_NOTHING},
		{"as wanted", {WANTED, GOOD}, CERT_NOTHING},
		{"to be verified", {WANTED, GOOD, .must_read = true}, CERT_READ},
		{"late tag",
			{WANTED, .has_copy = true, .is_leaf_wanted = true,
				.is_content_wanted = true},
			CERT_TAG},
		{"old copies", {WANTED, GOOD, .has_old = true}, CERT_REMOVE_OLD},
		{"another leaf by its tag", {WANTED, .has_copy = true}, CERT_READ},
		{"another leaf", {WANTED, .has_copy = true, .is_content_known = true},
			CERT_REPLACE},
		{"another chain by its tag", {WANTED, .has_copy = true, .is_leaf_wanted = true},
			CERT_REPLACE},
		{"not replaced",
			{WANTED, .has_copy = true, .is_content_known = true,
				.is_replace_refused = true},
			CERT_IMPORT},
		{"not replaced, after a lost answer",
			{WANTED, .has_copy = true, .is_content_known = true,
				.is_replace_refused = true, .must_list = true},
			CERT_LIST},
		{"the old one stays while the new one is unusable",
			{WANTED, .has_copy = true, .is_unusable = true, .has_old = true},
			CERT_NOTHING},
		{"unused", {.is_known = true, .has_object = true, GOOD}, CERT_NOTHING},
		{"unused for long",
			{.is_known = true, .has_object = true, GOOD, .may_remove = true},
			CERT_REMOVE},
		{"unused for long, with old copies",
			{.is_known = true, GOOD, .may_remove = true, .has_old = true},
			CERT_REMOVE_OLD},
		{"unused, never imported",
			{.is_known = true, .has_object = true, .may_remove = true}, CERT_NOTHING},
		{"neither wanted nor there", {.is_known = true}, CERT_FORGET},
		{"not wanted, to be verified",
			{.is_known = true, .has_copy = true, .must_read = true}, CERT_READ},
	};
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		print_message("%s\n", rows[i].name);
		assert_int_equal(cert_plan_next(&rows[i].in), rows[i].want);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(takes_one_step_after_the_other),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
