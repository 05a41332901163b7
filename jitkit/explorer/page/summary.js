// The answers that most readers come for, as sentences at the top whose links lead to what they say.
import { element } from "./paint.js";
import { isMiss } from "./calls.js";
import { model } from "./data.js";
import { APART, FATES, NOT_FUSED, compared, fateName, named, ofFate } from "./fates.js";
import { amount, compiledTargets, differing, kernelsOf, moved } from "./lines.js";
import { MOST_REASONS, changes, count, few, whyOf } from "./words.js";

const MOST_LINES = 8;
const MOST_MISSES = 4;

// `to` has call(number), fate(target, the title of a list), lines() and beside(one, other, row).
export function summary(to) {
  const link = (text, onclick) => element("button", { type: "button", onclick }, text);
  const items = [...callsSaid(to, link), ...dearestSaid(to, link), ...keptSaid(), ...againSaid(), ...apartSaid(to, link), ...fatesSaid(to, link), ...differencesSaid(to, link), ...otherFatesSaid()];
  if (!items.length) return null;
  return element("details", { class: "summary", open: !matchMedia("(max-width: 899px)").matches },
    element("summary", {}, "In short", model.calls?.shown ? element("span", {}, `: the calls of the run, then the program of call #${model.calls.shown}`) : null), element("ul", {}, ...items.map((parts) => element("li", {}, ...parts))));
}

function callsSaid(to, link) {
  const entries = model.calls?.entries || [];
  const misses = entries.filter(isMiss);
  const failed = entries.filter((entry) => entry.error);
  const ended = model.calls?.ended ? [[element("b", {}, model.calls.ended), "."]] : [];
  const to_ = (entry) => link(`call #${entry.number}`, () => to.call(entry.number));
  const listed = (of) => of.flatMap((entry, i) => (i < MOST_MISSES ? [i ? ", " : "", to_(entry)] : i === MOST_MISSES ? [`, and ${of.length - MOST_MISSES} more`] : []));
  const failures = failed.length ? [[listed(failed), ` failed: ${few([...new Set(failed.map(({ error }) => error))], MOST_REASONS, "; ")}.`].flat()] : [];
  if (!misses.length) return [...ended, ...failures];
  const first = misses.filter((entry) => entry.reason === "first call").slice(0, 1).flatMap((entry) => [" (", to_(entry), " as the first one)"]);
  const again = misses.filter((entry) => entry.reason !== "first call");
  const isShown = (entry) => entry.number === model.calls.shown; // the program below is that of this one
  const told = again.filter((entry, i) => i < MOST_MISSES || isShown(entry));
  const items = told.map((entry) => [to_(entry), ` missed (${entry.reason}): ${whyOf(entry)}${whatOf(entry)}.${isShown(entry) ? " Its program is shown." : ""}`]);
  const more = again.length > told.length ? [`. The pane of calls has all; of ${again.length} later misses, ${told.length} follow`] : [];
  return [...ended, [element("b", {}, "Calls"), `: ${count(entries.length, "call")}, ${misses.length} of them missed the cache`, ...first, ...more, "."], ...items, ...failures];
}

// What became different in its jaxpr.
function whatOf({ jaxpr, versus }) {
  const before = model.calls.entries.find((entry) => entry.number === versus);
  if (jaxpr === null || !before || before.jaxpr === null || before.jaxpr === undefined) return "";
  return `. In its jaxpr, against that of #${versus}, ${changes(model.calls.jaxprs[before.jaxpr], model.calls.jaxprs[jaxpr])}`;
}


// The lines that move most bytes and compute most, and what the gradient costs: on each target.
function dearestSaid(to, link) {
  const said = compiledTargets.slice(0, MOST_LINES).flatMap((target) => {
    const { name, by_line: all } = target;
    const known = all.lines.filter(({ row }) => row !== null);
    if (known.length < 2) return [];
    const most = (of) => known.reduce((one, other) => (of(other) > of(one) ? other : one));
    const isKnown = all.run_bytes !== null && all.run_flops !== null; // how many turns each loop takes
    const [size, work] = isKnown ? [(line) => line.run_bytes, (line) => line.run_flops] : [moved, (line) => line.flops];
    const [bytes, flops] = [most(size), most(work)];
    const turns = !all.in_loop ? "" : isKnown ? " (all turns of loops)" : " (one turn of each loop: of some loops the number of turns is not known)";
    const least = ({ untold }) => (untold ? "≥ " : ""); // a library's routine does not tell its flops
    const computed = work(flops) ? `, line ${model.python.numbers[flops.row]} computes ${least(flops)}${amount(work(flops))}flop of ${least(all)}${amount(work(all))}flop` : "";
    const branches = target.hlo.lines.some((line) => line.includes(" conditional(")) ? "; all branches of a cond are counted" : "";
    const back = all.backward ? `; ${all.backward} of ${count(all.kernels, "kernel")} are of the gradient's reverse pass` : "";
    return [`on ${name}, line ${model.python.numbers[bytes.row]} moves ${amount(size(bytes))}B of ${amount(size(all))}B, in ${count(bytes.kernels.length, "kernel")}${computed}${turns}${branches}${back}`];
  });
  return said.length ? [[link("Dearest lines", () => to.lines()), `: ${said.join(". ")}.`]] : [];
}

// What loops of the forward pass write turn by turn, since the reverse pass of the gradient reads it.
function keptSaid() {
  const kept = model.kept || [];
  if (!kept.length) return [];
  const parts = kept.map(({ equation, of, type }) => `${type} of ${of === null ? `what a turn of ${named([equation])} begins with` : named([of])}`);
  return [[element("b", {}, "Kept for the reverse pass only"), `, as the jaxpr says, turn by turn: ${few(parts, MOST_LINES)}; ${amount(kept.reduce((sum, { bytes }) => sum + bytes, 0))}B together.`]];
}

// What is computed anew in each kernel that reads it.
function againSaid() {
  const said = compiledTargets.flatMap(({ name, again }) => (Object.keys(again).length ? [`on ${name}, ${named(Object.keys(again).map(Number))}`] : []));
  return said.length ? [[element("b", {}, "Computed in several kernels"), ", rather than written to memory once: ", `${said.join("; ")}.`]] : [];
}

// Which kernels read one another and are not one, and why, on each target.
function apartSaid(to, link) {
  const able = compiledTargets.filter(({ apart }) => apart?.length);
  const names = new Map(); // by what is said, the targets
  for (const { name, apart } of able.slice(0, MOST_LINES)) {
    const parts = Object.entries(APART).flatMap(([rule, words]) => [true, false].map((sure) => [
      apart.filter((each) => each.rule === rule && (each.sure || !rule) === sure).length, sure ? words : `perhaps ${words}`,
    ])).filter(([number]) => number);
    const words = `${count(apart.length, "pair")} of neighbours: ${parts.map(([number, words]) => `${number} ${words}`).join(", ")}`;
    names.set(words, [...(names.get(words) || []), name]);
  }
  const said = [...names].map(([words, its]) => `on ${its.join(", ")}, ${words}`);
  return said.length ? [[link(NOT_FUSED, () => to.fate(able[0].name, NOT_FUSED)), `: ${said.join(". ")}.`]] : [];
}

// What became of equations in the same way on all targets.
function fatesSaid(to, link) {
  if (!compiledTargets.length) return [];
  const { same } = compared(compiledTargets);
  const everywhere = compiledTargets.length > 1 ? ` on all ${compiledTargets.length} targets` : "";
  const said = [];
  for (const [fate, title] of FATES) {
    const reasons = [...(same.get(fate) || [])];
    if (!reasons.length) continue;
    const first = compiledTargets.find((target) => ofFate(target, fate).length);
    const total = reasons.reduce((sum, [, numbers]) => sum + numbers.length, 0);
    const parts = reasons.map(([why, numbers]) => named(numbers) + (why ? `: ${why}` : ""));
    said.push([link(title, () => to.fate(first.name, title)), `${everywhere}, ${count(total, "equation")} of ${model.equations.length}: ${parts.join("; ")}.`]);
  }
  return said;
}

// What became of the others, which say least of how targets differ: a row an equation, a column a target.
function otherFatesSaid() {
  const others = compiledTargets.length ? compared(compiledTargets).differing : [];
  if (!others.length) return [];
  const cell = (fate) => (fate ? element("td", { title: fate.why }, `${fateName(fate.fate).replace(" by XLA", "").toLowerCase()}${fate.sure ? "" : " ?"}`) : element("td", { class: "as" }, "as written"));
  const rows = others.slice(0, MOST_LINES).map((number) => element("tr", {}, element("th", { scope: "row" }, named([number])), ...compiledTargets.map((target) => cell(target.fates[number]))));
  const table = element("table", { class: "fates" },
    element("thead", {}, element("tr", {}, element("th", { scope: "col" }, "equation"), ...compiledTargets.map(({ name }) => element("th", { scope: "col" }, name)))), element("tbody", {}, ...rows));
  const more = others.length > MOST_LINES ? ` The first ${MOST_LINES}; the others are listed below each target's HLO.` : "";
  return [[element("b", {}, "Different by target"), `, ${count(others.length, "equation")}; point at a cell for the reason.${more}`, element("div", { class: "scrolls", tabindex: "0", role: "region", "aria-label": "Different by target" }, table)]];
}

function differencesSaid(to, link) {
  if (compiledTargets.length < 2) return [];
  const totals = few(compiledTargets.map(({ name, by_line: all }) => `${name} ${count(all.kernels, "kernel")}, ${amount(moved(all))}B`), MOST_LINES).replaceAll("B, ", "B; ");
  const said = [[link("By line", () => to.lines()), `: kernels, and the bytes that they read and write: ${totals}.`]];
  const [gpu, tpu] = ["gpu:", "tpu:"].map((platform) => compiledTargets.find((target) => target.name.startsWith(platform)));
  const pair = (gpu && tpu ? [gpu, tpu] : compiledTargets.slice(0, 2)).map((target) => target.name);
  const parts = [element("b", {}, `${pair[0]} and ${pair[1]}`)];
  const rows = model.python.equations.flatMap((numbers, row) => (numbers.length && differing(row) ? [row] : []));
  const ofPair = rows.filter((row) => kernelsOf(pair[0], row) !== kernelsOf(pair[1], row));
  if (ofPair.length) {
    parts.push(` have different numbers of kernels (a kernel of several lines counts at each of them) for line${ofPair.length === 1 ? "" : "s"} `);
    ofPair.slice(0, MOST_LINES).forEach((row, i) => parts.push(i ? ", " : "", link(String(model.python.numbers[row]), () => to.beside(...pair, row)), ` (${kernelsOf(pair[0], row)} and ${kernelsOf(pair[1], row)})`));
    parts.push(`${ofPair.length > MOST_LINES ? `, and ${ofPair.length - MOST_LINES} more` : ""}.`);
  } else parts.push(rows.length ? " have as many kernels for each line; other targets do not." : " have as many kernels for each line, as all targets.");
  const rounded = roundedSaid(pair);
  return [...said, parts, ...(rounded.length ? [[element("b", {}, "Other types"), " than in the program, as the compilers chose:", ...rounded]] : [])];
}

// Results that only some targets compute or keep in a smaller type.
function roundedSaid(pair) {
  const [one, other] = pair.map((name) => compiledTargets.find((target) => target.name === name));
  const numbers = [...new Set([...Object.keys(one.rounded), ...Object.keys(other.rounded)])].filter((number) => one.rounded[number] !== other.rounded[number]);
  const said = new Map(); // the same types -> equations
  for (const number of numbers) {
    const written = model.equations[number].results.match(/\w+/)[0];
    const words = [one, other].map((target) => `${target.rounded[number] || written} on ${target.name}`).join(", ");
    if (!said.has(words)) said.set(words, []);
    said.get(words).push(Number(number));
  }
  return [...said].map(([words, own]) => ` result${own.length === 1 ? "" : "s"} of ${named(own)}: ${words}.`);
}
