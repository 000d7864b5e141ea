/**
 * Control characters, format characters, lone surrogates, and blanks other than the space. People cannot see them,
 * but they make texts unequal.
 */
const INVISIBLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]|(?! )\p{Zs}/u;
const EACH_INVISIBLE = new RegExp(INVISIBLE, 'gu');

const NAMES = new Map([
  ['\t', 'a tab'],
  ['\n', 'a line break'],
  ['\r', 'a carriage return'],
  ['\u00A0', 'a no-break space'],
  ['\u00AD', 'a soft hyphen'],
  ['\u200B', 'a zero-width space'],
  ['\u200C', 'a zero-width non-joiner'],
  ['\u200D', 'a zero-width joiner'],
  ['\u200E', 'a left-to-right mark'],
  ['\u200F', 'a right-to-left mark'],
  ['\u202D', 'a left-to-right override'],
  ['\u202E', 'a right-to-left override'],
  ['\u202F', 'a narrow no-break space'],
  ['\u2060', 'a word joiner'],
  ['\uFEFF', 'a byte order mark'],
]);

/**
 * Finds the first invisible character of a text: its position, counted from 1, and its name. Returns null if there is
 * none.
 */
export function findInvisibleCharacter(
  text: string,
): { readonly place: number; readonly name: string } | null {
  const characters = [...text];
  const place = characters.findIndex((character) => INVISIBLE.test(character));
  if (place === -1) return null;
  const character = characters[place] ?? '';
  const code = `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`;
  const name = NAMES.get(character);
  return { place: place + 1, name: name === undefined ? code : `${name} (${code})` };
}

/** Replaces invisible characters by escapes like `\u0000`. */
export function escapeInvisibleCharacters(text: string): string {
  return text.replaceAll(EACH_INVISIBLE, (one) => {
    const units = Array.from({ length: one.length }, (_, index) => one.charCodeAt(index));
    return units.map((unit) => `\\u${unit.toString(16).padStart(4, '0')}`).join('');
  });
}
