// SPDX-License-Identifier: Apache-2.0
#include "sluicectl/progress.h"

#include "common/clock.h"

#include <stdio.h>
#include <unistd.h>

static const double patience_s = 2;

void progress_begin(struct progress *progress, const char *what)
{
	*progress = (struct progress){
		.what = what,
		.next_s = clock_monotonic_s() + patience_s,
		.is_wanted = isatty(STDERR_FILENO) == 1,
	};
}

void progress_tell(struct progress *progress, size_t done, size_t total)
{
	double now_s = clock_monotonic_s();
	if (!progress->is_wanted || now_s < progress->next_s)
		return;
	progress->next_s = now_s + 1;
	progress->is_shown = true;
	fprintf(stderr, "\r\033[K%zu", done);
	if (total != 0)
		fprintf(stderr, " of %zu", total);
	fprintf(stderr, " %s ...", progress->what);
}

void progress_end(struct progress *progress)
{
	if (progress->is_shown)
		fputs("\r\033[K", stderr);
}
