// SPDX-License-Identifier: Apache-2.0
/* The canonical text of IP addresses, so that each has one spelling wherever it came from. */
#pragma once

#include "common/str.h"

#include <netinet/in.h>

/* False if `text` is not an IP address; ret_text is then unchanged. */
[[nodiscard]] bool ip_canonical(struct str text, char ret_text[static INET6_ADDRSTRLEN]);
