// The colours of the site around the chat: light or dark, and an accent that can be read.

export type Scheme = "light" | "dark";
export type Rgb = readonly [red: number, green: number, blue: number];

/** What text needs against its ground, by WCAG AA. */
const READABLE = 4.5;
const SETTLED = 400;
/** By which attributes sites switch their colours. */
const SWITCHES = [
  "class",
  "style",
  "data-theme",
  "data-color-mode",
  "data-bs-theme",
  "data-md-color-scheme",
  "data-mode",
];

/** Tells whether the page is light or dark: by its own word, or else by its background. */
export function schemeOf(page: Document): Scheme {
  const root = page.documentElement;
  const said = root.dataset["theme"] ?? root.dataset["colorMode"] ?? "";
  if (said === "dark" || said === "light") return said;
  for (const element of [page.body, root]) {
    const ground = parseColour(getComputedStyle(element).backgroundColor);
    if (ground) return luminance(ground) < 0.4 ? "dark" : "light";
  }
  const both = getComputedStyle(root).colorScheme.includes("dark");
  return both && matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
}

/** Calls back when the page may have changed its colours; gives what ends that. */
export function watchScheme(changed: () => void): () => void {
  let timer = 0;
  const look = () => {
    changed();
    // Pages fade from one ground to the other.
    clearTimeout(timer);
    timer = window.setTimeout(changed, SETTLED);
  };
  const observer = new MutationObserver(look);
  for (const element of [document.documentElement, document.body]) {
    observer.observe(element, { attributeFilter: SWITCHES });
  }
  const dark = matchMedia("(prefers-color-scheme: dark)");
  dark.addEventListener("change", look);
  return () => {
    observer.disconnect();
    dark.removeEventListener("change", look);
    clearTimeout(timer);
  };
}

/** Reads what a browser gives for a colour; `null` for one that is not opaque or not understood. */
export function parseColour(text: string): Rgb | null {
  const found = /^(rgba?|color)\(\s*(srgb )?([\d.]+)[,\s]+([\d.]+)[,\s]+([\d.]+)(?:\s*[,/]\s*([\d.]+%?))?\s*\)$/.exec(
    text,
  );
  if (!found) return null;
  const [, kind, srgb, red, green, blue, alpha = "1"] = found;
  if (parseFloat(alpha) < 1 || (kind === "color" && !srgb)) return null;
  const scale = kind === "color" ? 255 : 1;
  return [Number(red) * scale, Number(green) * scale, Number(blue) * scale];
}

/** Gives the relative luminance of WCAG: 0 is black, 1 is white. */
export function luminance([red, green, blue]: Rgb): number {
  const linear = (part: number) => {
    const share = part / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  };
  return 0.2126 * linear(red) + 0.7152 * linear(green) + 0.0722 * linear(blue);
}

export function contrast(one: Rgb, other: Rgb): number {
  const [low = 0, high = 0] = [luminance(one), luminance(other)].toSorted((a, b) => a - b);
  return (high + 0.05) / (low + 0.05);
}

/** Gives a colour of the same hue that can be read on every one of the grounds. */
export function readableOn(colour: Rgb, grounds: readonly Rgb[]): Rgb {
  const dark = grounds.some((ground) => luminance(ground) < 0.2);
  const end: Rgb = dark ? [255, 255, 255] : [0, 0, 0];
  for (let share = 0; share < 1; share += 0.05) {
    const shade = mix(colour, end, share);
    if (grounds.every((ground) => contrast(shade, ground) >= READABLE)) return shade;
  }
  return end;
}

export function mix(one: Rgb, other: Rgb, share: number): Rgb {
  const at = (place: 0 | 1 | 2) => one[place] + (other[place] - one[place]) * share;
  return [at(0), at(1), at(2)];
}

/** Writes a colour for a style sheet. */
export function written(colour: Rgb): string {
  return `rgb(${colour.map(Math.round).join(" ")})`;
}

/** Gives black or white, whichever reads better on a colour. */
export function inkOn(colour: Rgb): Rgb {
  return contrast(colour, [255, 255, 255]) >= contrast(colour, [0, 0, 0]) ? [255, 255, 255] : [0, 0, 0];
}
