// SPDX-License-Identifier: Apache-2.0
/*
 * Whether we may do what we shall have to do: one SelfSubjectAccessReview for each verb and resource, as every authenticated caller may
 * make (Kubernetes, "Checking API Access"). A verb may be missing for long before it is needed: a streaming list is a watch, so that the
 * right to list goes unnoticed until there is none; an Event or an address may be written days later. Where the server does not answer such
 * questions, what is missing is told when it fails.
 */
#pragma once

#include "watcher/api.h"
#include "watcher/kinds.h"

struct rights;

struct rights_config {
	struct ev_loop *loop;
	struct api *api;
	struct option_list namespaces; /* kept; none: all */
	double again_s;                /* after which it is asked again while a right is missing */
	/* What is missing, a line each right ("list ingresses.networking.k8s.io (not allowed)"); NULL: nothing. */
	void (*on_missing)(void *ctx, const char *missing);
	void *ctx;
};

struct rights *rights_new(const struct rights_config *config);
void rights_free(struct rights *rights);
/* A kind is read in this version; its rights are asked for soon, and again while one is missing. */
void rights_set_version(struct rights *rights, const struct kind_version *version);
