// `<citewell-chat>`: defined on load, and put on the page by the script tag that asks for it.

import { CitewellChat } from "./element.ts";
import { HOME } from "./home.ts";
import { mountFrom, ownScript } from "./options.ts";

/** For pages that show the book themselves: goes to the words that an address names. */
export { goToSentence } from "./highlight.ts";

const TAG = "citewell-chat";

if (!customElements.get(TAG)) {
  customElements.define(TAG, CitewellChat);
  const script = ownScript(HOME);
  if (script) mountFrom(script, TAG);
}
