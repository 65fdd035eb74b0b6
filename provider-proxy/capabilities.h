// SPDX-License-Identifier: Apache-2.0
/* The capabilities in the `hello` of every provider with a proxy on this machine. No I/O. */
#pragma once

#include "proto/model.h"

struct route_writer;

/* With what the writer, which may be NULL, can do. Static: there is one provider in a process. */
struct capabilities *local_capabilities(const struct route_writer *writer);
