// SPDX-License-Identifier: Apache-2.0
/*
 * What AWS says in answers that are errors, in each of its three forms: <ErrorResponse><Error> of the Query services, <Response><Errors> of EC2, {"__type"} of the
 * JSON services. No I/O.
 */
#pragma once

#include "common/json.h"
#include "provider-elb/xml.h"

enum { AWS_ERROR_TEXT_LEN_MAX = 1000 }; /* of a message for people */

/* Views of the answer; absent: it does not say. */
struct aws_error {
	struct str code;
	struct str message;
	struct str request_id;
};

/* `xml` may be NULL. The request id is found in answers that are no errors, too. */
struct aws_error aws_error_read_xml(const struct xml *xml);
/* `json` may be NULL. `type` is the header x-amzn-ErrorType, which counts when the body names no code; may be NULL. */
struct aws_error aws_error_read_json(const struct json *json, const char *type);

/* At most AWS_ERROR_TEXT_LEN_MAX bytes, without half a character at the end. */
struct str aws_error_cut(struct str text);

/* Whether something in it looks like a line of a key or a certificate, in PEM or encoded once more: longer than any word. */
bool aws_error_has_data(struct str text);

/* How many seconds a Date header ("Sat, 21 Nov 2026 02:54:36 GMT") is ahead of now_s. 0: it is none. */
int64_t aws_error_skew_s(const char *date, int64_t now_s);
