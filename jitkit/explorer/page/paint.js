// A line of a program -> its words, each with what it is. Good enough for colours; nothing is decided by it.
const RULES = {
  jaxpr: [
    ["keyword", /\b(?:lambda|let|in)\b/],
    ["type", /:[a-z]+\d*\w*\[[^\]]*\]/],
    ["operation", /(?<== )[a-z_]\w*|^\s+[a-z_]\w*(?=\[)/],
    ["parameter", /\b\w+=(?!=)/],
    ["number", /-?\b\d+(?:\.\d+)?(?:e[+-]?\d+)?\b/],
    ["variable", /\b[a-z]{1,3}\b/],
  ],
  stablehlo: [
    ["text", /"(?:[^"\\]|\\.)*"/],
    ["type", /tensor<[^>]*>|!stablehlo\.token/],
    ["operation", /\b(?:stablehlo|chlo|func|sdy|mhlo)\.[\w.]+|\bcall\b|\breturn\b/],
    ["variable", /%[\w#]+/],
    ["keyword", /@[\w.$]+|\b(?:module|public|private|attributes|cond|do|init|across|applies|dims)\b/],
    ["parameter", /\b[a-z_]+ (?==)/],
    ["number", /-?\b\d+(?:\.\d+)?(?:e[+-]?\d+)?\b/],
  ],
  hlo: [
    ["keyword", /^\s*ROOT\b|\bENTRY\b/],
    ["type", /\b[a-z]+\d*\w*\[[\d,]*\](?:\{[^}]*\})?/],
    ["operation", /\b[a-z][\w-]*(?=\()/],
    ["parameter", /\b[a-z_]+=/],
    ["variable", /^\s*[\w.-]+(?= = )/],
    ["text", /"(?:[^"\\]|\\.)*"/],
  ],
  llvm: [
    ["comment", /;.*$/],
    ["text", /"(?:[^"\\]|\\.)*"/],
    ["variable", /[%@!][\w.$-]+/],
    ["type", /\b(?:i\d+|float|double|ptr|void|half|bfloat|<\d+ x \w+>)\b/],
    ["keyword", /\b(?:define|declare|attributes|br|ret|label|phi|select)\b/],
    ["operation", /(?<== )(?:tail )?\w+|\bstore\b/],
  ],
  c: [
    ["comment", /\/\/.*$|\/\*.*?\*\//],
    ["keyword", /^\s*#.*$|\b(?:LOOP|INLINE|static|inline|const|restrict|for|if|else|while|break|return|typedef|enum|void)\b/],
    ["type", /\b(?:[fiu]\d+|float|double|int|char|short|long|unsigned|signed|row)\b/],
    ["operation", /\b[a-z]\w*(?=\()/],
    ["number", /\b(?:0x[0-9a-fA-F.]+p[+-]?\d+f?|\d+(?:\.\d+)?(?:e[+-]?\d+)?f?)\b/],
  ],
  asm: [
    ["operation", /^\s+[a-z]\w*/],
    ["variable", /[%$][\w.-]+|\b[xwvsdq]\d+\b/],
    ["keyword", /^[\w.$]+:|\.L\w+/],
  ],
  ptx: [
    ["comment", /\/\/.*$/],
    ["operation", /^\s*(?:@!?%p\d+ )?[a-z]\w*(?:\.[\w:]+)*(?=\s)/],
    ["variable", /%[\w.]+|\$\w+/],
    ["keyword", /\.[a-z]\w*/],
    ["number", /\b(?:0[fFdDxX][0-9A-Fa-f]+|\d+)\b/],
  ],
  bundles: [
    ["comment", /\/\*.*?\*\/|\/\/.*$/],
    ["operation", /\bv?[a-z]+(?:\.[a-z0-9]+)+\b/],
    ["variable", /%[\w.]+/],
    ["number", /\b0x[0-9a-f]+\b|\b\d+\b/],
  ],
};
const compiled = new Map();

export function words(language, line) {
  const rules = RULES[language];
  if (!rules) return [["", line]];
  if (!compiled.has(language)) compiled.set(language, new RegExp(rules.map(([, rule]) => `(${rule.source})`).join("|"), "g"));
  const found = [];
  let end = 0;
  for (const match of line.matchAll(compiled.get(language))) {
    if (match.index > end) found.push(["", line.slice(end, match.index)]);
    if (match[0]) found.push([rules[match.slice(1).findIndex((group) => group !== undefined)][0], match[0]]);
    end = match.index + match[0].length;
  }
  if (end < line.length) found.push(["", line.slice(end)]);
  return found;
}

// Lengths are those of Python, which counts characters where JavaScript counts halves of some.
export function wordsOfColours(colours, line) {
  const characters = [...line];
  const found = [];
  let start = 0;
  for (const [length, kind] of colours) {
    found.push([kind, characters.slice(start, start + length).join("")]);
    start += length;
  }
  if (start < characters.length) found.push(["", characters.slice(start).join("")]);
  return found;
}

// What would turn the order of a line around, or not be seen, is written out: a line says what Python reads.
const UNSEEN = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060\u2066-\u2069\ufeff]/g;
const seen = (text) => text.replace(UNSEEN, (character) => `⟨U+${character.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0")}⟩`);

// The types of the variables of a jaxpr, as they stand where they are bound.
export function typesOf(lines) {
  const types = new Map();
  for (const line of lines) for (const [, name, type] of line.matchAll(/\b([a-z]{1,4}):([a-z]\w*\[[^\]]*\])/g)) types.set(name, type);
  return types;
}

export function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else made.setAttribute(name, value === true ? "" : value);
  }
  made.append(...children.filter((child) => child !== null && child !== undefined).map((child) => (typeof child === "string" ? seen(child) : child)));
  return made;
}
