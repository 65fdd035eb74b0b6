// SPDX-License-Identifier: Apache-2.0
#include "sluicectl/reasons.h"

#include "common/json.h"

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

int reasons_put_json(struct buf *out)
{
	int err = 0;
	for (size_t i = 0; i < sizeof(reasons) / sizeof(reasons[0]) && err == 0; i++) {
		err = buf_append(out, i == 0 ? "{" : ",", 1);
		if (err == 0)
			err = json_put_text(out, str_from(reasons[i].word));
		if (err == 0)
			err = buf_append(out, ":", 1);
		if (err == 0)
			err = json_put_text(out, str_from(reasons[i].remedy));
	}
	return err == 0 ? buf_append(out, "}", 1) : err;
}
