// SPDX-License-Identifier: Apache-2.0
/*
 * What becomes of an Ingress, and why: looks at the engine as it is, changes nothing. The same functions build it that build what the provider is sent,
 * so an explanation cannot say something else.
 */
#pragma once

#include "proto/looking.h"
#include "translator/engine.h"

/* False: there is no such Ingress. Texts live in the arena. `provider` stays empty. */
bool explain_ingress(struct engine *engine, struct str namespace, struct str name,
	struct arena *arena, struct looking_explanation *ret_explanation);
