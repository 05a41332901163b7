// What scrolls sideways can be reached by the keyboard.
document.addEventListener("DOMContentLoaded", () => {
  for (const part of document.querySelectorAll(".highlight pre, .table-wrapper, .sidebar-scroll, .toc-scroll")) part.tabIndex = 0;
});

// Below each result of a search: the sections in which the words stand, and what stands around them.
document.addEventListener("DOMContentLoaded", () => {
  const results = document.getElementById("search-results");
  const asked = (new URLSearchParams(location.search).get("q") ?? "").toLowerCase();
  const words = asked.split(/[^\p{L}\p{N}_.]+/u).filter((word) => word.length > 1);
  if (!results || !words.length) return;
  const root = document.documentElement.dataset.content_root ?? "./";

  const withMarks = (text) => {
    const shown = document.createElement("span");
    const low = text.toLowerCase();
    let at = 0;
    while (at < text.length) {
      const hits = words.map((word) => [low.indexOf(word, at), word.length]).filter(([where]) => where >= 0);
      const [where, length] = hits.sort((one, other) => one[0] - other[0])[0] ?? [text.length, 0];
      shown.append(text.slice(at, where));
      if (length) shown.append(Object.assign(document.createElement("mark"), { textContent: text.slice(where, where + length) }));
      at = where + length;
    }
    return shown;
  };

  const around = (text) => {
    const low = text.toLowerCase();
    const first = Math.min(...words.map((word) => low.indexOf(word)).filter((where) => where >= 0));
    const [from, to] = [Math.max(0, first - 70), Math.min(text.length, first + 130)];
    return `${from ? "…" : ""}${text.slice(from, to)}${to < text.length ? "…" : ""}`;
  };

  const addContext = (result) => {
    const link = result.querySelector("a");
    if (!link || result.querySelector(".context")) return;
    const page = new URL(link.href).pathname.split(new URL(root, location.href).pathname).slice(1).join("").replace(/\.html$/, "");
    const count = ([, title, text]) => words.filter((word) => `${title} ${text}`.toLowerCase().includes(word)).length;
    const found = (window.siteTexts[page] ?? []).filter(count).sort((one, other) => count(other) - count(one)).slice(0, 3);
    const list = document.createElement("ul");
    list.className = "context";
    for (const [anchor, title, text] of found) {
      const item = document.createElement("li");
      const section = document.createElement("a");
      section.href = `${link.href.split(/[?#]/)[0]}#${anchor}`;
      section.append(withMarks(title));
      item.append(section);
      if (words.some((word) => text.toLowerCase().includes(word))) item.append(": ", withMarks(around(text)));
      list.append(item);
    }
    if (found.length) result.append(list);
  };

  const script = document.createElement("script");
  script.src = `${root}_static/search_context.js`;
  script.addEventListener("load", () => {
    const addAll = () => results.querySelectorAll("ul.search > li").forEach(addContext);
    new MutationObserver(addAll).observe(results, { childList: true, subtree: true });
    addAll();
  });
  document.head.append(script);
});
