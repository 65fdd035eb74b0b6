// SPDX-License-Identifier: Apache-2.0
#include "common/pem_files.h"

#include "common/files.h"
#include "common/xalloc.h"

#include <errno.h>
#include <openssl/err.h>
#include <openssl/pem.h>

void pem_free(char *text)
{
	if (text != NULL)
		explicit_bzero(text, strlen(text));
	free(text);
}

static char *read_text(const char *path, char **ret_text)
{
	struct buf content;
	buf_init(&content, PEM_FILE_LEN_MAX);
	int err = files_read(path, &content);
	char *problem = NULL;
	if (err != 0)
		problem = xasprintf(
			"%s: %s", path, err == -EMSGSIZE ? "the file is too long" : strerror(-err));
	else
		*ret_text = buf_len(&content) != 0 ? str_dup(buf_str(&content)) : xstrdup("");
	buf_wipe_fini(&content);
	return problem;
}

static BIO *open_text(const char *text)
{
	BIO *bio = BIO_new_mem_buf(text, -1);
	if (bio == NULL)
		xalloc_fail();
	ERR_clear_error();
	return bio;
}

/* NULL, or why the text is invalid. */
static const char *check_authorities(const char *pem)
{
	BIO *bio = open_text(pem);
	size_t count = 0;
	X509 *cert;
	while ((cert = PEM_read_bio_X509(bio, NULL, NULL, NULL)) != NULL) {
		X509_free(cert);
		count++;
	}
	unsigned long error = ERR_peek_last_error();
	bool is_end =
		ERR_GET_LIB(error) == ERR_LIB_PEM && ERR_GET_REASON(error) == PEM_R_NO_START_LINE;
	ERR_clear_error();
	BIO_free(bio);
	return !is_end      ? "holds a certificate that cannot be read"
	       : count == 0 ? "holds no certificate"
			    : NULL;
}

/* Otherwise OpenSSL would ask the terminal. */
static int no_password(char *room, int size, int is_writing, void *ctx)
{
	return -1;
}

static EVP_PKEY *parse_key(const char *pem)
{
	BIO *bio = open_text(pem);
	EVP_PKEY *key = PEM_read_bio_PrivateKey(bio, NULL, no_password, NULL);
	BIO_free(bio);
	return key;
}

static X509 *parse_cert(const char *pem)
{
	BIO *bio = open_text(pem);
	X509 *cert = PEM_read_bio_X509(bio, NULL, NULL, NULL);
	BIO_free(bio);
	return cert;
}

static char *check_pair(const struct pem_pair *pair, const char *cert_pem, const char *key_pem)
{
	const char *cert_name = pair->cert != NULL ? "the certificate" : pair->cert_path;
	const char *key_name = pair->key != NULL ? "the key" : pair->key_path;
	X509 *cert = parse_cert(cert_pem);
	EVP_PKEY *key = parse_key(key_pem);
	char *problem = NULL;
	if (cert == NULL)
		problem = xasprintf("%s: holds no certificate that can be read", cert_name);
	else if (key == NULL)
		problem = xasprintf("%s: holds no key that can be read", key_name);
	else if (X509_check_private_key(cert, key) != 1)
		problem = xasprintf("%s: is not the key of %s", key_name, cert_name);
	ERR_clear_error();
	X509_free(cert);
	EVP_PKEY_free(key);
	return problem;
}

char *pem_read_authorities(const char *path, char **ret_pem)
{
	char *pem = NULL;
	char *problem = read_text(path, &pem);
	const char *fault = problem == NULL ? check_authorities(pem) : NULL;
	if (fault != NULL)
		problem = xasprintf("%s: %s", path, fault);
	if (problem == NULL)
		*ret_pem = pem;
	else
		pem_free(pem);
	return problem;
}

char *pem_read_pair(const struct pem_pair *pair, char **ret_cert, char **ret_key)
{
	char *cert = pair->cert != NULL ? xstrdup(pair->cert) : NULL;
	char *key = pair->key != NULL ? xstrdup(pair->key) : NULL;
	char *problem = NULL;
	if (cert == NULL)
		problem = read_text(pair->cert_path, &cert);
	if (problem == NULL && key == NULL)
		problem = read_text(pair->key_path, &key);
	/* If the caller passed both texts, the caller checks the pair. */
	if (problem == NULL && (pair->cert == NULL || pair->key == NULL))
		problem = check_pair(pair, cert, key);
	if (problem == NULL) {
		*ret_cert = cert;
		*ret_key = key;
	} else {
		free(cert);
		pem_free(key);
	}
	return problem;
}
