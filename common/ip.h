// SPDX-License-Identifier: Apache-2.0
/* The canonical text of IP addresses, so that one address has one spelling wherever it came from. */
#pragma once

#include "common/str.h"

#include <netinet/in.h>

/* False when text is no IP address; ret_text is then as it was. */
[[nodiscard]] bool ip_canonical(struct str text, char ret_text[static INET6_ADDRSTRLEN]);
