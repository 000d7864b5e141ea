import type { NullableAttributeValue } from './attributes.ts';
import type { ClientState } from './client-state.ts';
import type { Hint, HintKind, Hints } from './hints.ts';
import { type DeviceCounts, KNOWN_DEVICES_MAX } from './known-devices.ts';

/**
 * The row of a hint. Only a fingerprint or an IP has an id. `networks` are the keys of the networks around an IP,
 * joined by blanks, or 0 if only `formerId` follows. The age is null for an expired hint that only remembered scores
 * still use.
 */
type HintRow =
  | [kind: number, age: number | null, id?: string, networks?: string | 0, formerId?: string]
  | AttributeRow;

/** The row of an attribute. The value is in a list, together with its former value if the secret was changed. */
type AttributeRow = [
  kind: number,
  age: number | null,
  name: string,
  value: [value: NullableAttributeValue, formerValue?: string],
];

/**
 * The row of a remembered score. `knownHints` has the indexes of the hints that the score knew. If more or fewer
 * devices were known than these hints have, a last number below 0 encodes how many.
 */
type AskedRow = [request: string, age: number, changesSince: number, ...knownHints: number[]];

/** The stored form of hints. It is a part of the stored form of a client's state. */
export type HintsRow = [scoredAge: number, hints: HintRow[], asked: AskedRow[]];

/** The index in this list is stored, so new kinds are added at the end. */
const HINT_KINDS = [
  'fingerprint',
  'ip',
  'noScript',
  'trap',
  'userAgent',
  'automated',
  'script',
  'app',
  'attribute',
] as const satisfies readonly HintKind[];

type StateMoment = Pick<ClientState, 'lastAt' | 'changes'>;

export function encodeHints({ scoredAt, shown, asked }: Hints, now: StateMoment): HintsRow {
  const { lastAt } = now;
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
    asked.map(({ request, at, changes, knownHints, devices }): AskedRow => {
      const row: AskedRow = [request, lastAt - at, now.changes - changes, ...knownHints.map(placeOf)];
      if (devices !== undefined) row.push(-1 - devices.fingerprints * COUNT_VALUES - devices.ips);
      return row;
    }),
  ];
}

const COUNT_VALUES = KNOWN_DEVICES_MAX + 1;

function decodeCounts(counts: number): DeviceCounts {
  return { fingerprints: Math.floor(counts / COUNT_VALUES), ips: counts % COUNT_VALUES };
}

function encodeHint({ kind, id, networks, formerId, attribute }: Hint, age: number | null): HintRow {
  const code = HINT_KINDS.indexOf(kind);
  if (attribute !== undefined) {
    const { name, value, formerValue } = attribute;
    return [code, age, name, formerValue === undefined ? [value] : [value, formerValue]];
  }
  const row: Exclude<HintRow, AttributeRow> = [code, age];
  if (kind === 'fingerprint' || kind === 'ip') row.push(id);
  if (networks !== undefined) row.push(networks.join(' '));
  else if (formerId !== undefined) row.push(0);
  if (formerId !== undefined) row.push(formerId);
  return row;
}

export function decodeHints([scoredAge, rows, asked]: HintsRow, { lastAt, changes }: StateMoment): Hints {
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
    asked: asked.map(([request, age, changesSince, ...cells]) => {
      const counts = cells.at(-1) ?? 0;
      const known = { request, at: lastAt - age, changes: changes - changesSince };
      if (counts >= 0) return { ...known, knownHints: cells.map(at) };
      return { ...known, knownHints: cells.slice(0, -1).map(at), devices: decodeCounts(-1 - counts) };
    }),
  };
}

function decodeHint([code, , id = '', networks = 0, formerId]: HintRow): Hint {
  const kind = HINT_KINDS[code];
  if (kind === undefined) throw new Error(`client state has a hint of the unknown kind ${code}`);
  if (typeof networks === 'object') {
    const [value, formerValue] = networks;
    const known = formerValue === undefined ? {} : { formerValue };
    return { kind, id: '', attribute: { name: id, value, ...known } };
  }
  const around = networks === 0 ? {} : { networks: networks.split(' ') };
  const former = formerId === undefined ? {} : { formerId };
  return { kind, id, ...around, ...former };
}
