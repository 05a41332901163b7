// A table of the lines of Python, with what each target made of each: kernels, bytes, flops. A click leads to them.
import { element } from "./paint.js";
import { model } from "./data.js";
import { count } from "./story.js";

const SCALES = [[1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"]];
export function amount(value) {
  for (const [scale, prefix] of SCALES) if (value >= 0.9995 * scale) return `${(value / scale).toPrecision(3)} ${prefix}`;
  return `${Math.round(value)} `;
}
export const compiledTargets = model.targets.filter((target) => !target.error);

export class Lines {
  // go(row, target): the row of Python, and the target's kernels of it
  constructor(go) {
    this.go = go;
    this.byBytes = false;
    this.sort = element("button", { type: "button", class: "sort", "aria-pressed": "false", onclick: () => this.turn() }, "most bytes first");
    this.body = element("div", { class: "body", tabindex: "0", role: "region", "aria-label": "Each line of Python on each target" });
    this.root = element("section", { class: "pane lines wide", id: "pane-lines", "aria-label": "By line" },
      element("header", {}, element("h2", {}, "By line"), this.sort, element("span", { class: "meta" }, "What each line became. A kernel of several lines counts at each of them, and once in the sum.")), this.body);
    this.draw();
  }

  turn() {
    this.byBytes = !this.byBytes;
    this.sort.setAttribute("aria-pressed", String(this.byBytes));
    this.draw();
  }

  draw() {
    if (!compiledTargets.length) {
      this.body.replaceChildren(element("div", { class: "empty" }, element("p", {}, "No target was compiled.")));
      return;
    }
    this.most = Math.max(1, ...compiledTargets.flatMap(({ by_line: all }) => all.lines.map(moved)));
    const head = element("tr", {}, element("th", { scope: "col", class: "number" }, "line"), element("th", { scope: "col" }, "Python"),
      ...compiledTargets.map(({ name, by_line: all }) => element("th", { scope: "col" }, name, element("small", {}, `${count(all.kernels, "kernel")} · ${amount(moved(all))}B · ${flops(all)}`))));
    this.body.replaceChildren(
      element("table", {}, element("thead", {}, head), element("tbody", {}, ...this.rows().map((row) => this.row(row)), ...compilersOwn())),
      element("p", { class: "legend" }, "Bars are bytes, on one scale for all targets. Bytes are the operands and results of kernels, by their types, and what asynchronous copies fetch for them (⇣), read and written; flops are counted by instruction, and ≥ where a library's routine does not tell. ↻ has kernels in a loop, counted for one turn; all branches of a cond are counted; ◂ are those of a gradient's reverse pass; shared kernels are of other lines, too; ≠ where targets need different numbers of kernels. The last row leads to the compilers' own sums: a TPU's counts layouts with their padding, and a copy at its start and at its end; loops and custom calls are counted in other ways, too."));
  }

  rows() {
    const rows = [...new Set([...model.python.equations.flatMap((numbers, row) => (numbers.length ? [row] : [])), ...compiledTargets.flatMap((target) => target.by_line.lines.map((line) => line.row))])];
    const bytes = (row) => Math.max(...compiledTargets.map((target) => moved(lineOf(target, row))));
    const order = (row) => (row === null ? Infinity : row);
    return rows.sort((a, b) => (this.byBytes ? bytes(b) - bytes(a) : 0) || order(a) - order(b));
  }

  row(row) {
    const cells = compiledTargets.map((target) => this.cell(target, row));
    const differs = differing(row);
    return element("tr", { class: differs ? "differs" : null },
      element("td", { class: "number" }, row === null ? "" : String(model.python.numbers[row] ?? ""), differs ? element("abbr", { title: "the targets need different numbers of kernels" }, " ≠") : null),
      element("td", { class: "source" }, row === null ? "no line of Python" : model.python.lines[row].trim()), ...cells);
  }

  cell(target, row) {
    const line = lineOf(target, row);
    if (!line) return element("td", { class: "none" }, "no kernel");
    const { kernels, shared, in_loop: turns, backward: back } = line;
    const share = (100 * moved(line)) / this.most;
    const words = [kernels.length ? count(kernels.length, "kernel") : "no kernel", shared ? ` (${shared} shared)` : "", back ? `, ${back} ◂` : "", turns ? " ↻" : ""].join("");
    const said = `${count(kernels.length, "kernel")} of ${target.name}${shared ? `, ${shared} shared with other lines` : ""}${back ? `, ${back} going backward` : ""}${turns ? `, ${turns} in a loop, for one turn` : ""}`;
    return element("td", {}, row === null ? element("span", {}, words) : element("button", { type: "button", title: said, "aria-label": `${said}: line ${model.python.numbers[row]}`, onclick: () => this.go(row, target.name) }, words),
      element("small", {}, `${amount(moved(line))}B${line.copied ? `, of these ⇣ ${amount(line.copied)}B` : ""} · ${flops(line)}`), element("span", { class: "share", style: `width:${share.toFixed(1)}%` }));
  }
}

const lineOf = (target, row) => target.by_line.lines.find((line) => line.row === row);
// Bytes of kernels and of asynchronous copies.
export const moved = (line) => (line ? line.bytes + (line.copied || 0) : 0);
const flops = ({ flops: known, untold }) => (known || !untold ? `${untold ? "≥ " : ""}${amount(known)}flop` : "flops not told");

// What the compilers' own sums have beyond the lines: so the columns end in the totals that are in the heads of the panes.
function compilersOwn() {
  const besides = compiledTargets.map((target) => target.by_line.besides);
  if (besides.every((bytes) => bytes === null || bytes === undefined)) return [];
  return [element("tr", { class: "besides" }, element("td", { class: "number" }),
    element("td", { class: "source" }, "of no line: what the compiler counts in another way (to XLA, a conversion is a flop for each element)"),
    ...compiledTargets.map(({ by_line: all }) => element("td", { class: all.besides ? null : "none" },
      all.besides === null || all.besides === undefined ? "the compiler has no estimate" : all.besides ? `${all.besides < 0 ? "−" : "+"} ${amount(Math.abs(all.besides))}B` : "nothing",
      element("small", {}, beyond(all)))))];
}

function beyond(all) {
  const bytes = all.besides === null || all.besides === undefined ? "" : `${amount(moved(all) + all.besides)}B in all, by the compiler's own estimate`;
  const flops = all.flops_besides ? `${all.flops_besides < 0 ? "−" : "+"} ${amount(Math.abs(all.flops_besides))}flop` : "";
  return [bytes, flops].filter(Boolean).join(" · ");
}

export const kernelsOf = (name, row) => lineOf(compiledTargets.find((target) => target.name === name), row)?.kernels.length || 0;

// Whether the targets need different numbers of kernels for a row.
export function differing(row) {
  return new Set(compiledTargets.map(({ name }) => kernelsOf(name, row))).size > 1;
}

// --- a target's numbers, each by its name ---

export const said = (...parts) => parts.filter(Boolean).join(" · ");

export function quantities(target) {
  const [outer, inner] = fusions(target.listing);
  const { operations, exact, by_name: named, guessed } = target.linked;
  const { kernels, copied } = target.by_line;
  const single = kernels > outer ? ` and ${count(kernels - outer, "single operation")}` : "";
  return said(
    `${count(kernels, "kernel")}: ${count(Math.min(outer, kernels), "fusion")}${single}${inner ? `; ${count(inner, "fusion")} inside of fusions` : ""}`,
    `${amount(moved(target.by_line))}B read and written by kernels${copied ? " and copies" : ""}`, `${flops(target.by_line)} counted`, costs(target),
    `${operations} operations, ${exact} linked${exact > named ? ` (${exact - named} by where values go)` : ""}${guessed ? `, ${guessed} by a guess` : ""}`);
}

// How many fusions there are, and how many more stand inside of one.
function fusions(listing) {
  let [outer, inner, end] = [0, 0, -1];
  listing.lines.forEach((line, row) => {
    if (!listing.notes[row]?.startsWith("fusion of")) return;
    if (row < end) inner++;
    else { outer++; end = listing.ends[row]; }
  });
  return [outer, inner];
}

function costs(target) {
  const { numbers } = target.cost;
  const parts = [];
  const theirs = Math.max(0, numbers.flops || 0) + Math.max(0, numbers.transcendentals || 0); // as the table adds them
  if (theirs > 0) parts.push(`${amount(theirs)}flop`);
  if (numbers["bytes accessed"] > 0) parts.push(`${amount(numbers["bytes accessed"])}B`);
  return parts.length ? `the compiler's own estimate: ${parts.join(", ")}` : "";
}
