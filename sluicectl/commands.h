// SPDX-License-Identifier: Apache-2.0
/* The commands: each does its work, prints, and returns an exit code of args.h. */
#pragma once

#include "sluicectl/args.h"
#include "sluicectl/command_output.h"

int command_render(const struct args *args);
int command_lint(const struct args *args);
int command_explain(const struct args *args);
int command_request(const struct args *args);
int command_status(const struct args *args);
int command_top(const struct args *args);
int command_get(const struct args *args);
int command_routes(const struct args *args);
int command_events(const struct args *args);
int command_diff(const struct args *args);
int command_compare(const struct args *args);
int command_migrate(const struct args *args);
int command_serve(const struct args *args);
int command_web(const struct args *args);
