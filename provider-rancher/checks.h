// SPDX-License-Identifier: Apache-2.0
/*
 * Typed health checks to the sections of custom configuration that Rancher's load balancer merges into its
 * backends. What a tenant writes is checked character by character, so nothing of it can become a
 * directive. No I/O.
 */
#pragma once

#include "provider-rancher/rules.h"

/* Appends a section for each rule of `spec` whose Service has a check to *config. */
void checks_render(const struct load_balancer *lb, const struct lb_spec *spec, struct arena *arena,
	struct notices *notices, struct str *config);
