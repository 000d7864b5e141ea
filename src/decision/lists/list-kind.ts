import type { PlatformName } from '../../client/client-key.ts';
import type { KnownHints } from '../../client/hints.ts';
import { choice } from '../../shapes.ts';

/** What the entries of a shared list are. */
export const LIST_KINDS = ['client', 'fingerprint', 'ip', 'method', 'sellPoint'] as const;

export type ListKind = (typeof LIST_KINDS)[number];

export const listKind = choice(LIST_KINDS, 'What the entries of the list are');

/** All of a request that shared lists may hold. */
export interface ListSubject extends Pick<KnownHints, 'fingerprints' | 'ips' | 'networks'> {
  readonly platform: PlatformName;
  readonly clientIdKey: string;
  readonly method: string;
  readonly sellPointKey: string;
}

/** Under which keys a request may stand on a list of this kind, in one or two parts that need no copy. */
export function keysOf(kind: ListKind, subject: ListSubject): readonly (readonly string[])[] {
  switch (kind) {
    case 'client':
      return [[subject.clientIdKey]];
    case 'fingerprint':
      return [subject.fingerprints];
    case 'ip':
      return [subject.ips, subject.networks];
    case 'method':
      return [[subject.method]];
    case 'sellPoint':
      return [[subject.sellPointKey]];
    default:
      return kind satisfies never;
  }
}
