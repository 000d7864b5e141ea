/** The longest key that the interface allows (section 8), in code points. */
export const KEY_CHARACTERS_MAX = 256;

/** Whether a text contains U+0000, at which several databases and query engines end a text. */
export function hasNulCharacter(text: string): boolean {
  return text.includes('\0');
}
