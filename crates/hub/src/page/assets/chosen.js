// The files that will be sent with a message, each with a button that takes it back.
import { say } from "./forms.js";

const form = document.querySelector(".composer");
const list = form?.querySelector(".chosen");
let files = [];

const size = (bytes) => (bytes < 1048576 ? `${Math.ceil(bytes / 1024)} KB` : `${(bytes / 1048576).toFixed(1)} MB`);

const chip = (file, index) => {
  const item = document.createElement("li");
  const room = document.createElement("small");
  room.textContent = size(file.size);
  item.append(file.name || "picture", " ", room);
  const drop = document.createElement("button");
  drop.type = "button";
  drop.textContent = "✕";
  drop.setAttribute("aria-label", `Do not send ${file.name}`);
  drop.addEventListener("click", () => choose(files.filter((_, at) => at !== index)));
  item.append(" ", drop);
  return item;
};

export const choose = (all) => {
  files = all;
  list.replaceChildren(...files.map(chip));
  list.hidden = files.length === 0;
};

export const chosen = () => files;

// What the hub would refuse is not sent first.
export const add = (more) => {
  const all = [...files, ...more];
  const bytes = all.reduce((sum, file) => sum + file.size, 0);
  const most = Number(form.dataset.most);
  if (bytes > most) say(`That is ${size(bytes)}: a message brings ${size(most)} at most.`);
  else choose(all);
};
