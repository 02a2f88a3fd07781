// Swaps in what changed. Everything works without this file; it only spares the
// reader the reload.
const live = document.getElementById("live");
const text = document.getElementById("text");

if (live && window.EventSource) {
  let pending = false;
  let again = false;

  const atEnd = () =>
    window.innerHeight + window.scrollY >= document.documentElement.scrollHeight - 80;

  const refresh = async () => {
    if (pending) {
      again = true;
      return;
    }
    pending = true;
    const follow = atEnd();
    try {
      const answer = await fetch(live.dataset.live, { credentials: "same-origin" });
      if (answer.redirected) {
        window.location.reload();
        return;
      }
      if (answer.ok) {
        live.innerHTML = await answer.text();
        if (follow) window.scrollTo(0, document.documentElement.scrollHeight);
      }
    } catch {
      document.body.dataset.state = "offline";
    } finally {
      pending = false;
      if (again) {
        again = false;
        refresh();
      }
    }
  };

  const concerns = (data) =>
    data.channel === live.dataset.channel &&
    (!live.dataset.root || data.root === live.dataset.root);

  const source = new EventSource("/v1/events");
  const heard = (event) => {
    if (concerns(JSON.parse(event.data))) refresh();
  };
  source.addEventListener("event", heard);
  source.addEventListener("page", heard);
  source.addEventListener("reload", refresh);
  source.addEventListener("open", () => {
    const wasAway = document.body.dataset.state === "offline";
    delete document.body.dataset.state;
    if (wasAway) refresh();
  });
  source.addEventListener("error", () => {
    document.body.dataset.state = "offline";
  });
  window.scrollTo(0, document.documentElement.scrollHeight);
}

if (text) {
  // Enter sends, Shift+Enter makes a new line.
  text.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
      event.preventDefault();
      if (text.value.trim()) text.form.requestSubmit();
    }
  });
  text.focus();
}
