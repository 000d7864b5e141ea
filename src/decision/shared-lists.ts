import ipaddr from 'ipaddr.js';
import { findInvisibleCharacter } from '#base/invisible-characters.ts';
import { Type } from '#base/json-schema.ts';
import { hasNulCharacter, KEY_CHARACTERS_MAX } from '#base/key-length.ts';
import { choice, epochMs, list, nullable, plainText, shape, type ValueOf } from '#base/shapes.ts';
import {
  type Address,
  deriveAddressKey,
  deriveNetworkKey,
  formatNetwork,
  holdsPrivateAddresses,
  isPrivateRange,
  isPublicAddress,
  KEPT_PREFIXES,
  type Pseudonymize,
  parseAddress,
  parseRange,
} from './addresses.ts';
import { isPlaceholder } from './body-hints.ts';
import {
  ATTRIBUTE_CHARACTERS_MAX,
  ATTRIBUTE_NAME_FORM_TEXT,
  ATTRIBUTE_NAME_PATTERN,
  type Attributes,
  type DeclaredAttributes,
  isAttributeName,
  readAttributeAsDeclared,
  toListLookupHmac,
} from './payer/attributes.ts';
import type { PlatformName } from './payer/client-key.ts';
import type { KnownHints } from './payer/hints.ts';

export const LIST_KINDS = ['client', 'fingerprint', 'ip', 'method', 'sellPoint', 'attribute'] as const;

export type ListKind = (typeof LIST_KINDS)[number];

export const listKindSchema = choice(LIST_KINDS, 'The kind of the entries of the list');

/** The kind of a list's entries. */
export interface ListContent {
  readonly kind: ListKind;
  /** The name of the attribute whose values the entries are; null for every other kind. */
  readonly attribute: string | null;
}

/** Returns why no list can have entries of this kind. Returns null if a list can. */
export function findListContentFault({ kind, attribute }: ListContent): string | null {
  if (kind !== 'attribute') return attribute === null ? null : STRAY_ATTRIBUTE;
  if (attribute === null) return 'is required with kind attribute: the name under which callers send it';
  return isAttributeName(attribute) ? null : `has ${ATTRIBUTE_NAME_FORM_TEXT}, unlike "${attribute}"`;
}

const STRAY_ATTRIBUTE = 'goes only with kind attribute';

/** Formats the content of a list for people, like `ip` or `attribute wallet`. */
export function formatListContent({ kind, attribute }: ListContent): string {
  return attribute === null ? kind : `${kind} ${attribute}`;
}

export const listedAttributeSchema = Type.String({
  pattern: ATTRIBUTE_NAME_PATTERN,
  description: 'With kind attribute: the name of the attribute whose values the list has',
});

/** The parts of a request that entries of shared lists may name. */
export interface RequestLookupParts extends Pick<KnownHints, 'fingerprints' | 'ips' | 'networks'> {
  readonly platform: PlatformName;
  readonly clientIdKey: string;
  readonly method: string;
  readonly sellPointKey: string;
  /** The attributes of this request, or of a score of the last 24 hours. */
  readonly attributes: Attributes;
  /**
   * The same attributes while SIGNAL_SECRET is being changed, with pseudonyms made under the other of the two
   * secrets. Missing if the secret is not being changed.
   */
  readonly formerAttributes?: Attributes | undefined;
  /** The attributes that the deciding rule set declares. All other attributes are ignored. */
  readonly declaredAttributes: DeclaredAttributes;
}

/**
 * Returns the keys by which a request is looked up on a list with this kind of entries. The keys come in one or two
 * arrays, which saves a copy.
 */
function listLookupKeys(
  { kind, attribute }: ListContent,
  subject: RequestLookupParts,
  pseudonyms: readonly Pseudonymize[],
): readonly (readonly string[])[] {
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
    case 'attribute':
      return [listAttributeKeys(attribute ?? '', subject, pseudonyms)];
    default:
      return kind satisfies never;
  }
}

/**
 * Returns the keys by which the value of an attribute is looked up. Entries for attributes are always HMACs, so a
 * value that the rule set keeps in clear is hashed first.
 */
function listAttributeKeys(
  name: string,
  { attributes, formerAttributes, declaredAttributes }: RequestLookupParts,
  pseudonyms: readonly Pseudonymize[],
): readonly string[] {
  const declared = declaredAttributes.get(name);
  if (declared === undefined) return [];
  const forms = [attributes[name], formerAttributes?.[name]].map((form) =>
    readAttributeAsDeclared(declared, form),
  );
  const values = forms.filter((form) => form !== null);
  if (declared.pseudonym) return values.map(toListLookupHmac);
  return values.flatMap((value) => pseudonyms.map((pseudonym) => pseudonym('attribute', String(value))));
}

/** The stored value of an entry, or the problem with it. */
type ReadListValue =
  | { readonly ok: true; readonly value: string; readonly keys: readonly string[] }
  | { readonly ok: false; readonly problem: string };

/** The form of a fingerprint, address or attribute value whose text is not kept. */
const HMAC = /^hmac:([A-Za-z0-9_-]{22})$/;

/** Ranges with a shorter prefix would cover a continent. */
const IPV4_PREFIX_MIN = 8;
const IPV6_PREFIX_MIN = 24;
const IPV6_PREFIX_MAX = 64;

/**
 * Reads the value of an entry and returns its stored form. Texts are trimmed. Fingerprints, single addresses and
 * values of attributes are stored as HMACs alone. Ranges of addresses are stored in clear, because an HMAC cannot
 * tell whether an address lies in a range. For a device, the part after `hmac:` is not the HMAC but the name that the
 * platform sees, and `pseudonymOf` converts it to the HMAC. For an attribute, the part after `hmac:` is the HMAC
 * itself, as decisions write it. A value that can never match a request is refused.
 */
export function parseListValue(
  kind: ListKind,
  text: string,
  pseudonym: Pseudonymize,
  pseudonymOf = (name: string) => name,
): ReadListValue {
  const value = text.trim();
  const problem = findTextProblem(value);
  if (problem !== null) return refuseValue(problem);
  const [, known] = HMAC.exec(value) ?? [];
  switch (kind) {
    case 'client':
    case 'method':
    case 'sellPoint':
      return { ok: true, value, keys: [value] };
    case 'fingerprint':
      if (known !== undefined) return hideValue(pseudonymOf(known));
      if (isPlaceholder(value))
        return refuseValue(`"${value}" stands for no fingerprint, and requests with it have none`);
      return hideValue(pseudonym('fingerprint', value));
    case 'ip':
      if (known !== undefined) return hideValue(pseudonymOf(known));
      return value.includes('/') ? readRange(value, pseudonym) : readAddress(value, pseudonym);
    case 'attribute':
      if (known !== undefined) return hideValue(known);
      if ([...value].length > ATTRIBUTE_CHARACTERS_MAX)
        return refuseValue(
          `an attribute has at most ${ATTRIBUTE_CHARACTERS_MAX} characters, so it can never have this value`,
        );
      return hideValue(pseudonym('attribute', value));
    default:
      return kind satisfies never;
  }
}

function findTextProblem(value: string): string | null {
  const length = [...value].length;
  if (length < 1 || length > KEY_CHARACTERS_MAX || !value.isWellFormed())
    return `a value has 1 to ${KEY_CHARACTERS_MAX} characters of well-formed Unicode`;
  if (hasNulCharacter(value)) return 'a value must not contain U+0000';
  const invisible = findInvisibleCharacter(value);
  if (invisible === null) return null;
  return `character ${invisible.place} is invisible: ${invisible.name}; remove it`;
}

/** Replaces the HMAC in a value by its readable name. Other values are returned unchanged. */
export function toReadableValue(
  { kind, value }: { readonly kind: ListKind; readonly value: string },
  nameOf: (pseudonym: string) => string,
): string {
  const [, pseudonym] = kind === 'fingerprint' || kind === 'ip' ? (HMAC.exec(value) ?? []) : [];
  return pseudonym === undefined ? value : hideValue(nameOf(pseudonym)).value;
}

function readAddress(text: string, pseudonym: Pseudonymize): ReadListValue {
  const address = parseAddress(text);
  if (address === null)
    return refuseValue(
      `"${text}" is no IP address; write one like 203.0.113.9, or a range like 203.0.113.0/24`,
    );
  if (!isPublicAddress(address)) return refuseValue(NOT_PUBLIC(text));
  return hideValue(deriveAddressKey(address, pseudonym));
}

const NOT_PUBLIC = (text: string) =>
  `"${text}" is no public address: many hosts have it at the same time, and requests from it count as without one`;

function readRange(text: string, pseudonym: Pseudonymize): ReadListValue {
  const range = parseRange(text);
  if (range === null)
    return refuseValue(`"${text}" is no range of addresses; write one like 203.0.113.0/24 or 2001:db8::/32`);
  const { start, prefix } = range;
  const isIpv4 = start.kind() === 'ipv4';
  const [least, most] = isIpv4 ? [IPV4_PREFIX_MIN, 32] : [IPV6_PREFIX_MIN, IPV6_PREFIX_MAX];
  if (prefix < least || prefix > most)
    return refuseValue(
      `a range of ${isIpv4 ? 'IPv4' : 'IPv6'} addresses has a prefix from /${least} to /${most}, unlike "${text}"`,
    );
  const value = formatNetwork(start, prefix);
  if (value !== `${start.toString()}/${prefix}`)
    return refuseValue(`"${text}" does not begin where the range does; write ${value}`);
  if (isPrivateRange(range)) return refuseValue(NOT_PUBLIC(text));
  const kept = KEPT_PREFIXES[start.kind()].find((candidate) => candidate >= prefix) ?? most;
  const count = 2 ** (kept - prefix);
  const keys = Array.from({ length: count }, (_, index) =>
    deriveNetworkKey(pseudonym, computeNetworkStart(start, kept, index), kept),
  );
  return { ok: true, value, keys };
}

/** Returns a remark for the person who lists this value. Returns null if there is nothing to remark. */
export function findValueRemark({ kind, value }: Pick<ListLookupEntry, 'kind' | 'value'>): string | null {
  const range = kind === 'ip' ? parseRange(value) : null;
  if (range === null || !holdsPrivateAddresses(range)) return null;
  return 'The range holds addresses that are not public; requests from those count as without an address and never match.';
}

/**
 * Returns the start of a network with the prefix length `prefix`. Network 0 starts at `first`, and `index` counts
 * from there.
 */
function computeNetworkStart(first: Address, prefix: number, index: number): Address {
  const bytes = first.toByteArray();
  let rest = index;
  for (let place = prefix / 8 - 1; rest > 0; place--) {
    const sum = (bytes[place] ?? 0) + (rest & 0xff);
    bytes[place] = sum;
    rest >>= 8;
  }
  return ipaddr.fromByteArray(bytes);
}

function hideValue(hmac: string) {
  return { ok: true, value: `hmac:${hmac}`, keys: [hmac] } as const;
}

function refuseValue(problem: string): ReadListValue {
  return { ok: false, problem };
}

/** The platform that owns a list. `*` is the whole installation, whose lists apply to every platform. */
export type ListOwner = PlatformName | '*';

/**
 * The names of devices on each platform. A device has another name on every platform, and nobody without the secret
 * can match the names. So a leak at one platform tells another platform nothing.
 */
export interface DevicePseudonymConverter {
  /**
   * Returns the name of a pseudonym. A shortened pseudonym has an equally short name, which cannot be converted back.
   */
  nameOf(platform: ListOwner, pseudonym: string): string;
  pseudonymOf(platform: ListOwner, name: string): string;
}

export const ListedEntrySchema = shape('One entry of a shared list as far as decisions need it', {
  owner: Type.Unsafe<ListOwner>({ type: 'string', description: 'Whose list it is' }),
  list: plainText('Its name', 'blocked-devices'),
  kind: listKindSchema,
  attribute: nullable(listedAttributeSchema),
  value: plainText(
    'A client, a method, a point of sale, or a range of addresses; "hmac:" and the HMAC of a fingerprint, of a single address or of the value of an attribute, which are not kept themselves',
    'hmac:p2Yk4r0bQ8nV5sXc1eWtLA',
  ),
  /** `parseListValue` makes the keys. */
  keys: list(plainText('As requests have it'), 'What requests are looked up by'),
  expiresAt: nullable(epochMs('When it ends; null: when it is removed')),
});

export type ListLookupEntry = ValueOf<typeof ListedEntrySchema>;

export interface SharedLists {
  /** Finds the entry that puts a request on the list at `now` (epoch ms). Returns null if there is none. */
  find(list: string, subject: RequestLookupParts, now: number): ListLookupEntry | null;
}

export const NO_LISTS: SharedLists = { find: () => null };

type Entries = Map<string, ListLookupEntry[]>;

interface HeldEntries extends ListContent {
  readonly entries: Entries;
}

/** The entries of a list, by the text that `formatListContent` gives for their kind. */
type ListContents = Map<string, HeldEntries>;

/**
 * Entries of shared lists in memory. A search takes a few lookups in hash maps, whatever the number of entries.
 * Requests keep the networks of their addresses with a few prefix lengths. A range is split into networks of one of
 * these lengths, and each of the networks is a key. So a lookup finds a range as well.
 */
export class InMemorySharedLists implements SharedLists {
  readonly #lists = new Map<string, Map<ListOwner, ListContents>>();
  readonly #pseudonyms: readonly Pseudonymize[];

  /**
   * `pseudonym` makes the pseudonyms of entries. While its secret is being changed, some entries may have pseudonyms
   * that `former` makes.
   */
  constructor(pseudonym: Pseudonymize, former: Pseudonymize | null = null) {
    this.#pseudonyms = former === null ? [pseudonym] : [pseudonym, former];
  }

  find(list: string, subject: RequestLookupParts, now: number): ListLookupEntry | null {
    const owners = this.#lists.get(list);
    if (owners === undefined) return null;
    return (
      findAmong(owners.get(subject.platform), subject, now, this.#pseudonyms) ??
      findAmong(owners.get('*'), subject, now, this.#pseudonyms)
    );
  }

  add(entry: ListLookupEntry): void {
    const { owner, list, kind, attribute, keys } = entry;
    const owners = this.#lists.getOrInsertComputed(list, () => new Map<ListOwner, ListContents>());
    const contents = owners.getOrInsertComputed(owner, (): ListContents => new Map());
    const { entries } = contents.getOrInsertComputed(formatListContent(entry), () => ({
      kind,
      attribute,
      entries: new Map<string, ListLookupEntry[]>(),
    }));
    for (const key of keys) entries.getOrInsertComputed(key, () => []).push(entry);
  }

  remove(entry: ListLookupEntry): void {
    const { owner, list, keys } = entry;
    const owners = this.#lists.get(list);
    const entries = owners?.get(owner)?.get(formatListContent(entry))?.entries;
    if (entries === undefined) return;
    for (const key of keys) {
      const left = (entries.get(key) ?? []).filter((other) => other !== entry);
      if (left.length === 0) entries.delete(key);
      else entries.set(key, left);
    }
  }
}

function findAmong(
  contents: ListContents | undefined,
  subject: RequestLookupParts,
  now: number,
  pseudonyms: readonly Pseudonymize[],
): ListLookupEntry | null {
  if (contents === undefined) return null;
  for (const content of contents.values()) {
    const { entries } = content;
    if (entries.size === 0) continue;
    for (const keys of listLookupKeys(content, subject, pseudonyms)) {
      const found = findUnder(entries, keys, now);
      if (found !== null) return found;
    }
  }
  return null;
}

function findUnder(entries: Entries, keys: readonly string[], now: number): ListLookupEntry | null {
  for (const key of keys) {
    const found = entries.get(key)?.find(({ expiresAt }) => expiresAt === null || expiresAt > now);
    if (found !== undefined) return found;
  }
  return null;
}
