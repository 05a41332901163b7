// The calls of a run: bars for what each took, and for a miss the reason beside the difference that it made.
import { element } from "./paint.js";
import { VARIABLE, align, nameless, shape } from "./words.js";

const STAGES = [["trace", "trace"], ["lower", "lower"], ["compile", "compile"], ["run", "run"]];

export function time(seconds) {
  if (seconds >= 1) return `${seconds.toPrecision(3)} s`;
  if (seconds >= 1e-3) return `${(seconds * 1e3).toPrecision(3)} ms`;
  return `${Math.round(seconds * 1e6)} µs`;
}

export class Calls {
  constructor(calls, command, chosen) {
    this.calls = calls;
    this.chosen = null;
    this.onchoose = () => {};
    this.body = element("div", { class: "body", tabindex: "0", role: "region", "aria-label": "Calls, one below the other" });
    const legend = element("span", { class: "legend" }, ...STAGES.map(([name]) => element("span", {}, element("i", { class: `bar ${name}` }), name)));
    this.root = element("section", { class: "pane calls wide", id: "pane-calls", "aria-label": "Calls" },
      element("header", {}, element("h2", {}, "Calls"), calls ? legend : null, element("span", { class: "meta" }, calls?.how || "")), this.body);
    if (!calls || !calls.entries.length) {
      this.body.append(element("div", { class: "empty" }, ...endedSaid(calls), element("p", {}, "No calls were seen. To see them, let the program run, and each call of the function is recorded:"), element("pre", {}, command)));
      return;
    }
    const misses = calls.entries.filter(isMiss);
    const again = misses.filter((entry) => entry.versus !== null && entry.versus !== undefined);
    this.choose(chosen ?? (again.at(-1) || misses.at(-1))?.number ?? null, false);
  }

  choose(number, tell = true) {
    this.chosen = this.calls.entries.some((entry) => entry.number === number) ? number : null;
    this.draw();
    if (!tell) return;
    this.body.querySelector('[aria-expanded="true"]')?.focus({ preventScroll: true }); // it was drawn anew
    this.reveal();
    this.onchoose();
  }

  draw() {
    const { entries } = this.calls;
    const total = (entry) => entry.stages.reduce((sum, [, seconds]) => sum + seconds, 0);
    const most = Math.max(...entries.map(total), 1e-9);
    const rows = [];
    for (const group of grouped(entries)) {
      if (group.length > 1) {
        const times = group.map(total).sort((a, b) => a - b);
        rows.push(element("tr", {}, element("td", {}, `#${group[0].number} to #${group.at(-1).number}`), element("td", { class: "where" }, `${group.length} calls, ${short(group[0].at)}`, line(group[0])),
          element("td", {}, element("span", { class: "hit-word" }, "hits")), this.bars(group[0], most), element("td", {}, `${time(times[times.length >> 1])} each (median)`)));
        continue;
      }
      const [entry] = group;
      const word = entry.hit ? element("span", { class: "hit-word" }, "hit")
        : !isMiss(entry) ? element("button", { type: "button", class: "failed-word", "aria-expanded": String(entry.number === this.chosen) }, "failed")
        : element("button", { type: "button", "aria-expanded": String(entry.number === this.chosen) }, `miss: ${entry.what}${entry.error ? ", then failed" : ""}`);
      const chosen = entry.number === this.chosen;
      rows.push(element("tr", { class: chosen ? "chosen" : null, onclick: entry.hit ? null : () => this.choose(entry.number) }, element("td", {}, `#${entry.number}`),
        element("td", { class: "where", title: entry.at }, short(entry.at), line(entry)), element("td", {}, word), this.bars(entry, most), element("td", {}, time(total(entry)))));
      if (chosen) rows.push(element("tr", { class: "reason" }, element("td", { colspan: "5" }, this.why(entry))));
    }
    const head = element("tr", {}, ...["call", "from", "cache", "time, all bars to one scale", "took"].map((name) => element("th", { scope: "col" }, name)));
    this.body.replaceChildren(...endedSaid(this.calls), element("table", {}, element("thead", {}, head), element("tbody", {}, ...rows)));
  }

  // The call that was chosen at the top, and its reason below it.
  reveal() {
    const row = this.body.querySelector("tr.chosen");
    if (row) this.body.scrollTop += row.getBoundingClientRect().top - this.body.getBoundingClientRect().top;
    this.body.querySelector(".why .sentence")?.scrollIntoView({ block: "nearest" }); // where the pane is low
  }

  bars(entry, most) {
    const parts = entry.stages.map(([stage, seconds]) => element("span", { class: `bar ${stage}`, style: `width:${(100 * seconds / most).toFixed(2)}%`, title: `${stage}: ${time(seconds)}` }));
    const text = entry.stages.map(([stage, seconds]) => `${stage} ${time(seconds)}`).join(", ");
    return element("td", { class: "bars" }, element("div", { class: "track", role: "img", "aria-label": text }, ...parts));
  }

  // The other panes show one program, whichever call is chosen.
  which({ number }) {
    const { shown } = this.calls;
    if (!shown) return "The other panes show the program of the types at the top of the page, not that of a call.";
    if (shown === number) return "The other panes show the program of this call.";
    return `The other panes show the program of call #${shown}, not of this one: choosing a call does not change them.`;
  }

  why(entry) {
    if (entry.hit) return element("div", { class: "why" }, element("div", {}, element("h3", {}, `Call #${entry.number} was a hit`), element("div", { class: "sentence" }, "It found its program in the cache.")));
    const failed = entry.error ? element("div", { class: "sentence error" }, entry.error) : null;
    if (!isMiss(entry)) return element("div", { class: "why" }, element("div", {}, element("h3", {}, `Call #${entry.number} failed`), element("p", { class: "from" }, short(entry.at), line(entry)), failed, element("p", { class: "which" }, this.which(entry))));
    const left = element("div", {}, element("h3", {}, `Why call #${entry.number} missed`), element("p", { class: "from" }, short(entry.at), line(entry)), element("div", { class: "sentence" }, entry.sentences.join("\n")), failed, element("p", { class: "which" }, this.which(entry)));
    const right = element("div", {});
    const before = this.calls.entries.find((each) => each.number === entry.versus);
    if (before && before.jaxpr !== null && entry.jaxpr !== null) {
      right.append(element("h3", {}, `What became different: the jaxpr of #${before.number}, and that of #${entry.number}`));
      right.append(difference(this.calls.jaxprs[before.jaxpr], this.calls.jaxprs[entry.jaxpr], before.number, entry.number));
    } else if (entry.jaxpr !== null) {
      right.append(element("h3", {}, "Nothing to compare it with. Its jaxpr"), element("div", { class: "diff", tabindex: "0", role: "region", "aria-label": "jaxpr" }, element("table", {}, ...this.calls.jaxprs[entry.jaxpr].map((line) => element("tr", {}, element("td", { class: "same" }, line))))));
    }
    return element("div", { class: "why" }, left, right);
  }
}

// A call that ended with an error, and for which nothing was traced, is neither hit nor miss.
export const isMiss = (entry) => !entry.hit && entry.reason !== undefined;

// What the run ended with, if with an error.
const endedSaid = (calls) => (calls?.ended ? [element("p", { class: "ended error" }, `${calls.ended}. The calls before that are shown.`)] : []);

// Hits in a row stand in one line.
function grouped(entries) {
  const groups = [];
  for (const entry of entries) {
    const last = groups.at(-1);
    if (entry.hit && last?.[0].hit && last[0].at === entry.at) last.push(entry);
    else groups.push([entry]);
  }
  return groups.flatMap((group) => (group.length > 2 ? [group] : group.map((entry) => [entry])));
}

// The line of Python that a call stands on.
const line = ({ source }) => (source ? element("code", {}, source) : null);

const short = (at) => at.replace(/^.*[\\/]/, "");

// Two texts side by side, what is equal folded, the first difference in view.
export function difference(was, now, from, to) {
  const steps = align(was, now, shape).map(([, a, b]) => [a !== null && b !== null && nameless(a) === nameless(b), a, b]);
  const table = element("table", {}, element("thead", {}, element("tr", {}, element("th", { scope: "col" }, `#${from}`), element("th", { scope: "col" }, `#${to}`))));
  const body = element("tbody");
  table.append(body);
  const box = element("div", { class: "diff", tabindex: "0", role: "region", "aria-label": "difference of two jaxprs" }, table);
  if (steps.every(([same]) => same)) {
    box.replaceChildren(element("p", { class: "empty" }, "Nothing. The two jaxprs are the same, line by line: the same program was compiled again."));
    return box;
  }
  let first = true;
  let at = 0;
  while (at < steps.length) {
    let end = at;
    while (end < steps.length && steps[end][0]) end++;
    if (end - at > 6) {
      const keep = 2;
      const lead = at === 0 ? 0 : keep;
      const tail = end === steps.length ? 0 : keep;
      steps.slice(at, at + lead).forEach((step) => body.append(pair(step)));
      const hidden = steps.slice(at + lead, end - tail);
      const skip = element("tr", {}, element("td", { class: "skip", colspan: "2" }, element("button", { type: "button", onclick: () => skip.replaceWith(...hidden.map(pair)) }, `${hidden.length} equal lines`)));
      body.append(skip);
      steps.slice(end - tail, end).forEach((step) => body.append(pair(step)));
    } else steps.slice(at, end).forEach((step) => body.append(pair(step)));
    while (end < steps.length && !steps[end][0]) {
      const row = pair(steps[end++]);
      if (first) row.classList.add("first-difference");
      first = false;
      body.append(row);
    }
    at = end;
  }
  return box;
}

function pair([same, was, now]) {
  if (same) return element("tr", {}, element("td", { class: "same" }, was), element("td", { class: "same" }, now));
  const [left, right] = was === null || now === null ? [[was ?? ""], [now ?? ""]] : wordsApart(was, now);
  return element("tr", {}, element("td", { class: was === null ? "same" : "was" }, ...left), element("td", { class: now === null ? "same" : "is" }, ...right));
}

function wordsApart(was, now) {
  const split = (line) => line.match(/[\w.]+|\s+|[^\w\s]/g) || [];
  const left = [];
  const right = [];
  for (const [same, a, b] of align(split(was), split(now))) {
    if (same) { left.push(a); right.push(b); continue; }
    if (a !== null) left.push(VARIABLE.test(a) ? a : element("del", {}, a));
    if (b !== null) right.push(VARIABLE.test(b) ? b : element("ins", {}, b));
  }
  return [left, right];
}
