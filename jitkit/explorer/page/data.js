// The model, and the indices through which everything is found: from an equation to the rows of each listing.
const stored = document.getElementById("model");
export const model = JSON.parse(stored.dataset.packed ? await unpacked(stored) : stored.textContent);

// Of a large program they are deflated, in base64.
async function unpacked({ textContent, dataset }) {
  const bytes = Uint8Array.from(atob(textContent), (character) => character.charCodeAt(0));
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream(dataset.packed))).text();
}

const PLAIN = { language: "", lines: [], equations: [], guesses: {}, notes: {} };

// A listing with what the page adds: the end of what each row folds, the line of Python at its side, the rows by equation.
export function prepare(listing, extra = {}) {
  const found = { ...PLAIN, ...listing, kinds: {}, ...extra };
  found.indents = found.lines.map((line) => line.length - line.trimStart().length);
  return found;
}

export function finish(listing) {
  const { lines, indents } = listing;
  listing.ends = new Int32Array(lines.length); // the row after the last one that a row folds; its own + 1 if none
  const open = [];
  let last = -1; // the last row with words in it
  for (let row = 0; row <= lines.length; row++) {
    const blank = row < lines.length && lines[row].trim() === "";
    const indent = row < lines.length ? indents[row] : -1;
    const closes = row < lines.length && /^[})\]]/.test(lines[row].trimStart());
    if (blank) continue;
    while (open.length && (indents[open.at(-1)] > indent || (indents[open.at(-1)] === indent && !closes))) {
      const top = open.pop();
      listing.ends[top] = Math.max(last + 1, top + 1);
    }
    last = row;
    if (row < lines.length && !(closes && open.length && indents[open.at(-1)] === indent)) open.push(row);
  }
  for (let row = 0; row < lines.length; row++) if (!listing.ends[row]) listing.ends[row] = row + 1;
  listing.boxes = new Int32Array(lines.length); // the outermost fusion that a row is in, or the row itself
  for (let row = 0; row < lines.length; row++) {
    const end = listing.notes[row]?.startsWith("fusion of") ? listing.ends[row] : row + 1;
    listing.boxes.fill(row, row, end);
    row = end - 1;
  }
  listing.rows = new Map(); // equation -> rows, surely; and by a guess
  listing.guessRows = new Map();
  listing.equations.forEach((numbers, row) => numbers.forEach((number) => push(listing.rows, number, row)));
  for (const [row, numbers] of Object.entries(listing.guesses)) {
    numbers.forEach((number) => push(listing.guessRows, number, Number(row)));
  }
  listing.width = lines.reduce((most, line, row) => Math.max(most, line.length + (listing.notes[row] || "").length), 0);
  return listing;
}

function push(map, key, value) {
  const known = map.get(key);
  if (known) known.push(value);
  else map.set(key, [value]);
}

// Equations inside of an equation, at any depth: what happens to them happens to it.
export const inside = new Map();
model.equations.forEach((equation, number) => {
  for (let at = equation.parent; at !== null; at = model.equations[at].parent) push(inside, at, number);
});

export function withInside(numbers) {
  const all = new Set(numbers);
  for (const number of numbers) for (const each of inside.get(number) || []) all.add(each);
  return all;
}

// A hue for each line of Python that was traced, so that neighbours differ.
const hues = new Map();
export function hue(number) {
  const { file, line } = model.equations[number];
  const key = `${file}:${line}`;
  if (!hues.has(key)) hues.set(key, Math.round((hues.size * 137.508 + 205) % 360));
  return line === null ? null : hues.get(key);
}
model.equations.forEach((_, number) => hue(number));

export const shortFile = (file) => (file || "").split(/[\\/]/).pop();

export function targetNamed(name) {
  return model.targets.find((target) => target.name === name);
}

// "forward", "backward" or "both" for equations of a gradient; null for others.
export function wayOf(numbers) {
  const ways = new Set(numbers.map((number) => model.equations[number].way).filter(Boolean));
  return ways.size > 1 ? "both" : [...ways][0] ?? null;
}
document.documentElement.classList.toggle("has-ways", model.equations.some(({ way }) => way));
