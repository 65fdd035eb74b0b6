// SPDX-License-Identifier: Apache-2.0
#include "provider-proxy/placeholder.h"

#include "common/files.h"
#include "provider-proxy/checksum.h"
#include "provider-proxy/trust.h"

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

static int make(struct buf *out)
{
	int err = -EIO;
	EVP_PKEY *key = EVP_EC_gen("P-256");
	X509 *certificate = X509_new();
	BIO *pem = BIO_new(BIO_s_secmem());
	if (key != NULL && certificate != NULL && pem != NULL && fill(certificate, key) &&
		PEM_write_bio_X509(pem, certificate) == 1 &&
		PEM_write_bio_PKCS8PrivateKey(pem, key, NULL, NULL, 0, NULL, NULL) == 1) {
		char *text = NULL;
		long len = BIO_get_mem_data(pem, &text);
		err = buf_append(out, text, (size_t)len);
	}
	BIO_free(pem);
	X509_free(certificate);
	EVP_PKEY_free(key);
	return err;
}

int placeholder_write(const char *path)
{
	struct buf pem;
	buf_init(&pem, TRUST_CONTENT_LEN_MAX);
	int err = make(&pem);
	if (err == 0)
		err = checksum_write(path, buf_str(&pem), 0600);
	buf_wipe_fini(&pem);
	return err;
}

const char *placeholder_find_problem(
	const char *path, const struct name *name, bool *ret_is_placeholder)
{
	struct buf content;
	buf_init(&content, TRUST_CONTENT_LEN_MAX);
	const char *problem = files_read_own(path, &content);
	struct str text = buf_str(&content);
	struct name right = name_of(name->text[0], text);
	/* It has a checksum, which the others do not have. */
	*ret_is_placeholder = problem == NULL && checksum_take(&text);
	if (problem == NULL && !*ret_is_placeholder && strcmp(right.text, name->text) != 0)
		problem = "is not as it was written";
	buf_wipe_fini(&content);
	return problem;
}
