// SPDX-License-Identifier: Apache-2.0
/*
 * AWS Certificate Manager: bodies of requests, and what answers say. Also what identifies a certificate's content, so that none is imported
 * twice. No I/O.
 *
 * Of an imported certificate ACM tells the serial number and the expiry, but neither chain nor key; so what was imported is written into
 * TAG_APPLIED. (AWS, "Importing certificates", and botocore's service model acm 2015-12-08, have shapes and limits.)
 */
#pragma once

#include "common/buf.h"
#include "common/json.h"
#include "provider-elb/naming.h"

enum {
	ACM_CERTIFICATE_LEN_MAX = 32 * 1024, /* PEM */
	ACM_KEY_LEN_MAX = 5 * 1024,
	ACM_CHAIN_LEN_MAX = 2 * 1024 * 1024,
	ACM_BODY_LEN_MAX = 4 * 1024 * 1024,
	ACM_PAGE_MAX = 1000, /* certificates in one answer to a list */
	ACM_ARN_LEN_MAX = 2048,
	ACM_TOKEN_LEN_MAX = 10 * 1000,
	ACM_CONTENT_LEN = 33, /* of a value of TAG_APPLIED */
};

/* What ImportCertificate takes, as views of PEM text: each begins at its first block. */
struct acm_parts {
	struct str leaf;
	struct str chain; /* without the leaf; empty: there is nothing else */
	struct str key;   /* the private key alone: other blocks around it are refused */
};

/* `chain` has the leaf first. NULL, or why ACM would refuse it, static: "has a private key of more than 5120 bytes". */
const char *acm_split(struct str chain, struct str private_key, struct acm_parts *ret_parts);

/* Digests: two contents with the same leaf have the same key, but may differ in their chains. Zero: unknown. */
struct acm_content {
	uint64_t leaf;
	uint64_t chain;
};

struct acm_content acm_content_of(const struct acm_parts *parts);
bool acm_content_eq(const struct acm_content *a, const struct acm_content *b);
/* As in TAG_APPLIED, with a NUL behind it. */
void acm_content_text(const struct acm_content *content, char ret_text[ACM_CONTENT_LEN + 1]);
/* Unknown if the text is none. */
struct acm_content acm_content_parse(struct str text);

/* Tags of a certificate. */
struct acm_tags {
	struct str cluster;
	struct str identity;
	struct str owner;
	struct str applied;
};

/* Each appends a body. The import's holds the key: wipe it. `arn` absent: it is made, with `tags`; else it is replaced in place, where ACM takes no
 * tags. */
void acm_put_import(struct buf *out, const struct acm_parts *parts, struct str arn,
	const struct acm_tags *tags);
/* AddTagsToCertificate. */
void acm_put_tags(struct buf *out, struct str arn, const struct acm_tags *tags);
/* DescribeCertificate, ListTagsForCertificate, DeleteCertificate. */
void acm_put_arn(struct buf *out, struct str arn);
/* ListCertificates, of all kinds of keys; `token` is absent for the first page. */
void acm_put_list(struct buf *out, struct str token);

/* "arn:<partition>:acm:...:certificate/..." */
bool acm_is_arn(struct str text);

/* Of answers; views of them. */
struct acm_certificate {
	struct str arn;
	struct str serial; /* as it stands there; acm_serial_eq() compares */
	int64_t not_after; /* seconds since 1970; -1: not told */
};

/* ImportCertificate; absent: it has none. */
struct str acm_read_arn(const struct json *answer);
/* DescribeCertificate. False: it lacks what it must have. */
bool acm_read_certificate(const struct json *answer, struct acm_certificate *ret_certificate);
/* ListCertificates: the first entry, to be followed by json_next(), and the token of the next page, absent: it is the last. False: it is no
 * such answer. */
bool acm_read_list(const struct json *answer, const struct json **ret_first, struct str *ret_token);
bool acm_read_summary(const struct json *entry, struct acm_certificate *ret_certificate);
/* ListTagsForCertificate; what is not there is absent. */
void acm_read_tags(const struct json *answer, struct acm_tags *ret_tags);

/* `serial` is as ACM writes it ("09:A8:..."), `ours` as in struct cert_info. */
bool acm_serial_eq(struct str serial, struct str ours);
