// SPDX-License-Identifier: Apache-2.0
/*
 * Whether we have the rights that we shall need: one SelfSubjectAccessReview for each verb and resource, which every authenticated caller may
 * make (Kubernetes, "Checking API Access"). Without it a missing right could go unnoticed for long: a streaming list is a watch, so `list` may
 * not be needed until streaming is refused; an Event or an address may be written days later. Where the server does not answer such
 * requests, a missing right is reported when a call fails for it.
 */
#pragma once

#include "watcher/api.h"
#include "watcher/kinds.h"
#include "watcher/named_refs.h"

struct rights;

struct rights_config {
	struct ev_loop *loop;
	struct api *api;
	struct option_list namespaces; /* kept; none: all */
	struct named_refs_config
		options;           /* whose ConfigMap has to be readable; its texts are kept */
	struct str pods_namespace; /* of the pods that are read; kept */
	double again_s;            /* between checks while a right is missing */
	/* What is missing, one line for each right ("list ingresses.networking.k8s.io (not allowed)"); NULL: nothing. */
	void (*on_missing)(void *ctx, const char *missing);
	void *ctx;
};

struct rights *rights_new(const struct rights_config *config);
void rights_free(struct rights *rights);
/* A kind is read in this version; its rights are checked soon, and again while one is missing. */
void rights_set_version(struct rights *rights, const struct kind_version *version);
