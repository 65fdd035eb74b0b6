// SPDX-License-Identifier: Apache-2.0
/*
 * Counts what goes over one connection of a link, for its metrics: frames and bytes, received and sent.
 */
#pragma once

#include "common/stream.h"

#include <stdint.h>

struct traffic {
	unsigned series;     /* of the peer, in metrics.def */
	uint64_t counted[2]; /* of the bytes received and sent by the stream */
	uint64_t frames_end; /* of the output: up to here frames are counted */
};

/* Of a new connection. */
void traffic_begin(struct traffic *traffic, unsigned series);
/* One frame. */
void traffic_count_received(struct traffic *traffic);
/* The frames that were appended to the output since the last time. Objects are encoded right into it, so this is where they can be
 * seen. */
void traffic_count_sent(struct traffic *traffic, struct stream *stream);
/* Bytes are counted by the stream, and taken over now and then, at last when it ends. */
void traffic_count_bytes(struct traffic *traffic, const struct stream *stream);
