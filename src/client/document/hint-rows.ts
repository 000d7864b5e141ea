import type { Hint, HintKind, Hints } from '../hints.ts';

/**
 * The id is left out of a sign; the networks around an IP, joined by blanks, and the former id where there are none
 * (0 for networks before a former id). The age of what is not known any more is null: only scores remember it.
 */
type HintRow = [kind: number, age: number | null, id?: string, networks?: string | 0, formerId?: string];

/** A score knew the hints at these places. */
type AskedRow = [request: string, age: number, ...knew: number[]];

export type HintsRow = [scoredAge: number, hints: HintRow[], asked: AskedRow[]];

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
  const rows = shown.map(({ hint, lastAt: at }) => encodeHint(hint, lastAt - at));
  const places = new Map(shown.map(({ hint }, place) => [hint, place]));
  const placeOf = (hint: Hint) => {
    const known = places.get(hint) ?? rows.push(encodeHint(hint, null)) - 1;
    places.set(hint, known);
    return known;
  };
  return [
    lastAt - scoredAt,
    rows,
    asked.map(({ request, at, knew }): AskedRow => [request, lastAt - at, ...knew.map(placeOf)]),
  ];
}

function encodeHint({ kind, id, networks, formerId }: Hint, age: number | null): HintRow {
  const row: HintRow = [HINT_KINDS.indexOf(kind), age];
  if (kind === 'fingerprint' || kind === 'ip') row.push(id);
  if (networks !== undefined) row.push(networks.join(' '));
  else if (formerId !== undefined) row.push(0);
  if (formerId !== undefined) row.push(formerId);
  return row;
}

export function decodeHints([scoredAge, rows, asked]: HintsRow, lastAt: number): Hints {
  const hints = rows.map(decodeHint);
  const at = (place: number) => {
    const hint = hints[place];
    if (hint === undefined) throw new Error(`client state has no hint ${place}`);
    return hint;
  };
  return {
    scoredAt: lastAt - scoredAge,
    shown: rows.flatMap(([, age], place) =>
      age === null ? [] : [{ hint: at(place), lastAt: lastAt - age }],
    ),
    asked: asked.map(([request, age, ...knew]) => ({ request, at: lastAt - age, knew: knew.map(at) })),
  };
}

function decodeHint([code, , id = '', networks = 0, formerId]: HintRow): Hint {
  const kind = HINT_KINDS[code];
  if (kind === undefined) throw new Error(`client state has a hint of the unknown kind ${code}`);
  const around = networks === 0 ? {} : { networks: networks.split(' ') };
  const former = formerId === undefined ? {} : { formerId };
  return { kind, id, ...around, ...former };
}
