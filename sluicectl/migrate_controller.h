// SPDX-License-Identifier: Apache-2.0
/* What becomes of the global options of ingress-nginx: the arguments of its workloads, and the ConfigMap that they name (migrate_options.def). Pure. */
#pragma once

#include "sluicectl/migrate_report.h"

void migrate_controller_add(const struct migrate_objects *objects, struct migrate_report *report);
