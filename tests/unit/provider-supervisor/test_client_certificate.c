// SPDX-License-Identifier: Apache-2.0
#include "provider-supervisor/client_certificate.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include <openssl/pem.h>
#include <openssl/x509v3.h>

struct made {
	X509 *certificate;
	EVP_PKEY *key;
	struct str der;
	struct str pem;
};

static struct made root, middle, leaf, low;

static struct str text_of(BIO *bio)
{
	char *text = NULL;
	long len = BIO_get_mem_data(bio, &text);
	char *copy = malloc((size_t)len + 1);
	memcpy(copy, text, (size_t)len);
	BIO_free(bio);
	return (struct str){copy, (size_t)len};
}

static void add_extension(X509 *certificate, int number, const char *value)
{
	X509_EXTENSION *extension = X509V3_EXT_conf_nid(NULL, NULL, number, value);
	assert_non_null(extension);
	X509_add_ext(certificate, extension, -1);
	X509_EXTENSION_free(extension);
}

static void make(struct made *made, const char *name, const struct made *issuer, bool is_authority)
{
	X509 *certificate = X509_new();
	made->key = EVP_EC_gen("P-256");
	X509_set_version(certificate, 2);
	ASN1_INTEGER_set(X509_get_serialNumber(certificate), (long)(name[0] * 256 + name[1]));
	X509_gmtime_adj(X509_getm_notBefore(certificate), -3600);
	X509_gmtime_adj(X509_getm_notAfter(certificate), 3600);
	X509_NAME_add_entry_by_txt(X509_get_subject_name(certificate), "CN", MBSTRING_UTF8,
		(const unsigned char *)name, -1, -1, 0);
	X509_set_issuer_name(certificate,
		X509_get_subject_name(issuer != NULL ? issuer->certificate : certificate));
	X509_set_pubkey(certificate, made->key);
	if (is_authority)
		add_extension(certificate, NID_basic_constraints, "critical,CA:TRUE");
	assert_true(
		X509_sign(certificate, issuer != NULL ? issuer->key : made->key, EVP_sha256()) > 0);
	made->certificate = certificate;
	BIO *bio = BIO_new(BIO_s_mem());
	i2d_X509_bio(bio, certificate);
	made->der = text_of(bio);
	bio = BIO_new(BIO_s_mem());
	PEM_write_bio_X509(bio, certificate);
	made->pem = text_of(bio);
}

static struct str revoke(const struct made *issuer, const struct made *which)
{
	X509_CRL *list = X509_CRL_new();
	ASN1_TIME *now = X509_gmtime_adj(NULL, -60);
	X509_CRL_set_version(list, 1);
	X509_CRL_set_issuer_name(list, X509_get_subject_name(issuer->certificate));
	X509_CRL_set1_lastUpdate(list, now);
	ASN1_TIME *later = X509_gmtime_adj(NULL, 3600);
	X509_CRL_set1_nextUpdate(list, later);
	X509_REVOKED *revoked = X509_REVOKED_new();
	X509_REVOKED_set_serialNumber(revoked, X509_get_serialNumber(which->certificate));
	X509_REVOKED_set_revocationDate(revoked, now);
	X509_CRL_add0_revoked(list, revoked);
	X509_CRL_sign(list, issuer->key, EVP_sha256());
	BIO *bio = BIO_new(BIO_s_mem());
	PEM_write_bio_X509_CRL(bio, list);
	X509_CRL_free(list);
	ASN1_TIME_free(now);
	ASN1_TIME_free(later);
	return text_of(bio);
}

static int set_up(void **state)
{
	(void)state;
	make(&root, "root", NULL, true);
	make(&middle, "middle", &root, true);
	make(&leaf, "leaf", &root, false);
	make(&low, "a,b\n", &middle, false);
	return 0;
}

static int tear_down(void **state)
{
	struct made *all[] = {&root, &middle, &leaf, &low};
	(void)state;
	for (size_t i = 0; i < 4; i++) {
		X509_free(all[i]->certificate);
		EVP_PKEY_free(all[i]->key);
		free((char *)(uintptr_t)all[i]->der.p);
		free((char *)(uintptr_t)all[i]->pem.p);
	}
	return 0;
}

static struct client_verdict check(struct str certificate, struct str chain, struct str authorities,
	struct str revoked, unsigned depth)
{
	struct client_verdict verdict;
	struct client_certificate asked = {certificate, chain, authorities, revoked, depth};
	assert_true(client_certificate_check(&asked, &verdict));
	return verdict;
}

static void who_is_signed_is_good(void **state)
{
	(void)state;
	struct client_verdict verdict = check(leaf.der, STR_NONE, root.pem, STR_NONE, 1);
	assert_true(verdict.is_good);
	assert_string_equal(verdict.subject, "CN=leaf");
	assert_string_equal(verdict.issuer, "CN=root");
	assert_string_equal(verdict.reason, "");
	verdict = check(leaf.der, STR_NONE, middle.pem, STR_NONE, 1);
	assert_false(verdict.is_good);
	assert_string_equal(verdict.subject, "CN=leaf");
	assert_string_equal(verdict.reason, "unable to get local issuer certificate");
	assert_false(check(leaf.der, root.der, middle.pem, STR_NONE, 16).is_good);
}

static void chains_have_a_length(void **state)
{
	(void)state;
	assert_false(check(low.der, middle.der, root.pem, STR_NONE, 1).is_good);
	assert_true(check(low.der, middle.der, root.pem, STR_NONE, 2).is_good);
	assert_false(check(low.der, STR_NONE, root.pem, STR_NONE, 2).is_good);
	assert_string_equal(
		check(low.der, middle.der, root.pem, STR_NONE, 2).subject, "CN=a\\,b\\0A");
}

static void revoked_ones_are_refused(void **state)
{
	struct str of_leaf = revoke(&root, &leaf);
	struct str of_other = revoke(&root, &middle);
	struct str of_nobody = revoke(&middle, &leaf);
	(void)state;
	assert_string_equal(
		check(leaf.der, STR_NONE, root.pem, of_leaf, 1).reason, "certificate revoked");
	assert_true(check(leaf.der, STR_NONE, root.pem, of_other, 1).is_good);
	assert_false(check(leaf.der, STR_NONE, root.pem, of_nobody, 1).is_good);
	assert_false(check(leaf.der, STR_NONE, root.pem, STR("junk"), 1).is_good);
	free((char *)(uintptr_t)of_leaf.p);
	free((char *)(uintptr_t)of_other.p);
	free((char *)(uintptr_t)of_nobody.p);
}

static void what_is_no_certificate_is_none(void **state)
{
	struct client_verdict verdict;
	struct client_certificate asked = {.authorities = root.pem, .depth = 1};
	(void)state;
	assert_false(client_certificate_check(&asked, &verdict));
	for (size_t len = 0; len < leaf.der.len; len += 7) {
		asked.leaf = (struct str){leaf.der.p, len};
		assert_false(client_certificate_check(&asked, &verdict));
	}
	char *longer = malloc(leaf.der.len + 1);
	memcpy(longer, leaf.der.p, leaf.der.len);
	longer[leaf.der.len] = 0;
	asked.leaf = (struct str){longer, leaf.der.len + 1};
	assert_false(client_certificate_check(&asked, &verdict));
	free(longer);
	assert_false(check(leaf.der, STR_NONE, STR_NONE, STR_NONE, 1).is_good);
	assert_false(check(leaf.der, STR_NONE, STR("junk"), STR_NONE, 1).is_good);
	assert_false(check(leaf.der, STR_NONE, root.pem, STR_NONE, 0).is_good);
	assert_true(check(leaf.der, STR("junk"), root.pem, STR_NONE, 1).is_good);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_is_signed_is_good),
		cmocka_unit_test(chains_have_a_length),
		cmocka_unit_test(revoked_ones_are_refused),
		cmocka_unit_test(what_is_no_certificate_is_none),
	};
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
