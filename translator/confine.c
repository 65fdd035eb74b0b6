// SPDX-License-Identifier: Apache-2.0
#include "translator/confine.h"

struct sandbox *confine_translator(void)
{
	return sandbox_new(0);
}
