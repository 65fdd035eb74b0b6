// SPDX-License-Identifier: Apache-2.0
#include "common/cert.h"
#include "common/must.h"

#include <openssl/err.h>
#include <openssl/pem.h>

static const char *copy_all(BIO *in, BIO *out)
{
	size_t count = 0;
	X509 *cert;
	while ((cert = PEM_read_bio_X509(in, NULL, NULL, NULL)) != NULL) {
		bool is_written =
			count < CERT_AUTHORITIES_MAX && PEM_write_bio_X509(out, cert) == 1;
		X509_free(cert);
		if (!is_written)
			return "holds too many certificates";
		count++;
	}
	unsigned long error = ERR_peek_last_error();
	if (ERR_GET_LIB(error) != ERR_LIB_PEM || ERR_GET_REASON(error) != PEM_R_NO_START_LINE)
		return "holds a certificate that cannot be read";
	return count == 0 ? "holds no certificate" : NULL;
}

const char *cert_authorities(struct str pem, struct arena *arena, struct str *ret_pem)
{
	if (pem.len == 0)
		return "is empty";
	if (pem.len > CERT_PEM_LEN_MAX)
		return "is too long";
	BIO *in = BIO_new_mem_buf(pem.p, (int)pem.len);
	BIO *out = BIO_new(BIO_s_mem());
	must(in != NULL && out != NULL);
	ERR_clear_error();
	const char *problem = copy_all(in, out);
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
