// SPDX-License-Identifier: Apache-2.0
/*
 * Counts frames and bytes, received and sent, on one connection of a link, for its metrics.
 */
#pragma once

#include "common/stream.h"

#include <stdint.h>

struct traffic {
	unsigned series;     /* of the peer, in metrics.def */
	uint64_t counted[2]; /* bytes received and sent by the stream, counted so far */
	uint64_t frames_end; /* offset in the output up to which frames are counted */
};

/* Call it for each new connection. */
void traffic_begin(struct traffic *traffic, unsigned series);
/* One frame. */
void traffic_count_received(struct traffic *traffic);
/* Counts the frames appended to the output since the last call. Objects are encoded right into it, so they can only be counted
 * there. */
void traffic_count_sent(struct traffic *traffic, struct stream *stream);
/* Takes over the bytes counted by the stream; called now and then, and when it ends. */
void traffic_count_bytes(struct traffic *traffic, const struct stream *stream);
