// SPDX-License-Identifier: Apache-2.0
/*
 * Explains what becomes of an Ingress, or of a Service of type LoadBalancer, and why. It reads the engine and changes nothing. It uses the functions
 * that build the provider's objects, so an explanation cannot differ from them.
 */
#pragma once

#include "proto/inspection.h"
#include "translator/diag.h"
#include "translator/engine.h"

/* `kind`: RECORD_INGRESS or RECORD_SERVICE. False: there is no such object. Texts live in the arena. `provider` stays empty. */
bool explain_object(struct engine *engine, enum record_kind kind, struct str namespace,
	struct str name, struct arena *arena, struct inspection_explanation *ret_explanation);
/* The same for an object whose class is not ours; false also when the class is ours, which is cheap to find out.
 */
bool explain_foreign_object(struct engine *engine, enum record_kind kind, struct str namespace,
	struct str name, struct arena *arena, struct inspection_explanation *ret_explanation);
/* How annotations of an Ingress of ingress-nginx differ here from what they were, and which are not needed: what nobody is warned of. */
void explain_nginx_differences(
	struct engine *engine, struct str namespace, struct str name, struct diag_list *diags);
