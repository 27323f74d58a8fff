// The script that is written into the page itself.

import { begin } from "./begin.ts";

window.begun = begin();
