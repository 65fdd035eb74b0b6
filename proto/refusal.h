// SPDX-License-Identifier: Apache-2.0
/* What somebody is told whom a listener does not take: a bye, before any hello. */
#pragma once

enum { REFUSAL_LEN_MAX = 512 };

/* That another peer of the same role is connected. `name`: NULL, it has not said hello yet. */
void refusal_describe(const char *role, const char *name, char ret_reason[REFUSAL_LEN_MAX]);
/* As much of the bye as the socket takes at once: a peer that does not read it has only itself to ask. */
void refusal_send(int fd, const char *reason);
