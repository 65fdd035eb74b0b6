// SPDX-License-Identifier: Apache-2.0
#include "common/ip.h"

#include <arpa/inet.h>

bool ip_canonical(struct str text, char ret_text[static INET6_ADDRSTRLEN])
{
	char copy[INET6_ADDRSTRLEN];
	unsigned char bytes[sizeof(struct in6_addr)];
	if (text.len == 0 || text.len >= sizeof(copy) || memchr(text.p, '\0', text.len) != NULL)
		return false;
	memcpy(copy, text.p, text.len);
	copy[text.len] = '\0';
	int family = strchr(copy, ':') != NULL ? AF_INET6 : AF_INET;
	return inet_pton(family, copy, bytes) == 1 &&
	       inet_ntop(family, bytes, ret_text, INET6_ADDRSTRLEN) != NULL;
}
