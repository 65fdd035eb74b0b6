// SPDX-License-Identifier: Apache-2.0
#include "proto/refusal.h"

#include "proto/frame.h"
#include "proto/message.h"

#include <stdio.h>
#include <sys/socket.h>

void refusal_describe(const char *role, const char *name, char ret_reason[REFUSAL_LEN_MAX])
{
	if (name != NULL)
		snprintf(ret_reason, REFUSAL_LEN_MAX,
			"another %s is connected, \"%s\", and one is served at a time; stop one of "
			"them",
			role, name);
	else
		snprintf(ret_reason, REFUSAL_LEN_MAX,
			"another %s is connected, which has not said hello yet", role);
}

void refusal_send(int fd, const char *reason)
{
	const struct bye bye = {.reason = str_from(reason)};
	struct schema_error error;
	struct buf frame;
	buf_init(&frame, FRAME_HEAD_LEN + FRAME_LEN_MAX);
	if (message_encode(MESSAGE_BYE, &bye, &frame, &error) == 0)
		(void)send(fd, buf_data(&frame), buf_len(&frame), MSG_NOSIGNAL | MSG_DONTWAIT);
	buf_fini(&frame);
}
