// Times as the reader would say them, exact ones on hover, and timers that tick.
const two = (number) => String(number).padStart(2, "0");
const day = (date) => `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
const clock = (date) => `${two(date.getHours())}:${two(date.getMinutes())}`;

// One format everywhere; what is older than a day has its date.
const spell = (date, exact) => {
  const minutes = Math.floor((Date.now() - date) / 60_000);
  if (exact) return minutes < 24 * 60 ? clock(date) : `${day(date)} ${clock(date)}`;
  if (minutes < 1) return "just now";
  if (minutes < 60) return `${minutes} min ago`;
  if (minutes < 24 * 60) return `${Math.floor(minutes / 60)} h ago`;
  return `${day(date)} ${clock(date)}`;
};

// Where times stand one below the other, the clock says more than the distance.
const write = (time) => {
  const date = new Date(time.dateTime);
  if (Number.isNaN(date.getTime())) return;
  time.textContent = spell(date, time.closest(".timeline, .audit"));
  time.title = `${day(date)} ${clock(date)}:${two(date.getSeconds())}`;
};

export const localTimes = (within) => {
  for (const time of within.querySelectorAll("time[datetime]:not([title])")) write(time);
};

const tick = () => {
  for (const timer of document.querySelectorAll("[data-elapsed]")) {
    timer.began ??= performance.now() - Number(timer.dataset.elapsed) * 1000;
    const seconds = Math.floor((performance.now() - timer.began) / 1000);
    timer.textContent = `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
  }
};

export const startClock = () => {
  localTimes(document);
  setInterval(tick, 1000);
  setInterval(() => document.querySelectorAll("time[datetime]").forEach(write), 60_000);
};
