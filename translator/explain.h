// SPDX-License-Identifier: Apache-2.0
/*
 * What becomes of an Ingress, or of a Service of type LoadBalancer, and why: looks at the engine as it is, changes nothing. The same functions build it that build
 * what the provider is sent, so an explanation cannot say something else.
 */
#pragma once

#include "proto/inspection.h"
#include "translator/engine.h"

/* `kind`: RECORD_INGRESS or RECORD_SERVICE. False: there is no such object. Texts live in the arena. `provider` stays empty. */
bool explain_object(struct engine *engine, enum record_kind kind, struct str namespace,
	struct str name, struct arena *arena, struct inspection_explanation *ret_explanation);
/* The same of an object that is not ours by its class; false also when it is. Costs little of one that is ours. */
bool explain_foreign_object(struct engine *engine, enum record_kind kind, struct str namespace,
	struct str name, struct arena *arena, struct inspection_explanation *ret_explanation);
