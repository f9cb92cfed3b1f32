// Answers that try to do harm, as data: the browser suite shows the same ones.

import corpus from "./hostile.json";

interface Hostile {
  name: string;
  answer?: string;
  repeat?: [piece: string, times: number];
}

export const HOSTILE = (corpus as Hostile[]).map(({ name, answer, repeat }) => ({
  name,
  answer: answer ?? (repeat ? repeat[0].repeat(repeat[1]) : ""),
}));
