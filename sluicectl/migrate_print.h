// SPDX-License-Identifier: Apache-2.0
/* A report about a move: for people, and as JSON. No I/O but printing. */
#pragma once

#include "common/buf.h"
#include "sluicectl/migrate_report.h"

void migrate_print_people(const struct migrate_report *report);
/* Appends the JSON. -EMSGSIZE. */
[[nodiscard]] int migrate_print_json(const struct migrate_report *report, struct buf *out);
