// SPDX-License-Identifier: Apache-2.0
/*
 * What hosts want of their clients' certificates, as rows of the table ROW_RULE (policies.h), which clients.lua reads:
 *
 *   client:<load balancer>:<host>/         VERIFY|DEPTH|subject|error location|passed|authorities, if there are any
 *   authorities:<authorities>:ca           PEM
 *   authorities:<authorities>:crl          likewise, of those that are revoked
 *
 * The name of authorities is made of them and of the host. No I/O.
 */
#pragma once

#include "provider-proxy/row_set.h"
#include "proto/model.h"

/* Adds the rows; as route_writer.h has it. */
const char *clients_write(struct str key, const struct client_tls *client, struct row_draft *draft);
/* Of such a row's key that part; STR_NONE: it is of another. */
struct str clients_key_of(struct str row_key);
/* Of such a row's value: whether they are asked for one. */
bool clients_are_asked(struct str value);
/* Of a route's row the key of the row of its host that has to be there first; STR_NONE: there is none. */
struct str clients_row_of(struct arena *arena, struct str value);
/* Of the row of a host the key of that of its authorities, which has to be there first; STR_NONE: of another row, or there are none. */
struct str clients_authorities_of(struct arena *arena, struct str key, struct str value);
