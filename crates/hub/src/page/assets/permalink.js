// A link to a step opens the folds that it is in.
const reveal = () => {
  const step = window.location.hash && document.getElementById(decodeURIComponent(window.location.hash.slice(1)));
  if (!step) return;
  for (let fold = step.closest("details"); fold; fold = fold.parentElement?.closest("details")) fold.open = true;
  step.scrollIntoView({ block: "center" });
};

export const startPermalink = () => {
  window.addEventListener("hashchange", reveal);
  reveal();
};
