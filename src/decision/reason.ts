import type { FactValue } from '../facts/fact.ts';
import type { AnswerPlaceholder } from '../rules/rule-set.ts';

/** A piece of a reason text as it is rendered; of a fact only its place among the values is needed. */
export type RenderedPart =
  | { readonly kind: 'words'; readonly words: string }
  | { readonly kind: 'fact'; readonly fact: { readonly index: number } }
  | { readonly kind: 'answer'; readonly name: AnswerPlaceholder };

/** The text of a reason, its placeholders replaced by what the rules saw and what the answer says. */
export function renderReason(
  parts: readonly RenderedPart[],
  values: readonly FactValue[],
  answer: Readonly<Record<AnswerPlaceholder, number>>,
): string {
  return parts.map((part) => renderPart(part, values, answer)).join('');
}

function renderPart(
  part: RenderedPart,
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
