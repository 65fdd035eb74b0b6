// SPDX-License-Identifier: Apache-2.0
/* What policies say of others than the backend, who are asked or told: as trees in their rows (rule_text.h). No I/O. */
#pragma once

#include "provider-nginx/tree_text.h"
#include "proto/model.h"

void asking_text_add_policy(struct tree_text *tree, const struct policy *policy);
/* What a host wants of its clients' certificates, as a tree of its own. */
void asking_text_client(struct tree_text *tree, const struct client_tls *client);
