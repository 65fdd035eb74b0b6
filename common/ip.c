// SPDX-License-Identifier: Apache-2.0
#include "common/ip.h"

#include <arpa/inet.h>

bool ip_canonical(struct str text, char ret_text[static INET6_ADDRSTRLEN])
{
	char copy[INET6_ADDRSTRLEN];
	unsigned char bytes[sizeof(struct in6_addr)];
	if (text.len == 0 || text.len >= sizeof(copy) || str_find(text, '\0') != NULL)
		return false;
	str_put(copy, text);
	copy[text.len] = '\0';
	int family = strchr(copy, ':') != NULL ? AF_INET6 : AF_INET;
	return inet_pton(family, copy, bytes) == 1 &&
	       inet_ntop(family, bytes, ret_text, INET6_ADDRSTRLEN) != NULL;
}
