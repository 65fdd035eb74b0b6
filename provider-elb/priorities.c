// SPDX-License-Identifier: Apache-2.0
#include "provider-elb/priorities.h"

#include "common/must.h"
#include "common/xalloc.h"

static const struct {
	uint64_t first, last;
} bands[BAND_COUNT] = {
	[BAND_EXACT] = {1000, 29999},
	[BAND_WILDCARD] = {30000, 44999},
	[BAND_ANY] = {45000, 49999},
};

enum { SPARE = 4 }; /* a neighbourhood that is spaced anew has so many free numbers for each rule */

/* A rule that keeps its number, or one of the two ends of the band, which no rule has. */
struct post {
	size_t rule; /* its index among the rules of the band, from 1; 0 and count + 1: the ends */
	uint64_t number; /* its priority; of the ends: just outside of the band */
	uint64_t
		free_below; /* how many numbers from the beginning of the band to here nobody has taken */
	size_t before, after; /* the posts that are still kept next to it */
};

struct band {
	struct priority_rule *rules; /* those of the band */
	size_t count;
	uint64_t first, last;
	const uint64_t *taken; /* those in the band, sorted */
	size_t taken_count;
	struct post *posts; /* with both ends */
	size_t post_count;
};

/* How many of the taken numbers are below `number`. */
static size_t taken_below(const uint64_t *taken, size_t count, uint64_t number)
{
	size_t low = 0, high = count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (taken[middle] < number)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* The free number of which `index` free ones are below: those that are taken push it up. */
static uint64_t free_number(const struct band *band, uint64_t index)
{
	size_t low = 0, high = band->taken_count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		/* taken[middle] has middle others before it. */
		if (band->taken[middle] - band->first - middle <= index)
			low = middle + 1;
		else
			high = middle;
	}
	return band->first + index + low;
}

static void add_post(struct band *band, size_t rule, uint64_t number)
{
	struct post *post = &band->posts[band->post_count];
	uint64_t below = number < band->first ? 0 : number - band->first;
	post->rule = rule;
	post->number = number;
	post->free_below = below - taken_below(band->taken, band->taken_count, number);
	post->before = band->post_count - 1;
	post->after = band->post_count + 1;
	band->post_count++;
}

/* The longest run of increasing numbers among the rules whose numbers lie in the band, by piles (Schensted). `chain` has room for all rules twice. Returns its
 * length; its rules are in chain[0 .. length - 1], as indexes from 1. */
static size_t longest_run(const struct band *band, size_t *chain)
{
	size_t *tops = chain, *below = chain + band->count, length = 0;
	for (size_t i = 0; i < band->count; i++) {
		uint64_t number = band->rules[i].current;
		if (number < band->first || number > band->last)
			continue;
		size_t low = 0, high = length;
		while (low < high) {
			size_t middle = low + (high - low) / 2;
			if (band->rules[tops[middle] - 1].current < number)
				low = middle + 1;
			else
				high = middle;
		}
		below[i] = low != 0 ? tops[low - 1] : 0;
		tops[low] = i + 1;
		if (low == length)
			length++;
	}
	size_t rule = length != 0 ? tops[length - 1] : 0;
	for (size_t i = length; i > 0; i--) {
		tops[i - 1] = rule;
		rule = below[rule - 1];
	}
	return length;
}

static void find_posts(struct band *band)
{
	size_t *chain = xcalloc(2 * band->count, sizeof(*chain));
	size_t length = longest_run(band, chain);
	band->posts = xcalloc(length + 2, sizeof(*band->posts));
	add_post(band, 0, band->first - 1);
	for (size_t i = 0; i < length; i++)
		add_post(band, chain[i], band->rules[chain[i] - 1].current);
	add_post(band, band->count + 1, band->last + 1);
	free(chain);
}

/* The first number that may be used behind a post, as a count of free ones. */
static uint64_t room_from(const struct band *band, const struct post *post)
{
	return post->number < band->first ? 0 : post->free_below + 1;
}

/* How many rules stand between two posts. */
static uint64_t need(const struct band *band, size_t left, size_t right)
{
	return band->posts[right].rule - band->posts[left].rule - 1;
}

/* How many free numbers there are between two posts. */
static uint64_t room(const struct band *band, size_t left, size_t right)
{
	return band->posts[right].free_below - room_from(band, &band->posts[left]);
}

/* Takes posts away around a gap that is too narrow, always towards the side that gives more, until there is room, and so much of it that the next one that comes finds
 * some, too. *left_post and *right_post are then those around it. False: the band is full. */
static bool widen(struct band *band, size_t *left_post, size_t *right_post)
{
	size_t left = *left_post, right = *right_post, last = band->post_count - 1;
	if (room(band, left, right) >= need(band, left, right))
		return true;
	while (room(band, left, right) / SPARE < need(band, left, right)) {
		bool can_left = left != 0, can_right = right != last;
		if (!can_left && !can_right)
			break;
		size_t before = can_left ? band->posts[left].before : left;
		size_t after = can_right ? band->posts[right].after : right;
		if (can_right && room(band, left, after) >= room(band, before, right))
			right = after;
		else
			left = before;
	}
	band->posts[left].after = right;
	band->posts[right].before = left;
	*left_post = left;
	*right_post = right;
	return room(band, left, right) >= need(band, left, right);
}

/* Spaces the rules between two posts evenly; at an end of the band not wider than PRIORITY_STEP, so that there is room for more. */
static void space(struct band *band, const struct post *from, const struct post *to)
{
	uint64_t count = to->rule - from->rule - 1;
	if (count == 0)
		return;
	uint64_t start = room_from(band, from), free_count = to->free_below - start;
	bool is_first = from->rule == 0, is_last = to->rule == band->count + 1;
	/* Rule i gets free number start + offset + (i + 1) * (used + 1) / (count + 1) - 1, counted from 0. */
	uint64_t used = (count + 1) * PRIORITY_STEP - 1, offset = 0;
	if ((!is_first && !is_last) || used > free_count)
		used = free_count;
	if (is_first)
		offset = is_last ? (free_count - used) / 2 : free_count - used;
	for (uint64_t i = 0; i < count; i++) {
		uint64_t index = (i + 1) * (used + 1) / (count + 1) - 1;
		band->rules[from->rule + i].wanted = free_number(band, start + offset + index);
	}
}

static bool assign_band(struct band *band)
{
	bool fits = true;
	find_posts(band);
	size_t last = band->post_count - 1;
	for (size_t left = 0, right; left != last && fits; left = right) {
		right = band->posts[left].after;
		fits = widen(band, &left, &right);
	}
	for (size_t left = 0; left != last && fits; left = band->posts[left].after) {
		const struct post *post = &band->posts[left];
		if (post->rule != 0)
			band->rules[post->rule - 1].wanted = post->number;
		space(band, post, &band->posts[post->after]);
	}
	free(band->posts);
	return fits;
}

bool priorities_assign(
	struct priority_rule *rules, size_t count, const uint64_t *taken, size_t taken_count)
{
	size_t from = 0;
	while (from < count) {
		uint64_t which = rules[from].band;
		must(which < BAND_COUNT);
		size_t to = from;
		while (to < count && rules[to].band == which)
			to++;
		must(to == count || rules[to].band > which);
		size_t skipped = taken_below(taken, taken_count, bands[which].first);
		struct band band = {
			.rules = rules + from,
			.count = to - from,
			.first = bands[which].first,
			.last = bands[which].last,
			.taken = skipped != 0 ? taken + skipped : taken,
			.taken_count =
				taken_below(taken, taken_count, bands[which].last + 1) - skipped,
		};
		if (!assign_band(&band))
			return false;
		from = to;
	}
	return true;
}
