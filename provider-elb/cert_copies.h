// SPDX-License-Identifier: Apache-2.0
/*
 * The certificates that the account has in ACM, by ARN: ours, which are copies of an object's certificate, and strangers, of which only as much is kept as it
 * takes to find a copy of ours whose import was never answered. No I/O.
 */
#pragma once

#include "common/tree.h"
#include "provider-elb/acm.h"

#include <bsd/sys/queue.h>

enum { CERT_COPIES_MAX = 100 * 1000 }; /* a quota of an account has 2,500 */

struct cert;

struct cert_copy {
	RB_ENTRY(cert_copy) by_arn;
	TAILQ_ENTRY(cert_copy) link; /* among those of `cert` */
	struct cert *cert;           /* NULL: a stranger */
	struct acm_content content;  /* as far as we know; zero: not known */
	struct acm_content tagged;   /* by its tag */
	int64_t not_after;           /* -1: not known, or not since the last write */
	int64_t odd_not_after;       /* what ACM makes of the one that we wrote; -1: the same */
	double written_at; /* by clock_monotonic_s(): the tagging API may still tell of what was before; 0: not in this life */
	uint64_t seen_in; /* number of the list of ACM that had it last */
	bool is_proven;   /* ACM has it, rather than only the tagging API */
	bool must_read;   /* it may be gone, or hold something else */
	bool is_compared; /* `content` is known from a write or a comparison */
	bool has_tags;    /* of a stranger: they were read, and are not ours */
	char arn[];
};

RB_HEAD(cert_copy_tree, cert_copy);

struct cert_copies {
	struct cert_copy_tree by_arn;
	size_t count;
};

void cert_copies_init(struct cert_copies *copies);
void cert_copies_fini(struct cert_copies *copies);

struct cert_copy *cert_copies_find(const struct cert_copies *copies, struct str arn);
/* Makes it if there is none, as a stranger; NULL: there are too many. */
struct cert_copy *cert_copies_add(struct cert_copies *copies, struct str arn);
/* It belongs to no certificate (any more). */
void cert_copies_remove(struct cert_copies *copies, struct cert_copy *copy);
/* After list `number`: strangers that it did not have are forgotten; copies that it did not have have to be read. */
void cert_copies_end_list(struct cert_copies *copies, uint64_t number);
/* A stranger whose tags were not read, and which may hold a certificate that ends then; NULL: none. Takes time linear in their number. */
struct cert_copy *cert_copies_candidate(const struct cert_copies *copies, int64_t not_after);
