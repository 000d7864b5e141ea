import { styleText } from 'node:util';
import { TONES, type Tone } from '../authoring/explain/explanation-text.ts';

/** What steers a terminal or hides in a line: control, format and separator characters, lone surrogates. */
const UNPRINTABLE = /[^\P{Cc}\n]|[\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu;

const STYLES = { pass: 'green', fail: 'red', faint: 'dim', strong: 'bold' } as const satisfies Record<
  Tone,
  Parameters<typeof styleText>[0]
>;

/** Characters that stand for no text, so that `print` can tell our colours from what a payer sent. */
const MARKS = { pass: '\uFDD0', fail: '\uFDD1', faint: '\uFDD2', strong: '\uFDD3' } as const satisfies Record<
  Tone,
  string
>;
const END = '\uFDD4';

/** Marks a text for `print`, which colours it where a person looks at a terminal. */
export function terminalPaint(tone: Tone, text: string): string {
  return `${MARKS[tone]}${text}${END}`;
}

/** Prints a text on standard output. Whatever is in it, the terminal gets no escape sequence but our colours. */
export function print(text: string): void {
  console.log(forTerminal(text, process.stdout));
}

/** The same on standard error. */
export function printError(text: string): void {
  console.error(forTerminal(text, process.stderr));
}

/** What cannot be printed becomes its escape, like \u001b: in JSON the same text, and to people a sign. */
export function printable(text: string): string {
  return text.replace(UNPRINTABLE, (character) =>
    Array.from(
      { length: character.length },
      (_, index) => `\\u${character.charCodeAt(index).toString(16).padStart(4, '0')}`,
    ).join(''),
  );
}

/** The same for what must not break a line in two. */
export function printableLine(text: string): string {
  return printable(text).replaceAll('\n', '\\n');
}

function forTerminal(text: string, stream: NodeJS.WriteStream): string {
  return TONES.reduce(
    (painted, tone) =>
      painted.replaceAll(new RegExp(`${MARKS[tone]}([^${END}]*)${END}`, 'g'), (_, marked: string) =>
        styleText(STYLES[tone], marked, { stream }),
      ),
    printable(text),
  ).replace(/[\uFDD0-\uFDD4]/g, '');
}
