// Everything on this page works without script; these files only spare the
// reader reloads and add comfort.
import { startClock } from "./clock.js";
import { startComposer } from "./composer.js";
import { startForms } from "./forms.js";
import { startKeys } from "./keys.js";
import { startLive } from "./live.js";
import { startLog } from "./log.js";

startClock();
startForms();
startComposer();
startKeys();
startLive();
startLog();
document.documentElement.dataset.ready = "yes";
