// SPDX-License-Identifier: Apache-2.0
#include "provider-proxy/usable.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>
#include <openssl/x509.h>

static X509 *self_signed(EVP_PKEY *key, const EVP_MD *digest)
{
	X509 *certificate = X509_new();
	X509_NAME *name = X509_get_subject_name(certificate);
	assert_int_equal(X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC,
				 (const unsigned char *)"a.test", -1, -1, 0),
		1);
	X509_set_version(certificate, 2);
	X509_set_issuer_name(certificate, name);
	X509_gmtime_adj(X509_getm_notBefore(certificate), -60);
	X509_gmtime_adj(X509_getm_notAfter(certificate), 3600);
	X509_set_pubkey(certificate, key);
	assert_int_not_equal(X509_sign(certificate, key, digest), 0);
	return certificate;
}

static const char *problem_of(struct usable *usable, EVP_PKEY *key, const EVP_MD *digest)
{
	char *text;
	BIO *pem = BIO_new(BIO_s_mem());
	X509 *certificate = self_signed(key, digest);
	assert_int_equal(PEM_write_bio_X509(pem, certificate), 1);
	long len = BIO_get_mem_data(pem, &text);
	const char *problem = usable_problem(usable, (struct str){text, (size_t)len});
	BIO_free(pem);
	X509_free(certificate);
	EVP_PKEY_free(key);
	return problem;
}

static void weak_keys_are_refused_as_the_proxies_do(void **unused)
{
	struct usable *usable = usable_new(NULL);
	(void)unused;
	assert_null(problem_of(usable, EVP_EC_gen("P-256"), EVP_sha256()));
	assert_null(problem_of(usable, EVP_RSA_gen(2048), EVP_sha256()));
	assert_string_equal(
		problem_of(usable, EVP_RSA_gen(1024), EVP_sha256()), "ee key too small");
	assert_string_equal(
		problem_of(usable, EVP_EC_gen("P-192"), EVP_sha256()), "ee key too small");
	/* One that was refused leaves nothing behind. */
	assert_null(problem_of(usable, EVP_EC_gen("P-384"), EVP_sha384()));
	assert_non_null(usable_problem(usable, STR("")));
	assert_non_null(usable_problem(usable, STR("no certificate")));
	usable_free(usable);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(weak_keys_are_refused_as_the_proxies_do),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
