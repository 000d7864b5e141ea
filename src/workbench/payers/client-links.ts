import { DAY_MS } from '#base/duration.ts';
import { Type } from '#base/json-schema.ts';
import * as s from '#base/shapes.ts';
import { searchThrottle } from '#base/work/step-throttle.ts';
import type { SharedListsCopy } from '#checkout/lists/list-node.ts';
import { VERDICTS } from '#decision/decision-words.ts';
import type { PlatformName } from '#decision/payer/client-key.ts';
import { keepUnlessExpired, type Override, overrideGroupSchema } from '#decision/payer/client-state.ts';
import type { DevicePseudonymConverter } from '#decision/shared-lists.ts';
import { toReadableValue } from '#decision/shared-lists.ts';
import { toReportedResult } from '#history/archive/order-status.ts';
import type { ArchiveReader } from '#history/archive/read/archive-reader.ts';
import { erasedSinceMomentSchema } from '#history/archive/read/as-of.ts';
import {
  compareTexts,
  DEVICE_CLIENTS_MAX,
  DEVICE_KINDS,
  type Device,
  findLinkGraph,
  LINK_KIND_TEXTS,
  type LinkedOrder,
  type LinkGraph,
  type LinksAsk,
  type SeenClient,
  toSharedListEntry,
  withLinkReader,
} from '#history/archive/read/linked-clients.ts';
import type { Store } from '#state/store.ts';

const ORDERS_PER_CLIENT_MAX = 500;

const money = (description: string) => Type.Number({ minimum: 0, description });

const LinkedOrdersSchema = s.named(
  'LinkedOrders',
  s.shape('Numbers of orders by what became of them. Orders whose last outcome is technical are left out', {
    paid: s.count('Paid, and not taken back'),
    reversed: s.count('Paid and taken back'),
    unpaid: s.count('A requisite was shown, or nobody asked here, and it was not paid'),
    turnedAway: s.count('No requisite was shown, so that nobody could pay'),
    unknown: s.count('A requisite was shown, and nothing was reported'),
  }),
);

const LinkedMoneySchema = Type.Record(
  s.named(
    'LinkedMoney',
    s.shape('Amounts of orders, by what became of the orders', {
      paid: money('Money of the paid orders'),
      reversed: money('Money of the orders that were paid and taken back'),
      unpaid: money('Money of the unpaid orders'),
    }),
  ),
  { description: 'By currency, in its units' },
);

const RefusedSchema = s.named(
  'RefusedPayers',
  s.shape(
    'The clients whom a block would refuse, those of them who have paid so far, and how much they paid',
    {
      clients: s.count('All clients whom it would refuse'),
      payers: s.count('The clients among them with a paid order that was not taken back'),
      orders: s.count('Their paid orders'),
      money: Type.Record(money('Sum'), { description: 'The money that they paid, by currency' }),
    },
  ),
);

const LinkedDeviceSchema = s.named(
  'LinkedDevice',
  s.shape('A device, or an address', {
    kind: s.choice(DEVICE_KINDS, 'What it is'),
    value: s.plainText(
      'As shared lists of the platform take it, and no other platform knows it, like hmac:p2Yk4r0bQ8nV5sXc1eWtLA',
      'hmac:p2Yk4r0bQ8nV5sXc1eWtLA',
    ),
    ofClient: s.yesNo('The client itself was seen on it'),
    firstAt: s.epochMs('When one of the clients shown was first seen on it'),
    lastAt: s.epochMs('When one of them was last seen on it'),
    clients: s.count('The clients of the platform that were seen on it within the time looked at'),
    followed: s.yesNo(`False: on it are more than ${DEVICE_CLIENTS_MAX} clients, and it links nobody`),
    lists: s.list(Type.String(), 'Shared lists that hold this very value now'),
    refused: s.nullable(RefusedSchema),
  }),
);

const LinkedClientSchema = s.named(
  'LinkedClient',
  s.shape('A client that is linked to the one asked about', {
    clientIdKey: s.plainText('As the caller chose it', 'ann'),
    tie: s.describedChoice(LINK_KIND_TEXTS, 'How it is linked to the client'),
    devices: s.list(Type.String(), 'Values of the devices shown that it was seen on and that link'),
    firstAt: s.nullable(s.epochMs('When it was first seen on one of the devices shown; null: on none')),
    lastAt: s.nullable(s.epochMs('When it was last seen on one of them; null: on none')),
    orders: LinkedOrdersSchema,
    money: LinkedMoneySchema,
    verdicts: s.shape('What it was answered', {
      GET_NEW: s.count('Answers'),
      GET_SAME_STICKY: s.count('Answers'),
      WAIT: s.count('Answers'),
      BLOCK: s.count('Answers'),
    }),
    cut: s.yesNo(`It has more orders; the newest ${ORDERS_PER_CLIENT_MAX} are counted`),
    override: s.nullable(overrideGroupSchema),
    lists: s.list(Type.String(), 'Shared lists that it is on now by its clientIdKey'),
    proposed: s.yesNo('It is one of those who might be blocked together; see `proposal`'),
  }),
);

export const ClientLinksSchema = s.named(
  'ClientLinks',
  s.shape('The clients who share devices or addresses with a client', {
    clientIdKey: s.plainText('As the caller chose it', 'ann'),
    from: s.epochMs('The time from which on links were searched'),
    asOf: Type.Optional(erasedSinceMomentSchema),
    complete: s.yesNo('False: a part of the archive or of the journal could not be read, or was too much'),
    devices: s.list(
      LinkedDeviceSchema,
      'The devices: those of the client first, then the others by how many clients they link',
    ),
    clients: s.list(
      LinkedClientSchema,
      'The clients: the client itself first, then those with the closest ties',
    ),
    cut: s.shape('Numbers of what was found and is not shown', {
      devices: s.count('Devices and addresses'),
      clients: s.count('Clients; those with the weakest ties are left out first'),
    }),
    proposal: s.shape(
      'Clients whom a list could block together: they are linked more closely than by a single address, have no override TRUSTED, and have no more orders paid than unpaid or taken back. Nobody is proposed if none of them has an order that is unpaid or taken back',
      { clients: s.list(Type.String(), 'The clients'), refused: RefusedSchema },
    ),
  }),
);

export type ClientLinks = s.ValueOf<typeof ClientLinksSchema>;
export type LinkedClient = s.ValueOf<typeof LinkedClientSchema>;
/** How many clients a block would refuse, and what those of them who paid have paid. */
export type PredictedBlockTotals = s.ValueOf<typeof RefusedSchema>;

/**
 * How far links are searched. `depth` 1 finds the clients that share something with the client. `depth` 2 also finds
 * the clients that share something with those.
 */
export interface LinksBounds {
  readonly days: number;
  readonly depth: number;
  readonly clients: number;
}

/** The default is 60 days, because rings of payers last for weeks. */
export const DEFAULT_LINKS_BOUNDS: LinksBounds = { days: 60, depth: 2, clients: 50 };
export const MAX_LINKS_BOUNDS: LinksBounds = { days: 400, depth: 2, clients: 200 };

/**
 * Creates the input of a search for links. With `asOf` (epoch ms), the search uses what was known at that time. If
 * `asOf` is null, it uses all data.
 */
export function createLinksAsk(
  { days, depth, clients }: LinksBounds,
  asOf: number | null,
  now: number,
): LinksAsk {
  return { depth, from: Math.max(0, (asOf ?? now) - days * DAY_MS), asOf, clientsMax: clients };
}

/** The parts that are needed to find links: the store, the archive, and what else is known of clients and devices. */
export interface LinksParts {
  readonly store: Store;
  readonly archive: ArchiveReader;
  /** This node's copy of the shared lists. */
  readonly lists: SharedListsCopy;
  readonly names: DevicePseudonymConverter;
  /** The time in epoch ms. */
  readonly now: number;
}

/**
 * Finds the clients with whom a client shares devices and addresses. Returns null if nothing is known of the
 * client.
 */
export async function findClientLinks(
  parts: LinksParts,
  platform: PlatformName,
  clientIdKey: string,
  ask: LinksAsk,
): Promise<ClientLinks | null> {
  const { store, lists, names, now } = parts;
  const { stamp } = await store.load(store.clientKeys.of(platform, clientIdKey));
  if (stamp.raw === null) return null;
  const found = await withLinkReader(parts, platform, ask, async (reading) => {
    const web = await findLinkGraph(reading, clientIdKey, ask);
    const shown = [...web.ties.keys()];
    const orders = await reading.ordersOf(shown, ORDERS_PER_CLIENT_MAX);
    const overrides = ask.asOf === null ? null : await reading.overridesOf(shown);
    const asOf = await reading.asOf();
    return { web, orders, overrides, asOf, complete: !reading.isIncomplete() };
  });
  const shownClients = [...found.web.ties.keys()];
  const overrides = found.overrides ?? (await readOverrides(store, platform, shownClients));
  const listsWith = (kind: 'client' | Device['kind'], value: string) =>
    lists.listNamesWithValue(platform, kind, value, now);
  const clients = markProposed(
    listClients(found.web, found.orders).map((one) => ({
      ...one,
      override: keepUnlessExpired(overrides.get(one.clientIdKey) ?? null, ask.asOf ?? now)?.group ?? null,
      lists: listsWith('client', one.clientIdKey),
    })),
  );
  const devices = listDevices(found.web, clientIdKey, clients).map((one) => ({
    ...one,
    lists: listsWith(one.kind, one.value),
  }));
  const proposed = clients.filter((one) => one.proposed);
  const shown = (kind: Device['kind'], value: string) =>
    toReadableValue({ kind, value }, (hmac) => names.nameOf(platform, hmac));
  return {
    clientIdKey,
    from: ask.from,
    ...(found.asOf === undefined ? {} : { asOf: found.asOf }),
    complete: found.complete,
    devices: devices.map((one) => ({ ...one, value: shown(one.kind, one.value) })),
    clients: clients.map((one) => ({ ...one, devices: one.devices.map((value) => shown('ip', value)) })),
    cut: found.web.cut,
    proposal: { clients: proposed.map((one) => one.clientIdKey), refused: predictBlockTotals(proposed) },
  };
}

type CountedClient = Omit<LinkedClient, 'override' | 'lists' | 'proposed'>;

function listClients(
  { ties, seen, devices }: LinkGraph,
  orders: readonly LinkedOrder[],
): readonly CountedClient[] {
  const links = new Set(
    devices.filter((one) => one.seen.length > 1).map(({ device }) => toSharedListEntry(device)),
  );
  const seenBy = Map.groupBy(seen, ({ clientIdKey }) => clientIdKey);
  const ordersBy = Map.groupBy(orders, ({ clientIdKey }) => clientIdKey);
  return [...ties].map(([clientIdKey, tie]) => {
    const own = seenBy.get(clientIdKey) ?? [];
    return {
      clientIdKey,
      tie,
      devices: own
        .map(toSharedListEntry)
        .filter((value) => links.has(value))
        .toSorted(compareTexts),
      ...(own.length === 0 ? { firstAt: null, lastAt: null } : computeSpan(own)),
      ...sumFigures(ordersBy.get(clientIdKey) ?? []),
    };
  });
}

/** Returns the first and the last time among sightings. There must be at least one. */
function computeSpan(seen: readonly SeenClient[]) {
  const [firsts, lasts] = [seen.map(({ firstAt }) => firstAt), seen.map(({ lastAt }) => lastAt)];
  return { firstAt: Math.min(...firsts), lastAt: Math.max(...lasts) };
}

type Status = 'paid' | 'reversed' | 'unpaid' | 'turnedAway' | 'unknown' | 'technical';

/**
 * Finds the status of an order. An order is turned away if no requisite was shown for it, so that nobody could pay.
 * If such an order was reported as unpaid, it stays turned away. A later attempt opens it again.
 */
function findStatus({ report, granted, verdicts }: LinkedOrder): Status {
  const result = report === null ? null : toReportedResult(report);
  if (result === 'PAID') return 'paid';
  if (result === 'REVERSED') return 'reversed';
  if (result === 'TECHNICAL') return 'technical';
  const wasAsked = VERDICTS.some((verdict) => verdicts[verdict] > 0);
  if (!granted && (wasAsked || result === 'TURNED_AWAY')) return 'turnedAway';
  return result === 'UNPAID' ? 'unpaid' : 'unknown';
}

function sumFigures(orders: readonly LinkedOrder[]) {
  const counts = { paid: 0, reversed: 0, unpaid: 0, turnedAway: 0, unknown: 0, technical: 0 };
  const sums: Record<string, { paid: number; reversed: number; unpaid: number }> = {};
  const verdicts = { GET_NEW: 0, GET_SAME_STICKY: 0, WAIT: 0, BLOCK: 0 };
  for (const order of orders) {
    const status = findStatus(order);
    counts[status] += 1;
    for (const verdict of VERDICTS) verdicts[verdict] += order.verdicts[verdict];
    const { amount, currency } = order;
    if (amount === null || currency === null || !isAboutMoney(status)) continue;
    const before = sums[currency] ?? { paid: 0, reversed: 0, unpaid: 0 };
    sums[currency] = { ...before, [status]: addAmounts(before[status], amount) };
  }
  const { technical, ...known } = counts;
  return { orders: known, money: sums, verdicts, cut: orders.length >= ORDERS_PER_CLIENT_MAX };
}

function isAboutMoney(status: Status): status is 'paid' | 'reversed' | 'unpaid' {
  return status === 'paid' || status === 'reversed' || status === 'unpaid';
}

const DIGITS = 12;

/** Adds amounts without the rounding errors of doubles. */
function addAmounts(a: number, b: number): number {
  return Number((a + b).toPrecision(DIGITS));
}

function markProposed(clients: readonly Omit<LinkedClient, 'proposed'>[]): readonly LinkedClient[] {
  const mayBe = clients.filter(
    (one) => one.tie !== 'address' && one.override !== 'TRUSTED' && one.orders.paid <= countHarm(one),
  );
  const isHarmful = mayBe.some((one) => countHarm(one) > 0);
  return clients.map((one) => ({ ...one, proposed: isHarmful && mayBe.includes(one) }));
}

function countHarm({ orders }: Pick<LinkedClient, 'orders'>): number {
  return orders.unpaid + orders.reversed;
}

/**
 * Counts the clients whom a list with these clients would refuse. Adds up the money that the payers among them have
 * paid.
 */
export function predictBlockTotals(
  clients: readonly Pick<LinkedClient, 'orders' | 'money'>[],
): PredictedBlockTotals {
  const payers = clients.filter(({ orders }) => orders.paid > 0);
  const sums: Record<string, number> = {};
  for (const one of payers)
    for (const [currency, { paid }] of Object.entries(one.money))
      if (paid > 0) sums[currency] = addAmounts(sums[currency] ?? 0, paid);
  return {
    clients: clients.length,
    payers: payers.length,
    orders: payers.reduce((sum, { orders }) => sum + orders.paid, 0),
    money: sums,
  };
}

type CountedDevice = Omit<ClientLinks['devices'][number], 'lists'>;

function listDevices(
  { devices, seen }: LinkGraph,
  clientIdKey: string,
  clients: readonly LinkedClient[],
): readonly CountedDevice[] {
  const seenOn = Map.groupBy(seen, toSharedListEntry);
  const known = new Map(clients.map((one) => [one.clientIdKey, one]));
  const counted = devices.map(({ device, clients: number, seen: all }) => {
    const here = seenOn.get(toSharedListEntry(device)) ?? [];
    const shown = all.flatMap((one) => known.get(one.clientIdKey) ?? []);
    return {
      kind: device.kind,
      value: toSharedListEntry(device),
      ofClient: here.some((one) => one.clientIdKey === clientIdKey),
      ...computeSpan(here),
      clients: number,
      followed: all.length > 0,
      refused: all.length > 0 && shown.length === all.length ? predictBlockTotals(shown) : null,
    };
  });
  return counted.toSorted(
    (a, b) =>
      Number(b.ofClient) - Number(a.ofClient) ||
      countLinks(b) - countLinks(a) ||
      b.lastAt - a.lastAt ||
      compareTexts(a.value, b.value),
  );
}

function countLinks({ followed, clients }: CountedDevice): number {
  return followed ? clients : 0;
}

async function readOverrides(
  store: Store,
  platform: PlatformName,
  clients: readonly string[],
): Promise<ReadonlyMap<string, Override | null>> {
  const found = await searchThrottle.mapInSteps(clients, (some) =>
    Promise.all(
      some.map(async (clientIdKey) => {
        const { state } = await store.load(store.clientKeys.of(platform, clientIdKey));
        return [clientIdKey, state.override] as const;
      }),
    ),
  );
  return new Map(found);
}
