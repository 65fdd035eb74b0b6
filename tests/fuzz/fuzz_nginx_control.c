// SPDX-License-Identifier: Apache-2.0
/* What may come from the control socket of nginx: its head, and the line behind it. More of it never changes what was understood of less. */
#include "common/must.h"
#include "provider-nginx/control.h"

#include <errno.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	long status = 0;
	size_t head_len = 0;
	size_t body_len = 0;
	struct control_answer answer = {.status = 0};
	/* Without a byte behind it that could be read. */
	char *exact = malloc(len != 0 ? len : 1);
	must(exact != NULL);
	str_put(exact, (struct str){(const char *)data, len});
	struct str text = {exact, len};
	int got = control_read_head(text, &status, &head_len, &body_len);
	must(got == 0 || got == -EAGAIN || got == -EBADMSG);
	if (got == 0) {
		long status_again = 0;
		size_t head_again = 0;
		size_t body_again = 0;
		must(status >= 100 && status <= 599 && head_len <= len);
		must(control_read_head((struct str){exact, head_len}, &status_again, &head_again,
			     &body_again) == 0);
		must(status == status_again && head_len == head_again && body_len == body_again);
		text = str_skip(text, head_len);
	}
	(void)control_read_answer(text, &answer);
	free(exact);
	return 0;
}
