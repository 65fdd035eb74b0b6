// SPDX-License-Identifier: Apache-2.0
/*
 * Raw text of nginx's configuration in an annotation is never taken over. For what such texts usually say there are annotations, which are named here. Pure.
 */
#pragma once

#include "translator/dialects/ingress_nginx_values.h"

enum { NGINX_SNIPPET_MAX_LEN = 64 * 1024 };

/* Tells for each directive of the text, once, what to write instead. */
void nginx_snippet_tell(struct str key, struct str text, const struct nginx_teller *teller);
