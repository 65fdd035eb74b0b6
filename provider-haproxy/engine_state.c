// SPDX-License-Identifier: Apache-2.0
#include "provider-haproxy/engine_state.h"

#include <stdlib.h>

void engine_wake(struct engine *engine)
{
	engine->wake(engine);
}

bool engine_is_complete(const struct engine *engine)
{
	return state_is_complete(local_state(engine->local));
}

char *engine_path(const struct engine *engine, const char *name)
{
	return local_path(engine->local, name);
}

void engine_set_problem(struct engine *engine, char *why)
{
	free(engine->problem);
	engine->problem = why;
}
