// SPDX-License-Identifier: Apache-2.0
/*
 * The identity that an object of a manifest will have once it is applied to a cluster: that of the object already there, with its uid and
 * age, or that of a new object, younger than all others.
 */
#pragma once

#include "common/json.h"
#include "proto/message.h"
#include "watcher/store.h"

/* Writes uid and age into the object's metadata, which it has. `reader` and `scratch` are used within the call only. */
void identity_settle(const struct json *object, enum record_kind kind, struct store *store,
	struct message_reader *reader, struct arena *scratch);
