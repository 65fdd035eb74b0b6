// SPDX-License-Identifier: Apache-2.0
#include "common/cert_decode.h"

#include "common/must.h"
#include "common/xalloc.h"

#include <openssl/asn1t.h>
#include <openssl/decoder.h>
#include <openssl/provider.h>

/* It is kept as long as all goes well: that it can go on after an error is nowhere promised. */
struct decoder {
	const char *structure; /* NULL: any */
	int selection;
	OSSL_DECODER_CTX *context;
	EVP_PKEY *key; /* where the context puts what it has decoded */
};

static struct decoder public_keys = {
	.structure = "SubjectPublicKeyInfo", .selection = EVP_PKEY_PUBLIC_KEY};
static struct decoder private_keys = {.selection = EVP_PKEY_KEYPAIR};
/* Has no algorithms. */
static OSSL_LIB_CTX *nothing;

static void decoder_make(struct decoder *decoder)
{
	if (decoder->context == NULL)
		decoder->context = OSSL_DECODER_CTX_new_for_pkey(&decoder->key, "DER",
			decoder->structure, NULL, decoder->selection, NULL, NULL);
	if (decoder->context == NULL)
		xalloc_fail();
}

static EVP_PKEY *decoder_use(struct decoder *decoder, const unsigned char *der, size_t len)
{
	decoder_make(decoder);
	bool is_good = OSSL_DECODER_from_data(decoder->context, &der, &len) == 1;
	EVP_PKEY *key = decoder->key;
	decoder->key = NULL;
	if (is_good)
		return key;
	EVP_PKEY_free(key);
	OSSL_DECODER_CTX_free(decoder->context);
	decoder->context = NULL;
	return NULL;
}

void cert_decode_setup(void)
{
	decoder_make(&public_keys);
	decoder_make(&private_keys);
	if (nothing != NULL)
		return;
	nothing = OSSL_LIB_CTX_new();
	must(nothing != NULL && OSSL_PROVIDER_load(nothing, "null") != NULL);
}

X509 *cert_decode(const unsigned char **at, long len)
{
	cert_decode_setup();
	return (X509 *)ASN1_item_d2i_ex(NULL, at, len, ASN1_ITEM_rptr(X509), nothing, NULL);
}

EVP_PKEY *cert_decode_public_key(const X509 *cert)
{
	unsigned char *der = NULL;
	int len = i2d_X509_PUBKEY(X509_get_X509_PUBKEY(cert), &der);
	if (len <= 0)
		return NULL;
	EVP_PKEY *key = decoder_use(&public_keys, der, (size_t)len);
	OPENSSL_free(der);
	return key;
}

/* What is signed of a certificate: the first thing within it. NULL: it has no such. */
static ASN1_STRING *signed_part(const unsigned char *der, long len)
{
	const unsigned char *first = der;
	const unsigned char *content;
	long content_len = 0;
	int tag = 0;
	int class = 0;
	if (ASN1_get_object(&first, &content_len, &tag, &class, len) != V_ASN1_CONSTRUCTED)
		return NULL;
	content = first;
	if (ASN1_get_object(&content, &content_len, &tag, &class, content_len) !=
		V_ASN1_CONSTRUCTED)
		return NULL;
	ASN1_STRING *part = ASN1_STRING_type_new(V_ASN1_SEQUENCE);
	if (part == NULL || ASN1_STRING_set(part, first, (int)(content + content_len - first)) != 1)
		xalloc_fail();
	return part;
}

bool cert_decode_is_signed_by(const X509 *cert, EVP_PKEY *key)
{
	const ASN1_BIT_STRING *signature = NULL;
	const X509_ALGOR *algorithm = NULL;
	unsigned char *der = NULL;
	int len = i2d_X509(cert, &der);
	ASN1_STRING *part = len > 0 ? signed_part(der, len) : NULL;
	OPENSSL_free(der);
	X509_get0_signature(&signature, &algorithm, cert);
	bool is_good = part != NULL && X509_ALGOR_cmp(algorithm, X509_get0_tbs_sigalg(cert)) == 0 &&
		       ASN1_item_verify(
			       ASN1_ITEM_rptr(ASN1_SEQUENCE), algorithm, signature, part, key) == 1;
	ASN1_STRING_free(part);
	return is_good;
}

EVP_PKEY *cert_decode_private_key(const unsigned char *der, size_t len)
{
	return decoder_use(&private_keys, der, len);
}
