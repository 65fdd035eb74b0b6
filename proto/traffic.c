// SPDX-License-Identifier: Apache-2.0
#include "proto/traffic.h"

#include "proto/frame.h"
#include "proto/metrics.h"

static void count(
	const struct traffic *traffic, enum link_metric metric, bool is_sent, double amount)
{
	metric_add(&link_metrics[metric], METRIC_PAIR(traffic->series, 2, is_sent), amount);
}

void traffic_begin(struct traffic *traffic, unsigned series)
{
	*traffic = (struct traffic){.series = series};
}

void traffic_count_received(struct traffic *traffic)
{
	count(traffic, LINK_FRAMES, false, 1);
}

void traffic_count_sent(struct traffic *traffic, struct stream *stream)
{
	const struct buf *out = stream_out(stream);
	uint64_t written = stream_sent(stream);
	size_t at = traffic->frames_end > written ? (size_t)(traffic->frames_end - written) : 0;
	unsigned frames = 0;
	while (at + FRAME_HEAD_LEN <= buf_len(out)) {
		at += frame_len_at(buf_data(out) + at);
		frames++;
	}
	traffic->frames_end = written + at;
	count(traffic, LINK_FRAMES, true, frames);
}

void traffic_count_bytes(struct traffic *traffic, const struct stream *stream)
{
	uint64_t now[2] = {stream_received(stream), stream_sent(stream)};
	for (unsigned i = 0; i < 2; i++) {
		count(traffic, LINK_BYTES, i != 0, (double)(now[i] - traffic->counted[i]));
		traffic->counted[i] = now[i];
	}
}
