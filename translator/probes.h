// SPDX-License-Identifier: Apache-2.0
/*
 * The annotation io.rancher.kubernetes.livenessprobes: a JSON map from the name of a Service to a
 * probe as Kubernetes writes it for containers,
 *
 *   {"web": {"httpGet": {"path": "/healthz", "port": 8080}, "periodSeconds": 5,
 *            "timeoutSeconds": 2, "successThreshold": 1, "failureThreshold": 3},
 *    "db": {"tcpSocket": {"port": 5432}}}
 *
 * It is parsed as YAML, a superset of JSON, without aliases, anchors and tags, and with limits on
 * depth and number. Pure.
 *
 * An invalid probe is left out and reported; the others count. Text that is not such a map is
 * refused as a whole.
 */
#pragma once

#include "translator/annotations.h"

/* NULL, or why the whole was refused. Probes are sorted by service, in the arena. */
const char *probes_parse(struct str text, const struct object_ref *ingress, const char *field,
	struct arena *arena, struct annotation_values *ret_values, struct diag_list *diags);
/* Whether both check in the same way, whatever the Service. */
bool probe_equal(const struct health_check *a, const struct health_check *b);
