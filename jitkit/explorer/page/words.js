// Lists, reasons, and differences of two jaxprs, in words: from data to text, without the page.
export const MOST_REASONS = 3;

export const few = (items, most = 4, between = ", ") => items.slice(0, most).join(between) + (items.length > most ? `${between}and ${items.length - most} more` : "");
export const count = (number, word) => `${number} ${word}${number === 1 ? "" : "s"}`;

// Why a call missed, in a few words: what was different, and what to do about the first of it, which stands below it, deeper. In
// JAX's sentences each difference is an item of a list; what stands above and below the list says nothing of this call.
export function whyOf({ sentences: [first = "", ...rest] }) {
  const lines = rest.filter((line) => line.trim() && !line.startsWith("Closest"));
  const items = lines.filter((line) => line.trim().startsWith("* ")).map(readable);
  const ended = (text) => text.trim().replace(/[.:]$/, "");
  const advised = lines.find((line, place) => place > 0 && line.startsWith("    "));
  const advice = advised ? `. ${ended(advised)}` : "";
  if (items.length) return few(items, MOST_REASONS, "; ") + advice;
  const [reason] = lines;
  if (!reason) return ended(first);
  const depth = (line) => line.search(/\S/);
  const reasons = lines.filter((line) => depth(line) === depth(reason)).map(ended);
  return few(reasons, MOST_REASONS, "; ") + advice;
}

// An item of JAX's list, with a static value instead of the class that JAX wraps it in.
function readable(item) {
  const text = item.trim().slice(2);
  const found = text.match(/^at input path (\S+), now .*?Static\(val=(.*)\) and before .*?Static\(val=(.*)\), so /);
  return found ? `at input path ${found[1]}, now ${found[2]} and before ${found[3]}` : text;
}

// What became different, in a few words: how many equations of each operation are new or gone, and how many lines have other
// types or numbers. An equation that only moved is neither new nor gone, so operations are counted, wherever they stand.
export function changes(was, now) {
  const operations = (lines) => lines.flatMap((line) => [...line.matchAll(/ = ([\w-]+)/g)].map(([, name]) => name));
  const counts = (lines) => operations(lines).reduce((all, name) => all.set(name, (all.get(name) || 0) + 1), new Map());
  const beyond = (all, others) => [...all].map(([name, times]) => [name, times - (others.get(name) || 0)]).filter(([, times]) => times > 0);
  const [before, after] = [counts(was), counts(now)];
  const others = align(was, now, shape).filter(([, one, two]) => one !== null && two !== null && begins(one) === begins(two) && nameless(one) !== nameless(two)).length;
  const said = (words, what) => {
    if (!words.length) return "";
    const more = words.slice(4).reduce((sum, [, times]) => sum + times, 0);
    const listed = words.slice(0, 4).map(([name, times]) => (times > 1 ? `${times} ${name}` : name));
    if (more) listed.push(`${more} more`);
    const verb = words.length === 1 && words[0][1] === 1 ? "is" : "are";
    return `${listed.length > 1 ? `${listed.slice(0, -1).join(", ")} and ${listed.at(-1)}` : listed[0]} ${verb} ${what}`;
  };
  return [
    said(beyond(after, before), "new"), said(beyond(before, after), "gone"),
    others && `${others} of ${now.length} lines ${others === 1 ? "has" : "have"} other types or numbers`,
  ].filter(Boolean).join(", ") || (was.join("\n") === now.join("\n") ? "no line differs" : "the operations are the same, in another order or of other values");
}

// What a line does: the operation of an equation, else its first word.
const begins = (line) => line.match(/ = ([\w-]+)/)?.[1] ?? line.trim().split(/\s/)[0];

// Variables are named in order, so one equation more renames all that follow: names do not make a difference. Lines are paired
// by what they do, whatever the types are.
export const VARIABLE = /^(?:[a-z]{1,3}|_)$/;
export const nameless = (line) => line.replace(/(?<![\w=.])(?:[a-z]{1,3}|_)(?=[:\s,)]|$)/g, (word) => (["let", "in"].includes(word) ? word : "·")).trimEnd();
export const shape = (line) => nameless(line).replace(/[a-z]+\d*\[[^\]]*\]|-?\d[\d.e+-]*/g, "#");

// Longest common subsequence by a key, of what is left between the equal beginnings and ends: [same, was, now] by step.
export function align(was, now, key = (item) => item) {
  const a = was.map(key);
  const b = now.map(key);
  let start = 0;
  while (start < a.length && start < b.length && a[start] === b[start]) start++;
  let enda = a.length;
  let endb = b.length;
  while (enda > start && endb > start && a[enda - 1] === b[endb - 1]) { enda--; endb--; }
  const x = a.slice(start, enda);
  const y = b.slice(start, endb);
  const steps = was.slice(0, start).map((line, i) => [true, line, now[i]]);
  if (x.length * y.length <= 4e6) {
    const width = y.length + 1;
    const table = new Uint16Array((x.length + 1) * width);
    for (let i = x.length - 1; i >= 0; i--) {
      for (let j = y.length - 1; j >= 0; j--) {
        table[i * width + j] = x[i] === y[j] ? table[(i + 1) * width + j + 1] + 1 : Math.max(table[(i + 1) * width + j], table[i * width + j + 1]);
      }
    }
    let i = 0;
    let j = 0;
    let out = [];
    let into = [];
    const flush = () => {
      for (let k = 0; k < Math.max(out.length, into.length); k++) steps.push([false, out[k] ?? null, into[k] ?? null]);
      out = [];
      into = [];
    };
    while (i < x.length || j < y.length) {
      if (i < x.length && j < y.length && x[i] === y[j]) { flush(); steps.push([true, was[start + i++], now[start + j++]]); }
      else if (j >= y.length || (i < x.length && table[(i + 1) * width + j] >= table[i * width + j + 1])) out.push(was[start + i++]);
      else into.push(now[start + j++]);
    }
    flush();
  } else {
    for (let k = 0; k < Math.max(x.length, y.length); k++) steps.push([x[k] === y[k], k < x.length ? was[start + k] : null, k < y.length ? now[start + k] : null]);
  }
  return steps.concat(was.slice(enda).map((line, i) => [true, line, now[endb + i]]));
}
