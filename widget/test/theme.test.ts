import { afterEach, describe, expect, it } from "vitest";
import { contrast, inkOn, parseColour, readableOn, schemeOf, type Rgb } from "../src/theme.ts";

const WHITE: Rgb = [255, 255, 255];
const NIGHT: Rgb = [36, 37, 38];

describe("colours", () => {
  it.each([
    ["rgb(46, 133, 85)", [46, 133, 85]],
    ["rgba(46, 133, 85, 1)", [46, 133, 85]],
    ["color(srgb 1 0.5 0)", [255, 127.5, 0]],
    ["rgba(0, 0, 0, 0)", null],
    ["oklch(0.7 0.1 200)", null],
  ])("are read: %s", (text, colour) => {
    expect(parseColour(text)).toEqual(colour);
  });

  it("differ by the contrast of WCAG", () => {
    expect(contrast(WHITE, [0, 0, 0])).toBeCloseTo(21);
    expect(contrast([118, 118, 118], WHITE)).toBeCloseTo(4.54, 1);
  });

  it.each([
    [[37, 194, 160], WHITE],
    [[255, 235, 59], WHITE],
    [[46, 133, 85], NIGHT],
    [[0, 0, 80], NIGHT],
  ] as [Rgb, Rgb][])("of a site are made readable: %s on %s", (accent, ground) => {
    const shown = readableOn(accent, [ground]);

    expect(contrast(shown, ground)).toBeGreaterThanOrEqual(4.5);
    expect(contrast(inkOn(shown), shown)).toBeGreaterThanOrEqual(4.5);
  });

  it("that can be read are left alone", () => {
    expect(readableOn([20, 80, 180], [WHITE])).toEqual([20, 80, 180]);
  });
});

describe("light and dark", () => {
  afterEach(() => {
    document.documentElement.removeAttribute("data-theme");
    document.body.removeAttribute("style");
  });

  it("follow what the page says", () => {
    document.documentElement.dataset["theme"] = "dark";
    expect(schemeOf(document)).toBe("dark");
  });

  it("follow the page's background where it says nothing", () => {
    document.body.style.backgroundColor = "rgb(20, 20, 24)";
    expect(schemeOf(document)).toBe("dark");
    document.body.style.backgroundColor = "rgb(250, 250, 250)";
    expect(schemeOf(document)).toBe("light");
  });
});
