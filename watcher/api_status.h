// SPDX-License-Identifier: Apache-2.0
/*
 * How an API server refuses a request: a Status object (Kubernetes API conventions, "Response Status Kind"), which is the body of an
 * error answer or the object of a watch's ERROR frame. Proxies and the server's outer layers answer in plain text or HTML; then only
 * the code is known.
 */
#pragma once

#include "common/json.h"

enum { API_REASON_LEN = 64, API_MESSAGE_LEN = 320 };

struct api_status {
	long code; /* of the object; 0: none */
	char reason[API_REASON_LEN];
	char message[API_MESSAGE_LEN]; /* cut to fit */
	bool is_too_new;               /* cause ResourceVersionTooLarge */
	bool is_terminating;           /* cause NamespaceTerminating */
	double retry_after_s;          /* details.retryAfterSeconds; < 0: none */
};

/* `object` is a Status; members that are missing or of another type stay empty. */
void api_status_read(const struct json *object, struct api_status *ret_status);
/* A body of any form. */
void api_status_parse(struct str body, struct api_status *ret_status);
/* Whether a status with that code (of the object or of the answer) says that a revision or a page is gone. */
bool api_status_is_gone(const struct api_status *status, long code);
