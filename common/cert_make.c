// SPDX-License-Identifier: Apache-2.0
#include "common/cert_make.h"

#include <errno.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509.h>

enum { VALID_S = 20 * 365 * 24 * 3600 };

static bool fill(X509 *certificate, EVP_PKEY *key)
{
	static const unsigned char name_text[] = "sluice.invalid";
	uint64_t serial = 0;
	X509_NAME *name = X509_get_subject_name(certificate);
	return RAND_bytes((unsigned char *)&serial, sizeof(serial)) == 1 &&
	       X509_set_version(certificate, 2) == 1 &&
	       ASN1_INTEGER_set_uint64(X509_get_serialNumber(certificate), serial >> 1) == 1 &&
	       X509_gmtime_adj(X509_getm_notBefore(certificate), -3600) != NULL &&
	       X509_gmtime_adj(X509_getm_notAfter(certificate), VALID_S) != NULL &&
	       X509_set_pubkey(certificate, key) == 1 &&
	       X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, name_text, -1, -1, 0) == 1 &&
	       X509_set_issuer_name(certificate, name) == 1 &&
	       X509_sign(certificate, key, EVP_sha256()) != 0;
}

static int append(struct buf *out, BIO *pem)
{
	char *text = NULL;
	long len = BIO_get_mem_data(pem, &text);
	return buf_append(out, text, (size_t)len);
}

int cert_make(struct buf *certificate_out, struct buf *key_out)
{
	int err = -EIO;
	EVP_PKEY *key = EVP_EC_gen("P-256");
	X509 *certificate = X509_new();
	BIO *shown = BIO_new(BIO_s_mem());
	BIO *hidden = BIO_new(BIO_s_secmem());
	if (key != NULL && certificate != NULL && shown != NULL && hidden != NULL &&
		fill(certificate, key) && PEM_write_bio_X509(shown, certificate) == 1 &&
		PEM_write_bio_PKCS8PrivateKey(hidden, key, NULL, NULL, 0, NULL, NULL) == 1) {
		err = append(certificate_out, shown);
		err = err == 0 ? append(key_out, hidden) : err;
	}
	BIO_free(shown);
	BIO_free(hidden);
	X509_free(certificate);
	EVP_PKEY_free(key);
	return err;
}
