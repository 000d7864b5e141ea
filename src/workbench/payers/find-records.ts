import { Type } from '#base/json-schema.ts';
import * as s from '#base/shapes.ts';
import type { SharedListsCopy } from '#checkout/lists/list-node.ts';
import { deriveAddressKey, isPublicAddress, type Pseudonymize, parseAddress } from '#decision/addresses.ts';
import type { Decision } from '#decision/decision.ts';
import { VERDICTS } from '#decision/decision-words.ts';
import { type ClientKeys, type PlatformName, parseDecisionId } from '#decision/payer/client-key.ts';
import { type DevicePseudonymConverter, listKindSchema, toReadableValue } from '#decision/shared-lists.ts';
import type { FoundByPartOfName } from '#history/archive/read/decision-lookup.ts';
import { DEVICE_KINDS, type Device } from '#history/archive/read/linked-clients.ts';
import {
  type FoundOrder,
  type FoundPayer,
  type FoundRequest,
  PAYER_TABLES,
  SEEN_CLIENTS_MAX,
} from '#history/archive/read/name-search.ts';
import { UnreadDecisionsListSchema } from '#history/archive/unread-decisions.ts';
import type { Store } from '#state/store.ts';
import { findListEntries } from '#workbench/lists/find-entries.ts';
import type { ListEditor } from '#workbench/lists/list-editor.ts';
import type { PlatformRecords } from './records.ts';

/** The kinds of things that can be found by a part of their name, in the sequence in which they are shown. */
export const FOUND_KINDS = ['payers', 'orders', 'decisions', 'devices', 'listEntries'] as const;

export type FoundKind = (typeof FOUND_KINDS)[number];

const clientIdKey = s.plainText('The payer', 'ann');
const verdict = s.choice(VERDICTS, 'Its verdict');
const lastAt = s.epochMs('When it was last heard of');

export const FoundRecordsSchema = s.named(
  'FoundRecords',
  s.shape('The records whose names contain the searched text', {
    payers: s.list(
      s.shape('A payer', { clientIdKey, lastAt }),
      'First the payer of this name, then payers whose name begins with the text, then payers whose name contains it; within each of these the newest first',
    ),
    orders: s.list(
      s.shape('An order of a payer', {
        orderRef: s.plainText('The order', 'order-1'),
        clientIdKey,
        lastAt,
        verdict: s.nullable(s.choice(VERDICTS, 'Its newest verdict; null: no verdict was asked for it')),
      }),
      'In the same sequence as the payers',
    ),
    decisions: s.list(
      s.shape('A decision', {
        decisionId: s.plainText('As in X-Decision-Id'),
        requestId: s.plainText('As in X-Request-Id'),
        clientIdKey,
        orderRef: s.plainText('The order', 'order-1'),
        verdict,
        at: s.epochMs('When it was decided'),
      }),
      'The decision of this id, or those whose request id begins with the text, newest first',
    ),
    devices: s.list(
      s.shape('A device or an address on which payers were seen', {
        kind: s.choice(DEVICE_KINDS, 'A fingerprint, or an address'),
        value: s.plainText('As the links of a client name it', 'hmac:p2Yk4r0bQ8nV5sXc1eWtLA'),
        clients: s.count(`How many payers were seen on it; at most ${SEEN_CLIENTS_MAX} are counted`),
        payers: s.list(s.shape('A payer', { clientIdKey, lastAt }), 'At most `limit`, the last seen first'),
      }),
      'The device or address that the whole text names',
    ),
    listEntries: s.list(
      s.shape('An entry of a shared list', {
        list: s.plainText('The list', 'blocked-devices'),
        kind: listKindSchema,
        value: s.plainText('As the list shows it'),
        reason: s.plainText('Why it is there', 'shared by a ring'),
        hasEnded: s.yesNo('It has ended and no longer counts'),
      }),
      'Entries for the whole text, ranges that hold the address, then entries whose value has the text in it',
    ),
    cut: s.list(s.choice(FOUND_KINDS, 'A kind'), 'Kinds of which there are more than `limit`'),
    leftOut: s.list(
      s.choice(FOUND_KINDS, 'A kind'),
      'Kinds that were not looked for, because the key may not read them',
    ),
    lookedAt: s.shape('How far back payers, orders, requests and devices were searched', {
      backTo: s.nullable(s.epochMs('The time from which on everything was searched; null: nothing is kept')),
      hasOlder: s.yesNo('There are older records, which were not searched'),
      complete: s.yesNo(
        'All that is kept was searched; false: some of it is older, came since `upTo`, or is `unread`',
      ),
      upTo: Type.Optional(s.epochMs('What happened from then on was not read yet')),
      unread: Type.Optional(UnreadDecisionsListSchema),
    }),
  }),
);

export type FoundRecords = s.ValueOf<typeof FoundRecordsSchema>;

export interface FindParts {
  readonly store: Pick<Store, 'load'>;
  readonly records: PlatformRecords;
  readonly clientKeys: ClientKeys;
  readonly lists: { readonly copy: SharedListsCopy };
  readonly listEditor: ListEditor;
  readonly pseudonym: Pseudonymize;
  readonly names: DevicePseudonymConverter;
  /** Epoch ms. */
  readonly clock: () => number;
}

export interface FindAsk {
  readonly platform: PlatformName;
  readonly text: string;
  /** The kinds to look for. All others are left out. */
  readonly kinds: ReadonlySet<FoundKind>;
  /** Whether payers are searched in all tables. Otherwise they are searched only in the table of decisions. */
  readonly readsPayers: boolean;
  /** The most items of each kind. */
  readonly limit: number;
}

/**
 * Finds payers, orders, decisions, devices and list entries of a platform by a part of their names. There is no index
 * of names, so the search reads the archive and the newest part of the journal, within limits.
 */
export async function findRecords(parts: FindParts, ask: FindAsk): Promise<FoundRecords> {
  const { records, names } = parts;
  const { platform, text, kinds, readsPayers, limit } = ask;
  const found = await records.decisions.findByPartOfName({
    platform,
    part: text,
    payersIn: kinds.has('payers') ? (readsPayers ? PAYER_TABLES : ['decisions']) : [],
    hasOrders: kinds.has('orders'),
    hasRequests: kinds.has('decisions') && text.length >= REQUEST_ID_PART_MIN,
    devices: kinds.has('devices') ? listNamedDevices(parts, ask) : [],
    limit,
  });
  const entries = kinds.has('listEntries')
    ? await findListEntries(
        { copy: parts.lists.copy, editor: parts.listEditor, pseudonym: parts.pseudonym },
        { platform, text, now: parts.clock(), limit },
      )
    : [];
  const all = {
    payers: await addNamedPayer(parts, ask, found),
    orders: await addNamedOrder(parts, ask, found),
    decisions: await addNamedDecision(parts, ask, found),
    devices: found.devices,
    listEntries: entries,
  };
  return {
    payers: all.payers.slice(0, limit),
    orders: all.orders.slice(0, limit),
    decisions: all.decisions.slice(0, limit),
    devices: all.devices.map(({ device, clients, seen }) => ({
      kind: device.kind,
      value: toReadableValue({ kind: device.kind, value: `hmac:${device.hmac}` }, (hmac) =>
        names.nameOf(platform, hmac),
      ),
      clients,
      payers: seen.map((one) => ({ clientIdKey: one.clientIdKey, lastAt: one.lastAt })),
    })),
    listEntries: all.listEntries.slice(0, limit).map((entry) => {
      const { list, kind, value, reason, expiresAt } = parts.listEditor.toOwnerView(entry);
      return { list, kind, value, reason, hasEnded: expiresAt !== null && expiresAt <= parts.clock() };
    }),
    cut: FOUND_KINDS.filter((kind) => all[kind].length > limit),
    leftOut: FOUND_KINDS.filter((kind) => !kinds.has(kind)),
    lookedAt: {
      backTo: found.backTo,
      hasOlder: !found.isToTheEnd,
      complete: found.isToTheEnd && found.upTo === null && found.unread.length === 0,
      ...(found.upTo === null ? {} : { upTo: found.upTo }),
      ...(found.unread.length === 0 ? {} : { unread: found.unread }),
    },
  };
}

/** A shorter text is the beginning of very many request ids. */
const REQUEST_ID_PART_MIN = 8;

/** Lists the devices that the whole text may name: a fingerprint, an address, or a name of either. */
function listNamedDevices({ pseudonym, names }: FindParts, { platform, text }: FindAsk): readonly Device[] {
  const value = text.trim();
  const [, name] = DEVICE_NAME.exec(value) ?? [];
  if (name !== undefined)
    return DEVICE_KINDS.map((kind) => ({ kind, hmac: names.pseudonymOf(platform, name) }));
  const address = parseAddress(value);
  return [
    { kind: 'fingerprint', hmac: pseudonym('fingerprint', value) },
    ...(address === null || !isPublicAddress(address)
      ? []
      : [{ kind: 'ip', hmac: deriveAddressKey(address, pseudonym) } as const]),
  ];
}

/** How links and lists name a device or an address. */
const DEVICE_NAME = /^hmac:([A-Za-z0-9_-]{22})$/;

/**
 * Adds the payer of exactly this name if the search did not reach the payer. The store knows the payer without a
 * search.
 */
async function addNamedPayer(
  { store, clientKeys }: FindParts,
  { platform, text, kinds, readsPayers }: FindAsk,
  { payers }: FoundByPartOfName,
): Promise<readonly FoundPayer[]> {
  if (!kinds.has('payers') || !readsPayers || payers.some((one) => one.clientIdKey === text)) return payers;
  const { state, stamp } = await store.load(clientKeys.of(platform, text));
  return stamp.raw === null ? payers : [{ clientIdKey: text, lastAt: state.lastAt }, ...payers];
}

/** Adds the order of exactly this name if the search did not reach the order. */
async function addNamedOrder(
  { records }: FindParts,
  { platform, text, kinds }: FindAsk,
  { orders, isToTheEnd }: FoundByPartOfName,
): Promise<readonly FoundOrder[]> {
  if (!kinds.has('orders') || isToTheEnd || orders.some((one) => one.orderRef === text)) return orders;
  const { decisions } = await records.decisions.ofOrder(platform, text);
  const [newest] = decisions;
  return newest === undefined ? orders : [{ ...newest, lastAt: newest.at }, ...orders];
}

/** Adds the decision whose id is the text. */
async function addNamedDecision(
  { records }: FindParts,
  { platform, text, kinds }: FindAsk,
  { requests }: FoundByPartOfName,
): Promise<readonly FoundRequest[]> {
  if (!kinds.has('decisions') || parseDecisionId(text) === null) return requests;
  const { decision } = await records.findDecision(platform, text);
  return decision === null ? requests : [toFoundDecision(decision), ...requests];
}

function toFoundDecision(decision: Decision): FoundRequest {
  const { decisionId, requestId, clientIdKey: payer, orderRef, verdict: answer, at } = decision;
  return { decisionId, requestId, clientIdKey: payer, orderRef, verdict: answer, at };
}
