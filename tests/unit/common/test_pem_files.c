// SPDX-License-Identifier: Apache-2.0
#include "common/pem_files.h"

#include "common/xalloc.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#define CERTS    CERTS_DIR "/"
#define NONSENSE "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"

static char dir[] = "/tmp/sluice-test-XXXXXX";

static char *make_file(const char *content)
{
	char *path = xasprintf("%s/file", dir);
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	assert_int_equal(write(fd, content, strlen(content)), (ssize_t)strlen(content));
	close(fd);
	return path;
}

static char *read_file(const char *path)
{
	char *pem = NULL;
	assert_null(pem_read_authorities(path, &pem));
	return pem;
}

/* `content` is what the file has, or NULL and it is one of ours. */
static void authorities_are_certificates_and_nothing_else(void **state)
{
	char *good = read_file(CERTS "a.crt");
	char *half = xstrndup(good, strlen(good) / 2);
	char *second_is_half = xasprintf("%s%s", good, half);
	char *with_words = xasprintf("# first\n%s# second\n%s", good, good);
	const struct {
		const char *name;
		const char *content;
		const char *problem; /* behind the path; NULL: none */
	} table[] = {
		{"one", good, NULL},
		{"two with words between", with_words, NULL},
		{"empty", "", ": holds no certificate"},
		{"words", "certificate\n", ": holds no certificate"},
		{"half written", half, ": holds a certificate that cannot be read"},
		{"the second half written", second_is_half,
			": holds a certificate that cannot be read"},
		{"nonsense", NONSENSE, ": holds a certificate that cannot be read"},
	};
	(void)state;
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		char *pem = NULL;
		char *path = make_file(table[i].content);
		char *problem = pem_read_authorities(path, &pem);
		char *want = table[i].problem != NULL ? xasprintf("%s%s", path, table[i].problem)
						      : xstrdup(table[i].content);
		const char *got = table[i].problem != NULL ? problem : pem;
		if (got == NULL || strcmp(got, want) != 0)
			fail_msg("%s: %s", table[i].name, got != NULL ? got : "(nothing)");
		free(problem);
		free(pem);
		free(want);
		free(path);
	}
	free(good);
	free(half);
	free(second_is_half);
	free(with_words);
}

static void a_key_is_that_of_its_certificate(void **state)
{
	char *cert = read_file(CERTS "a.crt");
	char *junk = make_file("words\n");
	const struct {
		const char *name;
		struct pem_pair pair;
		const char *problem;
	} table[] = {
		{"files", {.cert_path = CERTS "a.crt", .key_path = CERTS "a.key"}, NULL},
		{"a text and a file", {.cert = cert, .key_path = CERTS "a.key"}, NULL},
		{"two texts", {.cert = "CERT", .key = "KEY"}, NULL},
		{"of another", {.cert_path = CERTS "a.crt", .key_path = CERTS "b.key"},
			"b.key: is not the key of " CERTS "a.crt"},
		{"of another text", {.cert = cert, .key_path = CERTS "b.key"},
			"b.key: is not the key of the certificate"},
		{"no certificate", {.cert_path = CERTS "a.key", .key_path = CERTS "a.key"},
			"a.key: holds no certificate that can be read"},
		{"no key", {.cert_path = CERTS "a.crt", .key_path = junk},
			"/file: holds no key that can be read"},
		{"no file", {.cert_path = CERTS "a.crt", .key_path = CERTS "none.key"},
			"none.key: No such file or directory"},
	};
	(void)state;
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		char *got_cert = NULL;
		char *got_key = NULL;
		char *problem = pem_read_pair(&table[i].pair, &got_cert, &got_key);
		if (table[i].problem == NULL &&
			(problem != NULL || got_cert == NULL || got_key == NULL))
			fail_msg("%s: %s", table[i].name, problem);
		if (table[i].problem != NULL &&
			(problem == NULL || strstr(problem, table[i].problem) == NULL))
			fail_msg("%s: %s", table[i].name, problem);
		free(problem);
		free(got_cert);
		pem_free(got_key);
	}
	free(cert);
	free(junk);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(authorities_are_certificates_and_nothing_else),
		cmocka_unit_test(a_key_is_that_of_its_certificate),
	};
	if (mkdtemp(dir) == NULL)
		return 1;
	int failed = cmocka_run_group_tests(tests, NULL, NULL);
	char *path = xasprintf("%s/file", dir);
	unlink(path);
	free(path);
	rmdir(dir);
	return failed;
}
