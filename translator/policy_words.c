// SPDX-License-Identifier: Apache-2.0
#include "translator/policy_words.h"

static const struct {
	enum policy_scope scope;
	const char *word;
} policies[] = {
#define POLICY(name_, scope_, word_, help_) {SCOPE_##scope_, word_},
#include "translator/annotations.def"
};

enum policy_scope policy_scope(enum policy_bit word)
{
	return policies[__builtin_ctzll(word)].scope;
}

enum policy_bit policy_find(const char *word)
{
	for (unsigned i = 0; i < POLICY_COUNT; i++) {
		if (strcmp(word, policies[i].word) == 0)
			return (enum policy_bit)(UINT64_C(1) << i);
	}
	return POLICY_NONE;
}

uint64_t policies_missing(const struct str_list *list)
{
	uint64_t missing = 0;
	for (unsigned i = 0; i < POLICY_COUNT; i++) {
		bool found = false;
		for (size_t k = 0; k < list->count && !found; k++)
			found = str_eq_c(list->items[k], policies[i].word);
		if (!found)
			missing |= UINT64_C(1) << i;
	}
	return missing;
}

uint64_t policies_of_requests(void)
{
	uint64_t bits = 0;
	for (unsigned i = 0; i < POLICY_COUNT; i++)
		bits |= policies[i].scope >= SCOPE_GUARD ? UINT64_C(1) << i : 0;
	return bits;
}

bool policy_closes(enum policy_bit word)
{
	enum policy_scope scope = policy_scope(word);
	return scope == SCOPE_GUARD || scope == SCOPE_RULE;
}
