// SPDX-License-Identifier: Apache-2.0
#include "common/cert.h"
#include "common/must.h"

#include <openssl/err.h>
#include <openssl/pem.h>

/* False: there is none left. */
typedef bool copy_fn(BIO *in, BIO *out, bool *ret_is_written);

static bool copy_certificate(BIO *in, BIO *out, bool *ret_is_written)
{
	X509 *cert = PEM_read_bio_X509(in, NULL, NULL, NULL);
	*ret_is_written = cert != NULL && PEM_write_bio_X509(out, cert) == 1;
	X509_free(cert);
	return cert != NULL;
}

static bool copy_revocations(BIO *in, BIO *out, bool *ret_is_written)
{
	X509_CRL *list = PEM_read_bio_X509_CRL(in, NULL, NULL, NULL);
	*ret_is_written = list != NULL && PEM_write_bio_X509_CRL(out, list) == 1;
	X509_CRL_free(list);
	return list != NULL;
}

struct kind {
	copy_fn *copy;
	const char *too_many;
	const char *unreadable;
	const char *none;
};

static const char *copy_all(const struct kind *kind, BIO *in, BIO *out)
{
	size_t count = 0;
	bool is_written = false;
	while (kind->copy(in, out, &is_written)) {
		if (!is_written || count == CERT_AUTHORITIES_MAX)
			return kind->too_many;
		count++;
	}
	unsigned long error = ERR_peek_last_error();
	if (ERR_GET_LIB(error) != ERR_LIB_PEM || ERR_GET_REASON(error) != PEM_R_NO_START_LINE)
		return kind->unreadable;
	return count == 0 ? kind->none : NULL;
}

static const char *read_all(
	const struct kind *kind, struct str pem, struct arena *arena, struct str *ret_pem)
{
	if (pem.len == 0)
		return "is empty";
	if (pem.len > CERT_PEM_LEN_MAX)
		return "is too long";
	BIO *in = BIO_new_mem_buf(pem.p, (int)pem.len);
	BIO *out = BIO_new(BIO_s_mem());
	must(in != NULL && out != NULL);
	ERR_clear_error();
	const char *problem = copy_all(kind, in, out);
	ERR_clear_error();
	if (problem == NULL) {
		char *text = NULL;
		long len = BIO_get_mem_data(out, &text);
		*ret_pem = arena_str(arena, (struct str){text, (size_t)len});
	}
	BIO_free(in);
	BIO_free(out);
	return problem;
}

const char *cert_authorities(struct str pem, struct arena *arena, struct str *ret_pem)
{
	static const struct kind kind = {copy_certificate, "holds too many certificates",
		"holds a certificate that cannot be read", "holds no certificate"};
	return read_all(&kind, pem, arena, ret_pem);
}

const char *cert_revocations(struct str pem, struct arena *arena, struct str *ret_pem)
{
	static const struct kind kind = {copy_revocations, "holds too many lists of revoked ones",
		"holds a list of revoked ones that cannot be read",
		"holds no list of revoked ones"};
	return read_all(&kind, pem, arena, ret_pem);
}
