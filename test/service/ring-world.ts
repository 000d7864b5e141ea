import { SeededRandom } from '../simulation/seeded-random.ts';
import type { Tenant } from './tenant.ts';

/** The payers of a small world with planted rings. */
export interface RingWorld {
  /** Each ring's members; the first of them uses all of its devices. */
  readonly rings: readonly (readonly string[])[];
  /** Pays, and shares the address of the first ring. */
  readonly neighbour: string;
  /** Two who pay and share a device. */
  readonly household: readonly string[];
}

const RINGS = 3;
const MEMBERS = 5;
const WEEKS = 5;

/** An address in the form that callers send. */
const address = (number: number) => `198.51.100.${number}`;

/**
 * Simulates some weeks of honest payers and of rings, whose members share two devices and leave orders unpaid, or pay
 * and reverse them. `nextWeek` is called between the weeks.
 */
export async function liveRings(
  shop: Tenant,
  seed: number,
  nextWeek: (week: number) => Promise<void> = async () => {},
): Promise<RingWorld> {
  const random = new SeededRandom(seed);
  const rings = Array.from({ length: RINGS }, (_, ring) =>
    Array.from({ length: MEMBERS }, (_, member) => `ring-${ring}-${member}`),
  );
  const household = ['wife', 'husband'];
  for (let week = 0; week < WEEKS; week += 1) {
    for (const [ring, members] of rings.entries()) await weekOfRing(shop, random, ring, members, week);
    await pays(shop, 'neighbour', week, { fingerprint: 'neighbour', ip: address(0) });
    for (const clientIdKey of household)
      await pays(shop, clientIdKey, week, { fingerprint: 'tablet', ip: address(100) });
    await nextWeek(week);
  }
  return { rings, neighbour: 'neighbour', household };
}

async function weekOfRing(
  shop: Tenant,
  random: SeededRandom,
  ring: number,
  members: readonly string[],
  week: number,
): Promise<void> {
  for (const [index, clientIdKey] of members.entries()) {
    // The first member uses both devices; the others use one each.
    const device = index === 0 ? week % 2 : index % 2;
    await shop.score({ clientIdKey, fingerprint: `ring-${ring}-${device}`, ip: address(ring) });
    const orderRef = `${clientIdKey}-${week}`;
    await shop.verdict({ clientIdKey, orderRef });
    const paid = random.chance(0.5);
    if (paid) await shop.outcome(clientIdKey, orderRef, 'PAID');
    // The last payments are not reversed yet.
    if (!paid) await shop.outcome(clientIdKey, orderRef, 'UNPAID', { cause: 'EXPIRED' });
    else if (week < WEEKS - 1) await shop.outcome(clientIdKey, orderRef, 'UNPAID', { cause: 'REVERSED' });
  }
}

/** A payer who is seen on a device and pays. */
export async function pays(shop: Tenant, clientIdKey: string, number: number, device: object): Promise<void> {
  const orderRef = `${clientIdKey}-${number}`;
  await shop.score({ clientIdKey, ...device });
  await shop.verdict({ clientIdKey, orderRef });
  await shop.outcome(clientIdKey, orderRef, 'PAID');
}
