// What scrolls sideways can be reached by the keyboard.
document.addEventListener("DOMContentLoaded", () => {
  for (const part of document.querySelectorAll(".highlight pre, .table-wrapper, .sidebar-scroll, .toc-scroll")) part.tabIndex = 0;
});
