// SPDX-License-Identifier: Apache-2.0
#include "proto/message_rows.h"

#include "proto/messages.def"

const struct schema pong_schema = SCHEMA("pong", ping, ping_fields);
