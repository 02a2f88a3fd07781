// Times in the reader's own clock, and timers that tick.
const sameDay = (a, b) => a.toDateString() === b.toDateString();

const spell = (date) => {
  const clock = date.toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" });
  if (sameDay(date, new Date())) return clock;
  return `${date.toLocaleDateString([], { month: "short", day: "numeric" })}, ${clock}`;
};

export const localTimes = (within) => {
  for (const time of within.querySelectorAll("time[datetime]:not([title])")) {
    const date = new Date(time.dateTime);
    if (Number.isNaN(date.getTime())) continue;
    time.textContent = spell(date);
    time.title = date.toLocaleString();
  }
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
};
