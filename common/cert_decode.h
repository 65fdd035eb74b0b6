// SPDX-License-Identifier: Apache-2.0
/*
 * Certificates and keys from DER, at a tenth of what d2i_X509() and d2i_AutoPrivateKey() cost: these make a decoder from all algorithms that there are
 * for each key that they meet. Used by cert.c alone; its callers want cert.h.
 */
#pragma once

#include <openssl/evp.h>
#include <openssl/x509.h>
#include <stdbool.h>

/* Makes what is kept between calls; afterwards no file is opened. */
void cert_decode_setup(void);
/* One certificate, whose end becomes *at. It knows no algorithms: only the functions here tell its public key and verify its signature. NULL: it cannot be read. */
X509 *cert_decode(const unsigned char **at, long len);
/* NULL: it cannot be read. */
EVP_PKEY *cert_decode_public_key(const X509 *cert);
bool cert_decode_is_signed_by(const X509 *cert, EVP_PKEY *key);
/* PKCS #8, not encrypted, or the traditional form of its kind. NULL: it cannot be read. */
EVP_PKEY *cert_decode_private_key(const unsigned char *der, size_t len);
