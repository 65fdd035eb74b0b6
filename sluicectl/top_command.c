// SPDX-License-Identifier: Apache-2.0
/* top: the traffic of each Ingress, as providers count it, once or again and again on a terminal. */
#include "common/clock.h"
#include "common/must.h"
#include "common/xalloc.h"
#include "sluicectl/commands.h"
#include "sluicectl/live.h"
#include "sluicectl/show.h"
#include "sluicectl/top_screen.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

static const double interval_default_s = 2;
static const double interval_max_s = 3600;

enum {
	KEYS_MAX = 256,
	ROW_JSON_LEN_MAX = 1536,
	SCREEN_LEN_MAX = TOP_WIDTH_MAX * (TOP_HEIGHT_MAX + 8)
};

struct top {
	struct ask ask;
	struct top_view view;
	double interval_s;
	struct top_sample *before;
	struct top_sample *now;
	double at; /* of `now`, on the monotonic clock */
	struct top_row *rows;
	size_t row_count;
	size_t shown;
	size_t limit;  /* of what is shown once */
	char *problem; /* NULL: none */
};

/* What a terminal is set back to, whatever ends us. */
static struct termios former;
static volatile sig_atomic_t is_ended;
static volatile sig_atomic_t is_resized;

/* ---- asking ---- */

/* One provider's; those that do not count are no trouble. Whether it counts. */
static bool ask_one(struct top *top, const char *name, struct top_sample *sample)
{
	struct buf text;
	char *problem = NULL;
	buf_init(&text, ASK_LEN_MAX);
	enum ask_outcome outcome = ask(&top->ask, name, "/metrics/ingresses", &text, &problem);
	if (outcome == ASK_GOOD)
		top_sample_read(sample, buf_str(&text));
	buf_fini(&text);
	if (outcome != ASK_GOOD && outcome != ASK_NOT_FOUND && outcome != ASK_ENDED &&
		top->problem == NULL)
		top->problem = problem;
	else
		free(problem);
	return outcome == ASK_GOOD;
}

/* NULL: nobody counts, and top->problem says why. */
static struct top_sample *take_sample(struct top *top)
{
	char names[ASK_PROGRAMS_MAX][ASK_NAME_LEN_MAX];
	struct top_sample *sample = top_sample_new();
	size_t count = ask_programs(&top->ask, names, ASK_PROGRAMS_MAX);
	bool is_counted = false;
	free(top->problem);
	top->problem = NULL;
	for (size_t i = 0; i < count; i++) {
		if (strncmp(names[i], "provider-", sizeof("provider-") - 1) == 0 &&
			ask_one(top, names[i], sample))
			is_counted = true;
	}
	if (is_counted)
		return sample;
	if (top->problem == NULL)
		top->problem = xasprintf("%s: no provider counts traffic there; start that of "
					 "HAProxy or nginx with --metrics-ingresses N",
			top->ask.runtime_dir);
	top_sample_free(sample);
	return NULL;
}

/* What we have stays when nobody answers. */
static bool look(struct top *top)
{
	struct top_sample *sample = take_sample(top);
	if (sample == NULL)
		return false;
	double now = clock_monotonic_s();
	top->view.seconds = top->now != NULL ? now - top->at : 0;
	top_sample_free(top->before);
	top->before = top->now;
	top->now = sample;
	top->at = now;
	return true;
}

static void choose(struct top *top)
{
	free(top->rows);
	top->rows = NULL;
	top->row_count = top->shown = 0;
	if (top->now == NULL)
		return;
	top->rows = top_rows_between(top->before, top->now, &top->row_count);
	top->shown = top_view_choose(&top->view, top->rows, top->row_count);
}

/* ---- once ---- */

static void wait_until(double end)
{
	double left_s;
	while ((left_s = end - clock_monotonic_s()) > 0)
		(void)poll(NULL, 0, (int)ceil(left_s * 1000));
}

/* Whoever reads JSON gets a value: null, which is no empty list. */
static int show_none(const struct top *top, enum output_form form)
{
	if (form == FORM_JSON || form == FORM_YAML)
		show_print(stdout, STR("null"), form == FORM_YAML);
	return live_complain(ASK_AWAY, xstrdup(top->problem));
}

/* A table without rows looks like an answer that is not there. */
static void tell_silence(const struct top *top)
{
	if (top->view.filter[0] != '\0')
		fputs("sluicectl: no Ingress with traffic has this text in its namespace or name\n",
			stderr);
	else if (top->interval_s > 0)
		fprintf(stderr,
			"sluicectl: no request has ended in these %g seconds; --interval 0 counts "
			"all since the beginning\n",
			top->interval_s);
	else
		fputs("sluicectl: no request has been counted yet\n", stderr);
}

static int show_once(struct top *top, enum output_form form)
{
	struct buf out;
	if (!look(top))
		return show_none(top, form);
	if (top->interval_s > 0) {
		wait_until(clock_monotonic_s() + top->interval_s);
		if (!look(top))
			return show_none(top, form);
	}
	choose(top);
	top->shown = top->shown < top->limit ? top->shown : top->limit;
	buf_init(&out, (top->shown + 1) * ROW_JSON_LEN_MAX);
	if (form == FORM_JSON || form == FORM_YAML) {
		must(top_screen_json(&top->view, top->rows, top->shown, &out) == 0);
		show_print(stdout, buf_str(&out), form == FORM_YAML);
	} else {
		top->view.width = form == FORM_WIDE ? 0 : live_width();
		must(top_screen_print(&top->view, top->rows, top->shown, &out) == 0);
		fwrite(buf_data(&out), 1, buf_len(&out), stdout);
		if (top->shown == 0)
			tell_silence(top);
	}
	buf_fini(&out);
	return CTL_EXIT_GOOD;
}

/* ---- on a terminal ---- */

static void on_signal(int number)
{
	if (number == SIGWINCH)
		is_resized = 1;
	else
		is_ended = 1;
}

static void begin_screen(void)
{
	struct termios raw = former;
	struct sigaction action = {.sa_handler = on_signal};
	const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGWINCH};
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		sigaction(signals[i], &action, NULL);
	raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
	raw.c_cc[VMIN] = 0;
	raw.c_cc[VTIME] = 0;
	tcsetattr(STDIN_FILENO, TCSAFLUSH, &raw);
	/* The other screen, whose lines are not in what was written before; without a cursor, and without wrapping. */
	fputs("\033[?1049h\033[?25l\033[?7l", stdout);
}

static void end_screen(void)
{
	fputs("\033[?7h\033[?25h\033[?1049l", stdout);
	fflush(stdout);
	tcsetattr(STDIN_FILENO, TCSAFLUSH, &former);
}

static void measure(struct top *top)
{
	struct winsize size = {0};
	bool is_known = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col != 0;
	top->view.width = is_known ? size.ws_col : 80;
	top->view.height = is_known && size.ws_row != 0 ? size.ws_row : 24;
	is_resized = 0;
}

static void draw(struct top *top)
{
	struct buf out;
	buf_init(&out, SCREEN_LEN_MAX);
	top->view.problem = top->problem;
	must(top_screen_print(&top->view, top->rows, top->shown, &out) == 0);
	/* Each in its place: the rest of the line is what was there before, and of a terminal with very few lines nothing is pushed out. */
	struct str rest = buf_str(&out);
	for (size_t line = 1; rest.len != 0 && line <= top->view.height; line++) {
		struct str text = str_cut(&rest, '\n');
		printf("\033[%zuH%.*s\033[K", line, STR_FMT(text));
	}
	fputs("\033[J", stdout);
	fflush(stdout);
	buf_fini(&out);
}

/* False: that was the end. */
static bool take_keys(struct top *top)
{
	char keys[KEYS_MAX];
	ssize_t got = read(STDIN_FILENO, keys, sizeof(keys));
	if (got <= 0)
		return got < 0 && errno == EINTR;
	for (ssize_t i = 0; i < got; i++) {
		/* A key that sends more than one byte is none of ours. */
		if (keys[i] == '\033' && i + 1 < got)
			return true;
		if (!top_view_key(&top->view, keys[i], top->shown))
			return false;
	}
	return true;
}

static int run_screen(struct top *top)
{
	struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
	double next = clock_monotonic_s();
	begin_screen();
	while (!is_ended) {
		double left_s = next - clock_monotonic_s();
		if (left_s <= 0) {
			(void)look(top);
			next = clock_monotonic_s() + top->interval_s;
			continue;
		}
		measure(top);
		choose(top);
		draw(top);
		int ready = poll(&input, 1, (int)ceil(left_s * 1000));
		if (ready > 0 && !take_keys(top))
			break;
		if (ferror(stdout))
			break;
	}
	end_screen();
	return CTL_EXIT_GOOD;
}

/* ---- the command ---- */

static bool read_interval(const char *text, double *ret_interval)
{
	char *end = NULL;
	*ret_interval = interval_default_s;
	if (text == NULL)
		return true;
	*ret_interval = strtod(text, &end);
	return end != text && *end == '\0' && *ret_interval >= 0 && *ret_interval <= interval_max_s;
}

static bool read_args(const struct args *args, struct top *top)
{
	size_t skip = 0;
	const char *filter = args->rest.count != 0 ? args->rest.items[0] : "";
	if (!live_open(args, &top->ask))
		return false;
	if (args->rest.count > 1 || strlen(filter) > TOP_FILTER_LEN_MAX)
		fprintf(stderr, "sluicectl: top takes one text of at most %d bytes\n",
			TOP_FILTER_LEN_MAX);
	else if (args->sort != NULL && !top_order_read(args->sort, &top->view.order))
		fputs("sluicectl: --sort must be requests, errors, latency, bytes or name\n",
			stderr);
	else if (!read_interval(args->interval, &top->interval_s))
		fputs("sluicectl: --interval must be seconds, at most 3600\n", stderr);
	else if (live_read_part(args, &skip, &top->limit)) {
		str_put(top->view.filter, str_from(filter));
		return true;
	}
	return false;
}

int command_top(const struct args *args)
{
	struct top top = {.limit = SIZE_MAX};
	enum output_form form = live_form(args);
	int code = CTL_EXIT_USAGE;
	bool is_screen = !args->once && args->output == NULL && isatty(STDOUT_FILENO) &&
			 tcgetattr(STDIN_FILENO, &former) == 0;
	if (read_args(args, &top)) {
		if (is_screen && top.interval_s == 0)
			top.interval_s = interval_default_s;
		code = is_screen ? run_screen(&top) : show_once(&top, form);
	}
	top_sample_free(top.before);
	top_sample_free(top.now);
	free(top.rows);
	free(top.problem);
	return code;
}
