// SPDX-License-Identifier: Apache-2.0
// Lists as sluicectl get shows them: load balancers, pools, certificates; what is worst comes first, and a part at a time.
import {ask, Poll} from "./api.js";
import {el, mark, name, setText, show} from "./dom.js";
import {count} from "./words.js";

const PART = 50;
const FEW = 10; // nobody looks for something among so few
const TYPING_MS = 200;

// How a cell is marked: by the column's name and its text.
const MARKS = {
	STATE: (text) => ({applied: "good", pending: "warn", failed: "bad"})[text],
	READY: (text) => {
		const [ready, all] = text.split("/").map(Number);
		return ready === 0 ? "bad" : ready < all ? "warn" : "good";
	},
	LEFT: (text) => {
		const days = parseFloat(text);
		return days < 1 ? "bad" : days < 14 ? "warn" : "good";
	},
};

const title = (column) => column[0] + column.slice(1).toLowerCase();

function cell(column, text) {
	const state = MARKS[column]?.(text);
	return el("td", {"data-label": title(column)}, state ? el("span", {"data-state": state}, mark(state, {good: "good", warn: "soon or in part", bad: "bad"}[state]), ` ${text}`)
		: name(text.replaceAll(",", ", ")));
}

export class List {
	constructor(id, what, everyMs, columns) {
		this.what = what;
		this.columns = columns; // those that are shown; undefined: all
		this.skip = 0;
		this.root = document.getElementById(id);
		this.input = el("input", {type: "search", autocomplete: "off", spellcheck: "false", maxlength: "300", "aria-label": "Find"});
		this.count = el("p", {class: "quiet", role: "status"});
		this.head = el("tr", {});
		this.body = el("tbody", {});
		this.before = el("button", {type: "button"}, "← Before");
		this.after = el("button", {type: "button"}, "After →");
		const bar = this.bar = el("form", {class: "bar", role: "search"}, el("label", {}, "Find ", this.input));
		this.root.append(bar, this.count, el("div", {class: "scroll", role: "region", tabindex: "0", "aria-label": what}, el("table", {}, el("thead", {}, this.head), this.body)),
			el("nav", {class: "pager", "aria-label": "Parts of the list"}, this.before, this.after));
		this.poll = new Poll((signal) => this.load(signal), everyMs);
		bar.addEventListener("submit", (event) => event.preventDefault());
		bar.addEventListener("input", () => this.restart());
		this.before.addEventListener("click", () => this.move(-PART));
		this.after.addEventListener("click", () => this.move(PART));
	}

	restart() {
		this.skip = 0;
		clearTimeout(this.typing);
		this.typing = setTimeout(() => this.poll.now(), TYPING_MS);
	}

	move(by) {
		this.skip = Math.max(0, this.skip + by);
		this.poll.now();
	}

	async load(signal) {
		try {
			this.show(await ask(this.what, {match: this.input.value.trim(), skip: this.skip, limit: PART}, signal));
		} catch (error) {
			if (!signal.aborted)
				setText(this.count, error.message);
		}
	}

	show({columns, matches, rows}) {
		const shown = columns.map((column, at) => [column, at]).filter(([column]) => !this.columns || this.columns.includes(column));
		setText(this.count, matches <= PART ? count(matches, "entry", "entries") : `${this.skip + 1} to ${this.skip + rows.length} of ${count(matches, "entry", "entries")}`);
		show(this.head, shown.map(([column]) => el("th", {scope: "col"}, title(column))));
		show(this.body, rows.map((row) => el("tr", {"data-key": row[0]}, ...shown.map(([column, at]) => cell(column, row[at])))));
		this.before.disabled = this.skip === 0;
		this.after.disabled = this.skip + rows.length >= matches;
		this.bar.hidden = matches <= FEW && this.input.value === "";
		this.before.parentNode.hidden = matches <= PART;
	}
}
