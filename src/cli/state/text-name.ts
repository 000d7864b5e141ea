import { TEXT_KINDS, type TextPlace } from '../../state/health/stored-texts.ts';

/** What people call a stored text: `client/HASH`, `document/access-keys/ID`, `register/rollout`. */
export function textName({ kind, name }: TextPlace): string {
  return `${kind}/${name}`;
}

/** The place behind such a name; null when it is none. */
export function parseTextName(text: string): TextPlace | null {
  const kind = TEXT_KINDS.find((candidate) => text.startsWith(`${candidate}/`));
  return kind === undefined || text.length === kind.length + 1
    ? null
    : { kind, name: text.slice(kind.length + 1) };
}
