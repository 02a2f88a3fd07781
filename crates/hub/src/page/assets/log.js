// The live log: what hub and agents write, newest at the end, with filters. Text
// is set as text; a log line can hold anything.
const KEPT = 500;
const ranks = { error: 1, warn: 2, info: 3, debug: 4, trace: 5 };

const section = document.querySelector("[data-log]");
const lines = section?.querySelector(".lines");
const filters = section?.querySelector("form");
const none = section?.querySelector(".nolog");

const wanted = (row) => {
  const { role, level, text } = Object.fromEntries(new FormData(filters));
  if (role && row.dataset.role !== role) return false;
  if (level && (ranks[row.dataset.level] ?? 3) > ranks[level]) return false;
  return !text || row.textContent.toLowerCase().includes(text.toLowerCase());
};

const part = (name, text) => {
  const span = document.createElement("span");
  span.className = name;
  span.textContent = text;
  return span;
};

// Everything beside the well-known fields, as `name=value`.
const rest = (line) =>
  Object.entries({ thread: line.thread, turn: line.turn, tool: line.tool, ...line.fields })
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${name}=${typeof value === "string" ? value : JSON.stringify(value)}`)
    .join(" ");

const show = (line) => {
  const row = document.createElement("p");
  const level = String(line.level ?? "info").toLowerCase();
  row.dataset.level = level;
  row.dataset.role = line.process ?? line.role ?? "hub";
  const time = new Date(line.at_ms ?? Date.now());
  row.append(
    part("time", time.toLocaleTimeString([], { hour12: false })),
    part("level", level),
    part("role", row.dataset.role),
    part("text", line.message ?? ""),
    part("fields", rest(line)),
  );
  row.hidden = !wanted(row);
  const follow = lines.scrollTop + lines.clientHeight >= lines.scrollHeight - 40;
  lines.append(row);
  while (lines.children.length > KEPT) lines.firstChild.remove();
  if (follow) lines.scrollTop = lines.scrollHeight;
  none.hidden = true;
};

const heard = (event) => {
  try {
    show(JSON.parse(event.data));
  } catch {
    show({ message: event.data });
  }
};

export const startLog = () => {
  if (!section) return;
  const source = new EventSource(section.dataset.log);
  source.addEventListener("line", heard);
  filters.addEventListener("input", () => {
    for (const row of lines.children) row.hidden = !wanted(row);
  });
  filters.addEventListener("submit", (event) => event.preventDefault());
};
