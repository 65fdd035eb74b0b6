// SPDX-License-Identifier: Apache-2.0
/* What a refused peer is sent: a bye, before any hello. */
#pragma once

enum { REFUSAL_LEN_MAX = 512 };

/* Says that another peer of the same role is connected. `name`: NULL if that one has not sent its
 * hello yet. */
void refusal_describe(const char *role, const char *name, char ret_reason[REFUSAL_LEN_MAX]);
/* Sends as much of the bye as the socket accepts at once: a peer that does not read has itself to blame.
 */
void refusal_send(int fd, const char *reason);
