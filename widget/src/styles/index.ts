import { answer } from "./answer.ts";
import { base } from "./base.ts";
import { panel } from "./panel.ts";
import { states } from "./states.ts";

export const styles = [base, panel, answer, states];
