import { hashEntryId, type StoredEntry } from '#checkout/lists/list-entry.ts';
import type { SharedListsCopy } from '#checkout/lists/list-node.ts';
import { deriveAddressKey, deriveNetworkKeys, type Pseudonymize, parseAddress } from '#decision/addresses.ts';
import { NO_ATTRIBUTES } from '#decision/payer/attributes.ts';
import type { PlatformName } from '#decision/payer/client-key.ts';

/** The list on which a range is looked for. */
interface AskedList {
  readonly owner: PlatformName;
  readonly list: string;
  /** Epoch ms. */
  readonly now: number;
}

/**
 * Finds the range on a list that covers an address, in the same way as rules find it. Returns null if there is none,
 * or if the text is no address.
 */
export function findCoveringRange(
  copy: SharedListsCopy,
  pseudonym: Pseudonymize,
  { owner, list, now }: AskedList,
  value: string,
): StoredEntry | null {
  const address = parseAddress(value.trim());
  if (address === null) return null;
  const found = copy.membership.find(
    list,
    {
      platform: owner,
      ips: [deriveAddressKey(address, pseudonym)],
      networks: deriveNetworkKeys(address, pseudonym),
      ...NOTHING_ELSE,
    },
    now,
  );
  if (found === null || found.owner !== owner || found.kind !== 'ip') return null;
  return copy.findEntry(hashEntryId(found));
}

/** The other members that a look-up needs, all empty, because only the address is asked for. */
const NOTHING_ELSE = {
  clientIdKey: '',
  method: '',
  sellPointKey: '',
  fingerprints: [],
  attributes: NO_ATTRIBUTES,
  declaredAttributes: new Map(),
} as const;
