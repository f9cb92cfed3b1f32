// What screen readers are told, once for each message.

import type { Turn } from "./conversation.ts";
import { tagMarks } from "./markdown/marks.ts";
import { plainText } from "./markdown/plain.ts";
import { factsOf } from "./sources.ts";
import type { Words } from "./strings.ts";
import { endingOf } from "./views/refusal.ts";
import { detailOf } from "./views/trouble.ts";

/** Says how a turn ended. */
export function announcementOf(turn: Turn, words: Words): string {
  if (turn.trouble) return [words[turn.trouble.kind], ...detailOf(turn.trouble, words)].join(". ");
  if (turn.status === "stopped") return turn.text ? words.stopped : words.stoppedEarly;
  if (turn.refused) return endingOf(turn, words) || turn.text;
  const said = plainText(tagMarks(turn.text, turn.claims));
  return [`${words.answer}: ${said}`, turn.doubtful ? words.doubt : factsOf(turn, words)].join(" ").trim();
}
