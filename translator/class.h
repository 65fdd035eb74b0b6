// SPDX-License-Identifier: Apache-2.0
/*
 * Whether an Ingress is ours (Kubernetes API concepts, "Ingress class"). Pure.
 *
 *   spec.ingressClassName   annotation kubernetes.io/ingress.class   ours?
 *   names a class           any                    if that class's controller is ours
 *   not set                 our word               yes
 *   not set                 another word           no
 *   not set                 empty or not set       if we take Ingresses without a class, or a class
 *                                                  of ours is the cluster's default
 *
 * The field wins over the annotation, as in the API text; an annotation that differs is reported.
 * With takes_nginx those that the original ingress-nginx would have served are ours, too: they name a class of its controller, or its word in the annotation.
 *
 * Where classes are not synced (old clusters, or no permission to read them) the field is compared
 * with the name of our own class.
 */
#pragma once

#include "translator/diag.h"

#define CLASS_NGINX_CONTROLLER "k8s.io/ingress-nginx"
#define CLASS_NGINX_WORD       "nginx"
#define CLASS_ANNOTATION       "kubernetes.io/ingress.class"

struct class_context {
	const struct source_settings *settings;
	bool classes_are_synced;
	/* The class that spec.ingressClassName names; NULL: missing. */
	const struct ingress_class_record *named;
	bool takes_nginx;       /* those of ingress-nginx are ours, too */
	struct str our_default; /* name of the default class that is ours; empty: none */
};

/* True: it is ours, and *ret_class is the name of its class. */
bool class_is_ours(const struct ingress_record *ingress, const struct class_context *context,
	struct str *ret_class, struct diag_list *diags);
/* Whether it is one of ingress-nginx, and those are ours; it is read by that dialect then, and *ret_class is the name of its class. */
bool class_is_nginx(const struct ingress_record *ingress, const struct class_context *context,
	struct str *ret_class);
/* Whether without_class and the default class alone decide. */
bool class_is_unnamed(const struct ingress_record *ingress);
