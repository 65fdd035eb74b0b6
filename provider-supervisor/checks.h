// SPDX-License-Identifier: Apache-2.0
/*
 * What HAProxy asks sluice-proxy, as lines of words with a blank between them; all but words and the depth are in hexadecimal digits:
 *
 *   password LIST HASH PASSWORD                           yes | no
 *   certificate LIST DEPTH AUTHORITIES LEAF CHAIN REVOKED good SUBJECT ISSUER | bad REASON SUBJECT ISSUER
 *
 * LIST is the name of the list of users, or of the authorities. PEM where authorities and revoked ones are, otherwise DER; CHAIN and REVOKED may be empty. No I/O.
 */
#pragma once

#include "common/str.h"

enum { CHECKS_LIST_LEN_MAX = 64, CHECKS_QUESTION_LEN_MAX = 128 * 1024 };

/* The list; STR_NONE: it is no question. */
struct str checks_list_of(struct str question);
/* A check_work: "none" if it is no question. */
size_t checks_answer(struct str question, char *ret_answer);
