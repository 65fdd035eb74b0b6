// SPDX-License-Identifier: Apache-2.0
/* What is known of the two neighbours, for all modules. */
#include "translator/state.h"

bool engine_can_serve(const struct engine *engine, struct str protocol)
{
	if (engine->protocols.count == 0)
		return true;
	for (size_t i = 0; i < engine->protocols.count; i++) {
		if (str_eq(engine->protocols.items[i], protocol))
			return true;
	}
	return false;
}

bool engine_is_whole(const struct engine *engine)
{
	return engine->is_whole && !engine->is_syncing;
}
