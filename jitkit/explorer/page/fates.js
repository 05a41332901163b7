// What became of the equations that are not there as they were written: in lists, and what all targets have in common told once.
import { model } from "./data.js";

export const FATES = [
  ["removed", "Removed by XLA", "no instruction is left of them"],
  ["dropped", "Dropped before XLA", "XLA never saw an operation of them"],
  ["rewritten", "Rewritten by XLA", "they are there, as another operation"],
  ["renamed", "Under another name", "they are there, as an instruction that does not have their name"],
  ["unknown", "No trace, cause unknown", "guesses: simplified, merged, or under another name"],
];
export const fateName = (fate) => FATES.find(([name]) => name === fate)[1];
const MOST = 12; // of a list in a sentence

// [number, fate] of a target, those of a kind.
export function ofFate(target, kind) {
  return Object.entries(target.fates).filter(([, { fate }]) => fate === kind).map(([number, fate]) => [Number(number), fate]);
}

export const lineOfEquation = (number) => model.equations[number].line;

// `sub, reduce_max (line 14), 2 transpose (line 15), broadcast_in_dim (lines 16, 17)`: lines of the same operations together.
export function named(numbers) {
  const lines = new Map();
  for (const number of numbers.slice(0, MOST)) {
    const { primitive, line } = model.equations[number];
    if (!lines.has(line)) lines.set(line, new Map());
    lines.get(line).set(primitive, (lines.get(line).get(primitive) || 0) + 1);
  }
  const alike = new Map();
  for (const [line, names] of lines) {
    const words = [...names].map(([name, times]) => (times > 1 ? `${times} ${name}` : name)).join(", ");
    if (!alike.has(words)) alike.set(words, []);
    if (line !== null) alike.get(words).push(line);
  }
  const parts = [...alike].map(([words, own]) => words + (own.length ? ` (line${own.length > 1 ? "s" : ""} ${own.join(", ")})` : ""));
  return parts.join(", ") + (numbers.length > MOST ? `, and ${numbers.length - MOST} more` : "");
}

// How those of a rule are told, in one sentence for all of them.
function reason({ rule, why, like }) {
  if (rule === "changes nothing") return why;
  if (rule === "duplicate") return `${lineOfEquation(like) === null ? "computed elsewhere, too" : `the same as on line ${lineOfEquation(like)}`} (common subexpression)`;
  if (rule === "rewritten") return why.split(",")[0];
  return {
    dead: "dead code, no result depends on it", "no operation": "its result is its operand", "no operation?": "dead in its inner jaxpr, or its result is its operand", empty: "a loop without a turn", cancels: "undo each other", constant: "constant folded",
    "one factor": "one product with a neighbour's number", factored: "its number is factored out of a sum", inside: "nothing in it is left", clamp: "one clamp with a neighbour",
    merged: "merged into the operation that reads it", renamed: "", "renamed?": "perhaps another instruction of the line", "duplicate?": "perhaps one of several that compute the same", "constant?": "constant folded, or merged into what reads it", unknown: "",
  }[rule];
}

const keyOf = (fate) => (fate ? `${fate.fate}: ${reason(fate)}` : "");

// By kind: `same` are the reasons that hold on all targets, each with its equations; `differing` the equations of which targets differ.
export function compared(targets) {
  const same = new Map();
  const differing = [];
  const numbers = [...new Set(targets.flatMap((target) => Object.keys(target.fates)))].map(Number).sort((a, b) => a - b);
  for (const number of numbers) {
    const fates = targets.map((target) => target.fates[number]);
    if (new Set(fates.map(keyOf)).size > 1) { differing.push(number); continue; }
    const [{ fate }] = fates;
    if (!same.has(fate)) same.set(fate, new Map());
    const why = reason(fates[0]);
    if (!same.get(fate).has(why)) same.get(fate).set(why, []);
    same.get(fate).get(why).push(number);
  }
  return { same, differing };
}

// Why two kernels, one of which reads what the other writes, are not one: by kind, in words for several of them.
export const APART = {
  loop: "with a loop", branch: "with a branch", routine: "with a call of a routine", library: "with a kernel of a library",
  whole: "with one that needs all of an array, such as a sort", product: "with a product", parts: "adding the parts of a product", spread: "since each element would be computed several times",
  "several readers": "since each reader would compute it", generator: "of Triton and XLA's own generator", scalar: "with a single number, in the scalar unit", "": "by XLA's own choice",
};
export const NOT_FUSED = "Not fused";

// Below the instructions of a target: what is not among them as it was written, a list a kind; and which kernels are not one.
export function listFates(target) {
  const { listing } = target;
  const add = (line, numbers, kind, indent, note, guesses) => {
    const row = listing.lines.length;
    listing.lines.push(line);
    listing.indents.push(indent);
    listing.equations.push(numbers);
    listing.kinds[row] = kind;
    listing.notes[row] = note;
    if (guesses.length) listing.guesses[row] = guesses;
  };
  for (const [kind, title, what] of FATES) {
    const found = ofFate(target, kind);
    if (!found.length) continue;
    add(`${title}: ${found.length} of ${model.equations.length} equations`, [], "head", 0, what, []);
    for (const [number, { why, sure }] of found) {
      const { primitive, results } = model.equations[number];
      add(`  ${primitive} ${results}`, sure ? [number] : [], ["removed", "dropped"].includes(kind) ? "gone" : "fate", 2, `${why}${sure ? "" : "; a guess"}`, sure ? [] : [number]);
    }
  }
  if (!target.apart?.length) return;
  const kernel = (row) => listing.lines[row].trim().replace(/^ROOT /, "").split(" = ")[0];
  add(`${NOT_FUSED}: ${target.apart.length} pair${target.apart.length === 1 ? "" : "s"} of kernels`, [], "head", 0, "the second reads what the first has written", []);
  for (const { first, second, why } of target.apart) {
    add(`  ${kernel(first)} → ${kernel(second)}`, [...new Set([first, second].flatMap((row) => listing.equations[row]))], "apart", 2, why, []);
  }
}
