/** The longest key that the interface allows (section 8), in code points. */
export const KEY_CHARACTERS_MAX = 256;

/** Whether databases and query engines keep a text as it is: in several of them a text ends at U+0000. */
export function hasNul(text: string): boolean {
  return text.includes('\0');
}
