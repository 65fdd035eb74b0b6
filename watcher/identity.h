// SPDX-License-Identifier: Apache-2.0
/*
 * Who an object of a manifest is once it is applied to a cluster: the object that is there, with its uid and as old as that, or the newest of
 * all.
 */
#pragma once

#include "common/json.h"
#include "proto/message.h"
#include "watcher/store.h"

/* Writes uid and age into the object's metadata, which it has. `reader` and `scratch` are used within the call only. */
void identity_settle(const struct json *object, enum record_kind kind, struct store *store,
	struct message_reader *reader, struct arena *scratch);
