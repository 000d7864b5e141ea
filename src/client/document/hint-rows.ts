import type { Hint, HintKind, Hints } from '../hints.ts';

/**
 * The id is left out of a sign; the networks around an IP, joined by blanks, and the former id where there are none
 * (0 for networks before a former id).
 */
type HintRow = [
  kind: number,
  since: number,
  age: number,
  id?: string,
  networks?: string | 0,
  formerId?: string,
];
export type HintsRow = [
  scoredAge: number,
  shown: HintRow[],
  asked: [request: string, number: number, age: number][],
];

/** The place of a kind in this list is stored. */
const HINT_KINDS = [
  'fingerprint',
  'ip',
  'noScript',
  'trap',
  'userAgent',
  'automated',
] as const satisfies readonly HintKind[];

export function encodeHints({ scoredAt, shown, asked }: Hints, lastAt: number): HintsRow {
  return [
    lastAt - scoredAt,
    shown.map((hint) => encodeHint(hint, lastAt)),
    asked.map(({ request, number, at }) => [request, number, lastAt - at]),
  ];
}

function encodeHint(hint: Hint, lastAt: number): HintRow {
  const row: HintRow = [HINT_KINDS.indexOf(hint.kind), hint.since, lastAt - hint.lastAt];
  if (hint.kind === 'fingerprint' || hint.kind === 'ip') row.push(hint.id);
  if (hint.networks !== undefined) row.push(hint.networks.join(' '));
  else if (hint.formerId !== undefined) row.push(0);
  if (hint.formerId !== undefined) row.push(hint.formerId);
  return row;
}

export function decodeHints([scoredAge, shown, asked]: HintsRow, lastAt: number): Hints {
  return {
    scoredAt: lastAt - scoredAge,
    shown: shown.map((row) => decodeHint(row, lastAt)),
    asked: asked.map(([request, number, age]) => ({ request, number, at: lastAt - age })),
  };
}

function decodeHint([code, since, age, id = '', networks = 0, formerId]: HintRow, lastAt: number): Hint {
  const kind = HINT_KINDS[code];
  if (kind === undefined) throw new Error(`client state has a hint of the unknown kind ${code}`);
  const around = networks === 0 ? {} : { networks: networks.split(' ') };
  const former = formerId === undefined ? {} : { formerId };
  return { kind, id, ...around, ...former, since, lastAt: lastAt - age };
}
