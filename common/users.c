// SPDX-License-Identifier: Apache-2.0
#include "common/users.h"

#include "common/str.h"
#include "common/xalloc.h"

#include <pwd.h>

static bool find_uid(const char *text, uid_t *ret_uid)
{
	int64_t number = 0;
	if (str_to_int(str_from(text), 0, UINT32_MAX - 1, &number)) {
		*ret_uid = (uid_t)number;
		return true;
	}
	const struct passwd *user = getpwnam(text);
	if (user == NULL)
		return false;
	*ret_uid = user->pw_uid;
	return true;
}

char *users_read(const char *name, const struct option_list *list, size_t max, uid_t *ret_uids)
{
	if (list->count > max)
		return xasprintf("--%s: at most %zu users", name, max);
	for (size_t i = 0; i < list->count; i++) {
		if (!find_uid(list->items[i], &ret_uids[i]))
			return xasprintf("--%s: there is no user \"%s\"", name, list->items[i]);
	}
	return NULL;
}
