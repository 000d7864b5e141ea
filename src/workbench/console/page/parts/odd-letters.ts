/**
 * A part of a name as it is shown. `mark` is the visible sign for the part. It is null if the text is clear
 * without a sign.
 */
interface NamePart {
  readonly text: string;
  readonly mark: string | null;
}

/**
 * Control characters, format characters such as marks of direction, lone surrogates, and blanks other than
 * the space.
 */
const INVISIBLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]|(?! )\p{Zs}/u;

/** Letters that look like those of the Latin alphabet, and accents that stand apart from their letter. */
const LOOKALIKE = /[\p{Script=Cyrillic}\p{Script=Greek}\p{M}]/u;

const LATIN = /\p{Script=Latin}/u;

/**
 * Splits a name into parts that are clear as they are, and parts that need a mark: invisible characters, a
 * blank at an end or beside another one, and, in a name with Latin letters, a letter of another alphabet that
 * looks like a Latin one.
 */
export function splitAtOddLetters(name: string): readonly NamePart[] {
  const letters = [...name];
  const isLatin = LATIN.test(name);
  const parts: NamePart[] = [];
  for (const [place, letter] of letters.entries()) {
    const mark = chooseMark(letters, place, isLatin);
    const last = parts.at(-1);
    if (mark === null && last?.mark === null) parts[parts.length - 1] = { text: last.text + letter, mark };
    else parts.push({ text: letter, mark });
  }
  return parts;
}

function chooseMark(letters: readonly string[], place: number, isLatin: boolean) {
  const letter = letters[place] ?? '';
  if (letter === ' ') {
    const [before = ' ', after = ' '] = [letters[place - 1], letters[place + 1]];
    return before === ' ' || after === ' ' ? '␣' : null;
  }
  if (INVISIBLE.test(letter)) return formatCode(letter);
  return isLatin && LOOKALIKE.test(letter) ? `${letter} ${formatCode(letter)}` : null;
}

/** Formats the code of a letter like `U+202E`. */
function formatCode(letter: string) {
  return `U+${(letter.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`;
}
