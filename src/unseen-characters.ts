/** Characters that a log, a terminal or a page shows as something else, or not at all. */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu;

export function hasUnseenCharacters(text: string): boolean {
  return text.search(UNSEEN) !== -1;
}

/** The text with the characters that nobody sees written as `\u0000`. */
export function spellOutUnseen(text: string): string {
  return text.replaceAll(UNSEEN, (one) => {
    const units = Array.from({ length: one.length }, (_, index) => one.charCodeAt(index));
    return units.map((unit) => `\\u${unit.toString(16).padStart(4, '0')}`).join('');
  });
}
