// SPDX-License-Identifier: Apache-2.0
/* Collects notices: one for each reason and Ingress, Service or certificate, with what it speaks of in a bounded list. No I/O. */
#pragma once

#include "common/arena.h"
#include "proto/model.h"

enum notice_id {
#define NOTICE(id, reason, explanation) NOTICE_##id,
#include "provider-elb/notices.def"
#undef NOTICE
	NOTICE_COUNT,
};

enum {
	NOTICES_MAX = 256, /* that are kept apart */
	NOTICE_SUBJECTS_MAX = 64,
	NOTICE_LEN_MAX = 1024,
};

struct notice_group;

struct notices {
	struct arena *arena;
	struct notice_group *groups;
	size_t count;
};

void notices_init(struct notices *notices, struct arena *arena);
/* `ingress` is "namespace/name", absent for all owners; it must live as long as the arena. Subjects that were named before are not repeated; an absent
 * one is not named. */
void notices_add(
	struct notices *notices, enum notice_id id, struct str ingress, struct str subject);
/* To all whose backend the Service is ("namespace/name"), or who use the certificate. */
void notices_add_service(struct notices *notices, enum notice_id id, struct str service);
void notices_add_certificate(struct notices *notices, enum notice_id id, struct str certificate);
/* In the order of notices.def, then by whom they concern. At most `max`, of which the last one counts the others when there are more. */
size_t notices_list(struct notices *notices, size_t max, struct lb_notice **ret_list);
