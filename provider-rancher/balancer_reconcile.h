// SPDX-License-Identifier: Apache-2.0
/* Brings one load balancer to what is wanted: plans, queues, sends and waits, as lb_fsm.def says. */
#pragma once

#include "provider-rancher/balancer.h"

/* Something it depends on was read, or has changed in Rancher. May free it. */
void balancer_on_news(struct balancer *balancer);
/* Something else is wanted of it. May free it. */
void balancer_on_change(struct balancer *balancer);
/* A list or an event has shown its row, with these changes. May free it. */
void balancer_on_row(struct balancer *balancer, unsigned changes);
/* Something that it is made of has changed: a Service, a certificate. May free it. */
void balancer_touch(struct balancer *balancer);
/* An event has shown it. Returns true if the event has to wait: while it makes requests, their answers tell more. */
bool balancer_overtake(struct balancer *balancer);
/* It is not wanted, and does not exist in Rancher: takes it out of the registry, and frees it. */
void balancer_forget(struct balancer *balancer);
