// SPDX-License-Identifier: Apache-2.0
/* What becomes of each annotation of the Ingresses of ingress-nginx: what the line complains of, and what it does not. Pure. */
#pragma once

#include "sluicectl/findings.h"
#include "sluicectl/migrate_report.h"

/* Findings as of line_findings(). */
void migrate_ingresses_add(const struct migrate_objects *objects, struct migrate_report *report,
	const struct line_finding *findings, size_t count);
