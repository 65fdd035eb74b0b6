// SPDX-License-Identifier: Apache-2.0
#include "common/descriptors.h"

#include "common/log_events.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

void descriptors_check(int error)
{
	int number = error < 0 ? -error : error;
	if (number != EMFILE && number != ENFILE)
		return;
	log_fatal(&EV_OUT_OF_DESCRIPTORS, "no file descriptors are left; the process ends");
	_exit(EXIT_FAILURE);
}
