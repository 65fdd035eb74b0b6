// SPDX-License-Identifier: Apache-2.0
/* What stands for no Ingress in the lines by which a proxy tells its counts (traffic.h, traffic_now.h). Nobody can have such a name. */
#pragma once

#define TRAFFIC_NONE   "/(none)"
#define TRAFFIC_OTHERS "/(others)"
#define TRAFFIC_LOST   "/(lost)"
#define TRAFFIC_ACTIVE "/(active)"
#define TRAFFIC_OUT    "/(out)"
