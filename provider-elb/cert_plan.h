// SPDX-License-Identifier: Apache-2.0
/*
 * What to do next for the certificate of one object: a pure function of what is known of it. Each step is one call to ACM, and what its
 * answer tells decides the next one; so a crash, a lost answer or a change by hand leads to another step, not to another program.
 *
 * An import counts against yearly quotas, and what is imported twice stays twice. So nothing is imported before ACM was listed, nor after an import whose
 * answer was lost before it was listed again; and what has another tag than it should have is compared first, because its tag is written after it.
 */
#pragma once

#include <stdbool.h>

/* A copy is a certificate in ACM with the object's tag. */
struct cert_facts {
	bool is_known;  /* tags and ACM have been listed */
	bool is_wanted; /* its object is there, and a load balancer uses it */
	bool is_unusable; /* ACM would refuse it, or something has to change before it is tried again */
	bool must_list;         /* an import may have succeeded without our knowing */
	bool has_candidate;     /* ACM has one that may be it, and whose tags are not known */
	bool has_copy;          /* that serves, or will serve */
	bool must_read;         /* the copy may be gone, or not be what its tag says */
	bool is_leaf_wanted;    /* the copy's leaf is, as far as we know */
	bool is_content_wanted; /* leaf and chain are */
	bool is_content_known; /* the copy was imported or compared, rather than known by its tag */
	bool is_tag_wanted;    /* its tag says what is wanted */
	bool is_replace_refused; /* ACM does not put the wanted one in the place of this copy */
	bool has_old;            /* further copies, which were replaced */
	bool may_remove; /* nothing has wanted it for long enough, and the translator's snapshot is complete */
	bool has_object; /* even if no load balancer uses it */
};

enum cert_step {
	CERT_NOTHING,
	CERT_FORGET,  /* neither wanted nor there */
	CERT_LIST,    /* ACM, for what may be there without our knowing */
	CERT_LOOK,    /* read the tags of the candidate */
	CERT_READ,    /* read the copy, and compare */
	CERT_IMPORT,  /* make a copy, which takes the place of the present one */
	CERT_REPLACE, /* import into the copy, which keeps its ARN */
	CERT_TAG,
	CERT_REMOVE,
	CERT_REMOVE_OLD,
};

enum cert_step cert_plan_next(const struct cert_facts *facts);
bool cert_plan_is_write(enum cert_step step);
