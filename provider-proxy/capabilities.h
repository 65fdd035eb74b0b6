// SPDX-License-Identifier: Apache-2.0
/* What the providers with a proxy on this machine can do, as they say in the hello. No I/O. */
#pragma once

#include "proto/model.h"

struct capabilities *nginx_capabilities(void);
struct capabilities *haproxy_capabilities(void);
