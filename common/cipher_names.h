// SPDX-License-Identifier: Apache-2.0
/*
 * Lists of ciphers for TLS 1.2, of which OpenSSL has a language of its own ("HIGH:!aNULL"). What somebody has written is never handed on: OpenSSL says which ciphers it
 * means, and these travel by their names. Pure, but for what OpenSSL reads of its own configuration.
 */
#pragma once

#include "common/arena.h"
#include "common/str.h"

enum {
	CIPHER_TEXT_LEN_MAX = 4096,
	CIPHER_NAMES_MAX = 128,
	CIPHER_NAME_LEN_MAX = 48,
	CIPHER_JOINED_LEN_MAX = 3000, /* nginx refuses words of about 4,000 bytes */
};

struct cipher_names {
	struct str *items;
	size_t count;
};

/* The ciphers that `text` means, in its order; without those of TLS 1.3, which it does not choose among, and those that need keys that nobody has here (PSK, SRP).
 * NULL and *ret_names, which lives in the arena, or why there are none, in words for the owner. */
const char *cipher_names_of(struct str text, struct arena *arena, struct cipher_names *ret_names);
/* Whether OpenSSL knows each as the name of one cipher; none is good, too. */
bool cipher_names_are_good(const struct cipher_names *names);
/* With colons between them; lives in the arena. */
struct str cipher_names_join(const struct cipher_names *names, struct arena *arena);
