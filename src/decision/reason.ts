import type { FactValue } from '../facts/fact.ts';
import type { AnswerPlaceholder, ReasonPart } from '../rules/rule-set.ts';

/** The text of a reason, its placeholders replaced by what the rules saw and what the answer says. */
export function renderReason(
  parts: readonly ReasonPart[],
  values: readonly FactValue[],
  answer: Readonly<Record<AnswerPlaceholder, number>>,
): string {
  return parts.map((part) => renderPart(part, values, answer)).join('');
}

function renderPart(
  part: ReasonPart,
  values: readonly FactValue[],
  answer: Readonly<Record<AnswerPlaceholder, number>>,
): string {
  switch (part.kind) {
    case 'words':
      return part.words;
    case 'fact':
      return String(values[part.fact.index]);
    case 'answer':
      return String(answer[part.name]);
    default:
      return part satisfies never;
  }
}
