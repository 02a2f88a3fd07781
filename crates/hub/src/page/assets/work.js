// Live work: listened to only while its fold is open and the page is seen, for the
// agents send nothing otherwise.
import { swap } from "./swap.js";

const fold = document.querySelector("[data-work]");
let source;

const show = (event) => {
  const ends = [...fold.querySelectorAll(".tail")];
  const read = ends.map((end) => end.scrollTop + end.clientHeight < end.scrollHeight - 30);
  const places = ends.map((end) => end.scrollTop);
  swap(event.data);
  // The end is followed, unless the reader has scrolled away from it.
  fold.querySelectorAll(".tail").forEach((end, at) => {
    end.scrollTop = read[at] ? places[at] : end.scrollHeight;
  });
};

const follow = () => {
  const wanted = fold.open && document.visibilityState === "visible";
  if (wanted === Boolean(source)) return;
  source?.close();
  source = undefined;
  if (!wanted) return;
  source = new EventSource(fold.dataset.work);
  source.addEventListener("work", show);
};

export const startWork = () => {
  if (!fold) return;
  fold.addEventListener("toggle", follow);
  document.addEventListener("visibilitychange", follow);
};
