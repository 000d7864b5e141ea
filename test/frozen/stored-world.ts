import type { ArchiveReader } from '#history/archive/read/archive-reader.ts';
import type { Store } from '#state/store.ts';
import type { MovableClock } from '../service/movable-clock.ts';
import { type RunningService, startService } from '../service/running-service.ts';
import { Tenant } from '../service/tenant.ts';

/** More orders than a client's state remembers. */
const MANY_ORDERS = 66;

const DEVICE = { fingerprint: 'device-1', ip: '203.0.113.7', userAgent: 'Mozilla/5.0' };

/** What is stored, as it is told afterwards. */
export interface Told {
  readonly accessKey: string;
  /** By client: what is known of it that time alone does not change. */
  readonly clients: Readonly<Record<string, unknown>>;
  readonly decisions: readonly unknown[];
  readonly entries: unknown;
}

const CLIENTS = ['ann', 'bob', 'eve', 'dan'];

/** Serves a store as the tests do. */
export function serving(store: Store, clock: MovableClock, archive: ArchiveReader): Promise<RunningService> {
  return startService({ store, clock, archive });
}

/** Makes something of every kind that is stored. */
export async function live(service: RunningService): Promise<Tenant> {
  const shop = await service.tenant();
  const pass = (seconds: number) => service.clock.moveSeconds(seconds);
  await shop.score({ clientIdKey: 'ann', ...DEVICE });
  await shop.verdict({ clientIdKey: 'ann', orderRef: 'ann-1' }, { 'Idempotency-Key': 'ann-1' });
  pass(30);
  await shop.outcome('ann', 'ann-1', 'PAID');
  await shop.bind('ann', { method: 'card' });
  await shop.verdict({ clientIdKey: 'ann', orderRef: 'ann-2' });
  await shop.verdict({ clientIdKey: 'bob', orderRef: 'bob-1' });
  pass(5);
  await shop.verdict({ clientIdKey: 'bob', orderRef: 'bob-1' });
  await shop.outcome('bob', 'bob-1', 'UNPAID', { cause: 'DECLINED' });
  await shop.override('bob', 'BLOCKED');
  for (let order = 1; order <= MANY_ORDERS; order++) {
    await shop.verdict({ clientIdKey: 'eve', orderRef: `eve-${order}` });
    await shop.outcome('eve', `eve-${order}`, order % 3 === 0 ? 'UNPAID' : 'PAID');
    pass(3600);
  }
  await shop.ask('PUT', 'lists/blocked-devices', { kind: 'fingerprint' });
  await shop.ask('PUT', 'lists/blocked-devices/entries?value=device-9', { reason: 'ring' });
  await shop.verdict({ clientIdKey: 'dan', orderRef: 'dan-1' });
  await shop.ask('DELETE', 'clients/dan');
  return shop;
}

/** What a later version must tell of it, too. */
export async function toldOf(service: RunningService, accessKey: string): Promise<Told> {
  const shop = new Tenant(service.application, accessKey);
  const decisions = (await shop.decisions({ clientIdKey: 'ann' })).concat(
    await shop.decisions({ clientIdKey: 'bob' }),
  );
  const explained = decisions.map(async (decision) => {
    const path = `decisions/${decision.decisionId}/explanation`;
    const { body } = await shop.ask<{ readonly reproduced: unknown }>('GET', path);
    return { ...decision, reproduced: body.reproduced };
  });
  const { body } = await shop.ask<{ readonly entries: readonly object[] }>(
    'GET',
    'lists/blocked-devices/entries',
  );
  return {
    accessKey,
    clients: Object.fromEntries(
      await Promise.all(CLIENTS.map(async (one) => [one, await toldOfClient(shop, one)])),
    ),
    decisions: await Promise.all(explained),
    entries: body.entries,
  };
}

async function toldOfClient(shop: Tenant, client: string) {
  const { status, body } = await shop.client(client);
  if (status !== 200) return status;
  const { decisionCount, outcomes, binding, override } = body;
  return { decisionCount, outcomes, binding, override };
}
