// SPDX-License-Identifier: Apache-2.0
#include "watcher/api_status.h"

enum { CODE_GONE = 410, CODE_MAX = 999, RETRY_AFTER_MAX_S = 3600 };

static void copy_text(char *to, size_t room, struct str text)
{
	size_t len = text.len < room - 1 ? text.len : room - 1;
	/* Never inside a UTF-8 sequence. */
	while (len < text.len && len > 0 && ((unsigned char)text.p[len] & 0xc0) == 0x80)
		len--;
	if (len != 0)
		memcpy(to, text.p, len);
	to[len] = '\0';
}

void api_status_read(const struct json *object, struct api_status *ret_status)
{
	struct api_status status = {.retry_after_s = -1};
	int64_t number = 0;
	if (json_whole_number(json_get(object, "code"), 0, CODE_MAX, &number))
		status.code = (long)number;
	copy_text(status.reason, sizeof(status.reason), json_text(json_get(object, "reason")));
	copy_text(status.message, sizeof(status.message), json_text(json_get(object, "message")));
	const struct json *details = json_get(object, "details");
	if (json_whole_number(
		    json_get(details, "retryAfterSeconds"), 1, RETRY_AFTER_MAX_S, &number))
		status.retry_after_s = (double)number;
	const struct json *cause = json_first(json_get(details, "causes"));
	for (; cause != NULL; cause = json_next(cause)) {
		if (str_eq_c(json_text(json_get(cause, "reason")), "ResourceVersionTooLarge"))
			status.is_too_new = true;
		if (str_eq_c(json_text(json_get(cause, "reason")), "NamespaceTerminating"))
			status.is_terminating = true;
	}
	*ret_status = status;
}

void api_status_parse(struct str body, struct api_status *ret_status)
{
	struct json *document = NULL;
	if (body.len != 0 && body.p[0] == '{')
		document = json_parse(body, NULL, NULL);
	api_status_read(document, ret_status);
	json_free(document);
}

bool api_status_is_gone(const struct api_status *status, long code)
{
	return code == CODE_GONE || status->code == CODE_GONE ||
	       strcmp(status->reason, "Expired") == 0 || strcmp(status->reason, "Gone") == 0;
}
