// SPDX-License-Identifier: Apache-2.0
/*
 * The annotation io.rancher.kubernetes.livenessprobes: a JSON map from the name of a Service to a
 * probe as Kubernetes writes it for containers,
 *
 *   {"web": {"httpGet": {"path": "/healthz", "port": 8080}, "periodSeconds": 5,
 *            "timeoutSeconds": 2, "successThreshold": 1, "failureThreshold": 3},
 *    "db": {"tcpSocket": {"port": 5432}}}
 *
 * It is read as YAML, of which JSON is a part, without aliases, anchors and tags, within limits of
 * depth and number. Pure.
 *
 * A probe that is wrong is left out and told; the others count. Text that is no such map is refused
 * as a whole.
 */
#pragma once

#include "translator/annotations.h"

/* NULL, or why the whole was refused. Probes are sorted by service, in the arena. */
const char *probes_parse(struct str text, const struct object_ref *ingress, const char *field,
	struct arena *arena, struct annotation_values *ret_values, struct diag_list *diags);
