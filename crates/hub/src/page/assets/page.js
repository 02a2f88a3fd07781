// Everything on this page works without script; these files only spare the
// reader reloads and add comfort.
import { startClock } from "./clock.js";
import { startComposer } from "./composer.js";
import { startForms } from "./forms.js";
import { startKeys } from "./keys.js";
import { startLive } from "./live.js";
import { startLog } from "./log.js";
import { startNotify } from "./notify.js";
import { startPalette } from "./palette.js";
import { startPermalink } from "./permalink.js";
import { startWork } from "./work.js";
import { startZoom } from "./zoom.js";

// First, while the page still reads as the server wrote it.
startLive();
startClock();
startForms();
startComposer();
startKeys();
startLog();
startWork();
startPalette();
startPermalink();
startNotify();
startZoom();
document.documentElement.dataset.ready = "yes";
