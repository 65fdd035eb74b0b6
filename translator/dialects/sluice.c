// SPDX-License-Identifier: Apache-2.0
#include "translator/dialects/sluice.h"

#include "translator/dialects/sluice_reader.h"

bool sluice_read_route(const struct dialect *d)
{
	struct sluice_reader r;
	if (!sluice_find(d, &r))
		return false;
	if (sluice_read_canary(&r))
		return true;
	sluice_read_paths(&r);
	sluice_read_answers(&r);
	sluice_read_asked(&r);
	sluice_read_guards(&r);
	sluice_read_clients(&r);
	sluice_read_tries(&r);
	sluice_read_backends(&r);
	return true;
}
