// SPDX-License-Identifier: Apache-2.0
/* Frames out of bytes that arrive in pieces: the first byte of the input is the size of a piece. The split must not matter. */
#include "common/must.h"
#include "proto/frame.h"

#include <stddef.h>
#include <stdint.h>

static size_t count_good(const uint8_t *data, size_t len, size_t step)
{
	struct buf in;
	struct str payload;
	size_t good = 0;
	buf_init(&in, FRAME_HEAD_LEN + FRAME_LEN_MAX);
	for (size_t at = 0; at < len; at += step) {
		size_t left = len - at;
		if (buf_append(&in, data + at, left < step ? left : step) != 0)
			break;
		enum frame_outcome outcome;
		while ((outcome = frame_next(&in, &payload)) == FRAME_READY) {
			good += frame_check(payload) == NULL;
			buf_consume(&in, frame_len_of(payload));
		}
		if (outcome != FRAME_PARTIAL)
			break;
	}
	buf_fini(&in);
	return good;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	if (len == 0)
		return 0;
	size_t step = data[0] != 0 ? data[0] : 1;
	must(count_good(data + 1, len - 1, step) == count_good(data + 1, len - 1, len));
	return 0;
}
