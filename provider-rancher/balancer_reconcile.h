// SPDX-License-Identifier: Apache-2.0
/* Brings one load balancer to what is wanted: plans, queues, sends and waits, as lb_fsm.def says. */
#pragma once

#include "provider-rancher/balancer.h"

/* Something it depends on has been told, or changed in Rancher. May free it. */
void balancer_on_news(struct balancer *balancer);
/* Something else is wanted of it. May free it. */
void balancer_on_change(struct balancer *balancer);
/* Its row has been told anew, by a list or an event. May free it. */
void balancer_on_row(struct balancer *balancer, unsigned changes);
/* Something that it is made of has changed: a Service, a certificate. May free it. */
void balancer_touch(struct balancer *balancer);
/* An event has told of it. While it makes requests that is only noted, and true is returned. */
bool balancer_overtake(struct balancer *balancer);
/* Nobody wants it, and it is not there: takes it out of the registry, and frees it. */
void balancer_forget(struct balancer *balancer);
