// SPDX-License-Identifier: Apache-2.0
/* Certificates as providers get them, made of Secrets and of the hosts for which they are shown. Part of objects.c. No I/O. */
#pragma once

#include "translator/objects.h"

/* Of a Secret that is wanted, and was found good. It lives in the scratch arena, and shares texts with the record. */
const struct certificate *certificate_build(
	const struct objects *objects, struct secret_node *node);
