// SPDX-License-Identifier: Apache-2.0
/* What one Ingress of ingress-nginx does to others: by the Service that both use, or by the host that both have. Pure. */
#pragma once

#include "sluicectl/migrate_report.h"

void migrate_shared_add(const struct migrate_objects *objects, struct migrate_report *report);
