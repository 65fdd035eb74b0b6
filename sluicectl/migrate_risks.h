// SPDX-License-Identifier: Apache-2.0
/* What ingress-nginx does unnoticed: guards that are not in force, and annotations that reach other Ingresses. Pure. */
#pragma once

#include "sluicectl/migrate_report.h"

void migrate_risks_add(const struct migrate_objects *objects, struct migrate_report *report);
