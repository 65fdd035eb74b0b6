// SPDX-License-Identifier: Apache-2.0
#include "provider-supervisor/password.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

static struct crypt_data scratch;

static bool fits(const char *password, const char *hash)
{
	return password_fits(str_from(password), str_from(hash), &scratch);
}

#define SHA512         \
	"$6$saltsalt$" \
	"qFmFH.bQmmtXzyBY0s9v7Oicd2z4XSIecDzlB5KiA2/jctKu9YterLp8wwnSq.qc.eoxqOmSuNp2xS0ktL3nh/"

/* All of "password"; made by openssl passwd, htpasswd and crypt(3). */
static const char *const hashes[] = {
	"{SHA}W6ph5Mm5Pz8GgiULbPgzG37mj9g=",
	"{SSHA}yI6cZwQadOA1e+/f+T+H3eCQQhRzYWx0",
	"$apr1$saltsalt$yAAkm4libquA.ZWLHbSBq/",
	"$1$saltsalt$qjXMvbEw8oaL.CzflDtaK/",
	"$5$saltsalt$gOjOtoMpVhru2uyjeJSEc/JaLQWOXMNmlOnj6T4AtC.",
	SHA512,
	"$2b$04$abcdefghijklmnopqrstuughE8Ev8uGFaUgY2cNEySvxngrb/Jzdm",
};

static void each_kind_lets_in_whom_it_should(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(hashes) / sizeof(hashes[0]); i++) {
		assert_true(fits("password", hashes[i]));
		assert_false(fits("passwort", hashes[i]));
		assert_false(fits("password1", hashes[i]));
		assert_false(fits("", hashes[i]));
		assert_false(fits(hashes[i], hashes[i]));
	}
}

/* Each beginning of a hash, and each with one character changed, fits nothing. */
static void a_damaged_hash_lets_nobody_in(void **state)
{
	char text[PASSWORD_HASH_LEN_MAX];
	(void)state;
	for (size_t i = 0; i < sizeof(hashes) / sizeof(hashes[0]); i++) {
		size_t len = strlen(hashes[i]);
		bool is_slow = hashes[i][1] == '5' || hashes[i][1] == '6' || hashes[i][1] == '2';
		for (size_t k = 0; k < len; k += is_slow ? 5 : 1) {
			struct str cut = {hashes[i], k};
			/* A hash in base 64 may lack the sign of its end. */
			bool is_whole = hashes[i][k] == '=';
			assert_int_equal(password_fits(STR("password"), cut, &scratch), is_whole);
			strcpy(text, hashes[i]);
			text[k] = text[k] == '!' ? '?' : '!';
			assert_false(!is_whole && fits("password", text));
		}
	}
}

static void apr1_takes_any_length(void **state)
{
	char text[101] = {0};
	(void)state;
	memset(text, 'a', 100);
	assert_true(fits("", "$apr1$x$tMwYqBfQwi3FYAr0aJc8M/"));
	assert_true(fits(text, "$apr1$12345678$XUgawe9rI.Q.pC4iat45x/"));
	assert_false(fits(text, "$apr1$123456789$XUgawe9rI.Q.pC4iat45x/"));
}

static void what_is_too_much_is_not_tried(void **state)
{
	char *text = calloc(PASSWORD_LEN_MAX + 2, 1);
	(void)state;
	memset(text, 'a', PASSWORD_LEN_MAX + 1);
	assert_false(fits(text, hashes[0]));
	assert_false(fits("password", text));
	assert_false(password_fits(STR("password\0x"), str_from(hashes[0]), &scratch));
	/* Years. */
	assert_false(
		fits("password", "$2b$31$abcdefghijklmnopqrstuughE8Ev8uGFaUgY2cNEySvxngrb/Jzdm"));
	assert_false(fits("password", "$6$rounds=999999999$saltsalt$x"));
	assert_false(fits("password", "$6$rounds=99999999999999999999999999$saltsalt$x"));
	free(text);
}

static void unknown_kinds_let_nobody_in(void **state)
{
	static const char *const unknown[] = {"password", "", "$", "$2", "$2b$", "$2b$04", "{SHA}",
		"{SSHA}", "$1$", "$6$", "$apr1$", "$apr1$$", "$y$j9T$x$x",
		"{SSHA}cGFzc3dvcmQ=", "*", "*0", "x"};
	(void)state;
	for (size_t i = 0; i < sizeof(unknown) / sizeof(unknown[0]); i++) {
		assert_false(fits("password", unknown[i]));
		assert_false(fits("", unknown[i]));
		assert_false(fits(unknown[i], unknown[i]));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_kind_lets_in_whom_it_should),
		cmocka_unit_test(a_damaged_hash_lets_nobody_in),
		cmocka_unit_test(apr1_takes_any_length),
		cmocka_unit_test(what_is_too_much_is_not_tried),
		cmocka_unit_test(unknown_kinds_let_nobody_in),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
