// SPDX-License-Identifier: Apache-2.0
// What has happened: the Events that the translator remembers, the newest first.
import {ask, Poll} from "./api.js";
import {clean, el, ingressLink, mark, name, setText, show} from "./dom.js";
import {clock, count} from "./words.js";

const LATEST = 5;
const form = document.getElementById("events-form");

function item(event, key) {
	const warns = event.type === "warning";
	const what = `${event.namespace ? event.namespace + "/" : ""}${event.name ?? ""}`;
	return el("li", {"data-key": key}, el("time", {}, clock(event.at)), mark(warns ? "bad" : "good", warns ? "warning" : "normal"),
		el("span", {}, event.kind === "Ingress" ? ingressLink(what) : name(`${event.kind ?? ""} ${what}`.trim()), " ", el("b", {}, event.reason), ": ", name(event.message)));
}

// Each with a key that stays while others are added behind it.
function newestFirst(events) {
	const seen = new Map();
	return events.map((event) => {
		const text = JSON.stringify(event);
		const times = (seen.get(text) ?? 0) + 1;
		seen.set(text, times);
		return [event, `${times} ${text.slice(0, 400)}`];
	}).reverse();
}

async function load(signal) {
	const match = form.elements.match.value.trim().toLowerCase();
	let events;
	try {
		events = await ask("events", {}, signal);
	} catch (error) {
		if (!signal.aborted)
			setText(document.getElementById("events-count"), error.message);
		return;
	}
	const shown = newestFirst(events).filter(([event]) => (!form.elements.warnings.checked || event.type === "warning") &&
		(!match || [event.kind, `${event.namespace}/${event.name}`, event.reason, event.message].some((text) => clean(text).toLowerCase().includes(match))));
	setText(document.getElementById("events-count"), `${count(shown.length, "event")} of ${events.length} that the translator remembers`);
	show(document.getElementById("events"), shown.map(([event, key]) => item(event, key)));
}

async function loadLatest(signal) {
	try {
		const events = await ask("events", {}, signal);
		const shown = newestFirst(events).filter(([event]) => event.type === "warning").slice(0, LATEST);
		show(document.getElementById("latest"), shown.map(([event, key]) => item(event, key)));
		document.getElementById("latest-none").hidden = shown.length !== 0;
	} catch (error) {
		if (!signal.aborted)
			show(document.getElementById("latest"), []);
	}
}

export const eventsPage = new Poll(load, 4000);
export const latestEvents = new Poll(loadLatest, 6000);
form.addEventListener("submit", (event) => event.preventDefault());
form.addEventListener("input", () => eventsPage.now());
