// SPDX-License-Identifier: Apache-2.0
/* What becomes of the global options of ingress-nginx: the arguments of its workloads, and the ConfigMap that they name (migrate_options.def). Pure. */
#pragma once

#include "sluicectl/findings.h"
#include "sluicectl/migrate_report.h"

/* NAMESPACE/NAME of the ConfigMap with the global options, in the arena, if it is among the objects; empty: there is none. */
struct str migrate_controller_map(const struct migrate_objects *objects, struct arena *arena);
/* `findings`: those about values of that ConfigMap are told with them. */
void migrate_controller_add(const struct migrate_objects *objects, struct migrate_report *report,
	const struct line_finding *findings, size_t count);
