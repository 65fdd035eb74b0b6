// SPDX-License-Identifier: Apache-2.0
#include "provider-nginx/engine_state.h"

void engine_wake(struct engine *engine)
{
	engine->wake(engine);
}
