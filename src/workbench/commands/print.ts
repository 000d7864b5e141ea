import { randomBytes } from 'node:crypto';
import { styleText } from 'node:util';
import { TEXT_TONES, type TextTone } from '#workbench/authoring/explain/explanation-text.ts';

/** Characters that steer a terminal or hide in a line: control, format and separator characters, lone surrogates. */
const UNPRINTABLE = /[^\P{Cc}\n]|[\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu;

const STYLES = { pass: 'green', fail: 'red', faint: 'dim', strong: 'bold' } as const satisfies Record<
  TextTone,
  Parameters<typeof styleText>[0]
>;

/** The random end of each mark. It differs in each process, so that no text from outside can contain a mark. */
const NONCE = randomBytes(8).toString('hex');

/**
 * The marks at the beginning of a text that `print` colours. They begin with characters that Unicode reserves for use
 * inside a program.
 */
const MARKS: Readonly<Record<TextTone, string>> = {
  pass: `\uFDD0${NONCE}`,
  fail: `\uFDD1${NONCE}`,
  faint: `\uFDD2${NONCE}`,
  strong: `\uFDD3${NONCE}`,
};
const END = `\uFDD4${NONCE}`;

/** The reserved characters in texts from outside. */
const FOREIGN_MARK = new RegExp(`[\uFDD0-\uFDEF](?!${NONCE})`, 'g');

/** Marks a text, so that `print` colours it on a terminal. */
export function markTone(tone: TextTone, text: string): string {
  return `${MARKS[tone]}${text}${END}`;
}

/**
 * Prints a text on standard output. The terminal gets no escape sequences from the text itself, but only those that
 * colour what `markTone` marked.
 */
export function print(text: string): void {
  console.log(forTerminal(text, process.stdout));
}

/** Prints a text on standard error, like `print`. */
export function printError(text: string): void {
  console.error(forTerminal(text, process.stderr));
}

/**
 * Replaces characters that cannot be printed by escapes like \u001b. A JSON text keeps its meaning, and people see
 * which characters it contains.
 */
export function escapeControls(text: string): string {
  return text.replace(UNPRINTABLE, escapeCharacter);
}

function escapeCharacter(character: string): string {
  return Array.from(
    { length: character.length },
    (_, index) => `\\u${character.charCodeAt(index).toString(16).padStart(4, '0')}`,
  ).join('');
}

/** Replaces the same characters as `escapeControls`, and also line breaks, for a text that must stay on one line. */
export function escapeToLine(text: string): string {
  return escapeControls(text).replaceAll('\n', '\\n');
}

function forTerminal(text: string, stream: NodeJS.WriteStream): string {
  const escaped = escapeControls(text).replace(FOREIGN_MARK, escapeCharacter);
  return TEXT_TONES.reduce(
    (painted, tone) =>
      painted.replaceAll(new RegExp(`${MARKS[tone]}(.*?)${END}`, 'gs'), (_, marked: string) =>
        styleText(STYLES[tone], marked, { stream }),
      ),
    escaped,
  );
}

/** The alignment of a table. Columns that are not named here are aligned at the left. */
interface TableForm {
  /** The indexes of the columns that are aligned at the right: those of numbers. */
  readonly right?: readonly number[];
}

/**
 * Formats rows under headings in aligned columns, for people. No line ends in blanks, and no cell can look like a row
 * of its own.
 */
export function formatTable(
  headings: readonly string[],
  rows: readonly (readonly string[])[],
  { right = [] }: TableForm = {},
): string {
  const shown = [headings, ...rows.map((row) => row.map(escapeToLine))];
  const widths = headings.map((_, column) =>
    shown.reduce((widest, row) => Math.max(widest, row[column]?.length ?? 0), 0),
  );
  const line = (row: readonly string[]) => {
    const cells = row.map((cell, column) => {
      const width = widths[column] ?? 0;
      return right.includes(column) ? cell.padStart(width) : cell.padEnd(width);
    });
    return cells.join('  ').trimEnd();
  };
  return shown.map(line).join('\n');
}

/** Creates a progress bar on standard error, if that is a terminal. The bar's package is loaded only then. */
export async function createProgressBar() {
  if (!process.stderr.isTTY) return { show: () => {}, stop: () => {} };
  const { SingleBar } = await import('cli-progress');
  const bar = new SingleBar({
    stream: process.stderr,
    format: '{bar} {percentage} %, {eta_formatted} left',
    clearOnComplete: true,
    hideCursor: true,
  });
  bar.start(1, 0);
  return {
    show: (done: number, of: number) => {
      bar.setTotal(Math.max(of, done));
      bar.update(done);
    },
    stop: () => bar.stop(),
  };
}
