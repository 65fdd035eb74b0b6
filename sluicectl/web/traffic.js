// SPDX-License-Identifier: Apache-2.0
// The traffic of Ingresses, as sluicectl top tells it: of all, within a second; of one, since counting began and since the last look.
import {ask, Poll} from "./api.js";
import {el, ingressLink, mark, setText, show} from "./dom.js";
import {count, rate} from "./words.js";

const SHOWN = 50;
const TYPING_MS = 200;
const LAST_MS = 10000; // the last bound of durations
const UNCOUNTED = "Traffic is not counted: the provider's option --metrics-ingresses does that.";
const UNITS = ["", "k", "M", "G", "T", "P"];
const COLUMNS = ["Ingress", "Requests/s", "4xx/s", "5xx/s", "5xx", "Mean", "95 %", "Sent/s", "Received/s", "Retries/s", "Denied/s"];

const $ = (id) => document.getElementById(id);
const sum = (object) => Object.values(object).reduce((all, one) => all + one, 0);
const isIngress = (row) => row.namespace !== "";
const title = (row) => isIngress(row) ? `${row.namespace}/${row.ingress}` : {"(none)": "no Ingress: no rule took them", "(others)": "further Ingresses"}[row.ingress] ?? row.ingress;

function bytes(number) {
	let unit = 0;
	for (; number >= 9999.5 && unit < UNITS.length - 1; unit++)
		number /= 1000;
	return `${number.toFixed(0)} ${UNITS[unit]}B`;
}

function duration(ms) {
	return ms >= LAST_MS ? "> 10 s" : ms >= 1000 ? `${(ms / 1000).toFixed(1)} s` : ms >= 100 ? `${ms.toFixed(0)} ms` : `${ms.toFixed(1)} ms`;
}

function share(row) {
	return row.requests ? row.status["5xx"] / row.requests : 0;
}

const stateOf = (row) => share(row) >= 0.05 ? "bad" : share(row) > 0 ? "warn" : "good";

function errors(row) {
	const state = stateOf(row);
	const text = `${(share(row) * 100).toFixed(1)} %`;
	return el("span", {"data-state": state}, mark(state, {good: "none fails", warn: "few fail", bad: "many fail"}[state]), ` ${text}`);
}

// ---- all of them ----

function tableRow(row) {
	const per = (number) => rate(number / row.seconds);
	const cells = [isIngress(row) ? ingressLink(title(row)) : title(row), per(row.requests), per(row.status["4xx"]), per(row.status["5xx"]), errors(row), duration(row.duration_ms.mean),
		duration(row.duration_ms.p95), bytes(row.sent_bytes / row.seconds), bytes(row.received_bytes / row.seconds), per(row.retries), per(sum(row.denied))];
	return el("tr", {"data-key": title(row)}, ...cells.map((cell, at) => el("td", {"data-label": COLUMNS[at]}, cell)));
}

async function load(signal) {
	const form = new FormData($("traffic-form"));
	try {
		const rows = await ask("traffic", {match: form.get("match").trim(), sort: form.get("sort"), limit: SHOWN}, signal);
		if (!rows) {
			setText($("traffic-count"), UNCOUNTED);
			show($("traffic"), []);
			return;
		}
		setText($("traffic-count"), rows.length < SHOWN ? `${count(rows.length, "Ingress", "Ingresses")} with requests within a second` : `the first ${SHOWN} of those with requests within a second`);
		show($("traffic-head"), COLUMNS.map((column) => el("th", {scope: "col"}, column)));
		show($("traffic"), rows.map(tableRow));
	} catch (error) {
		if (signal.aborted)
			return;
		setText($("traffic-count"), error.message);
		show($("traffic"), []);
	}
}

export const trafficPage = new Poll(load, 4000);
let typing;

$("traffic-form").addEventListener("submit", (event) => event.preventDefault());
$("traffic-form").addEventListener("input", () => {
	clearTimeout(typing);
	typing = setTimeout(() => trafficPage.now(), TYPING_MS);
});

// ---- one of them ----

const last = {}; // what was told of it, and when

function since(row) {
	const now = performance.now();
	const before = last.title === title(row) && last.requests <= row.requests ? {...last} : undefined;
	Object.assign(last, {title: title(row), requests: row.requests, failed: row.status["5xx"], now});
	if (!before)
		return undefined;
	const seconds = (now - before.now) / 1000;
	return `${rate((row.requests - before.requests) / seconds)} requests/s, ${rate((row.status["5xx"] - before.failed) / seconds)} of them 5xx`;
}

function card(row) {
	const list = el("dl", {});
	const add = (what, ...value) => list.append(el("dt", {}, what), el("dd", {}, ...value));
	add("Now", since(row) ?? "asking again");
	add("Requests", count(row.requests, "request"), ": ", Object.entries(row.status).filter(([, number]) => number).map(([name, number]) => `${number.toLocaleString("en")} ${name}`).join(", ") || "none");
	add("5xx", errors(row));
	add("Duration", `${duration(row.duration_ms.mean)} on average, 95 % within ${duration(row.duration_ms.p95)}, 99 % within ${duration(row.duration_ms.p99)}`);
	add("Bytes", `${bytes(row.sent_bytes)} sent, ${bytes(row.received_bytes)} received`);
	add("Another endpoint was asked", count(row.retries, "time"));
	add("Not let in", Object.entries(row.denied).filter(([, number]) => number).map(([guard, number]) => `${number.toLocaleString("en")} by ${guard}`).join(", ") || "none");
	return [el("h3", {}, "Traffic since counting began"), el("div", {class: "card", "data-key": "traffic", "data-health": stateOf(row)}, list)];
}

export async function showTraffic(what, signal) {
	const place = $("ingress-traffic");
	try {
		const rows = await ask("counts", {match: what}, signal);
		const row = rows?.find((one) => title(one) === what);
		show(place, row ? card(row) : [el("p", {class: "quiet"}, rows ? "No request has been counted for it." : UNCOUNTED)]);
	} catch (error) {
		if (!signal.aborted)
			show(place, [el("p", {class: "quiet"}, error.message)]);
	}
}
