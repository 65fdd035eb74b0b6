// SPDX-License-Identifier: Apache-2.0
#include "sluicectl/reasons.h"

#include <stddef.h>

static const struct {
	const char *word;
	const char *remedy;
} reasons[] = {
#define REASON(word, remedy) {(word), (remedy)},
#include "sluicectl/reasons.def"
#undef REASON
};

const char *reason_remedy(struct str word)
{
	for (size_t i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++) {
		if (str_eq_c(word, reasons[i].word))
			return reasons[i].remedy[0] != '\0' ? reasons[i].remedy : NULL;
	}
	return NULL;
}
