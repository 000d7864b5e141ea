import { styleText } from 'node:util';
import type { Tone } from '../analysis/explain/trace-text.ts';

const STYLES = { pass: 'green', fail: 'red', faint: 'dim', strong: 'bold' } as const satisfies Record<
  Tone,
  Parameters<typeof styleText>[0]
>;

/** Colour where a person looks at a terminal; `styleText` leaves pipes and NO_COLOR alone. */
export function terminalPaint(tone: Tone, text: string): string {
  return styleText(STYLES[tone], text, { stream: process.stdout });
}
