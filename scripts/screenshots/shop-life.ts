import type { Answer } from '../../test/service/http-call.ts';
import type { Tenant } from '../../test/service/tenant.ts';

const MINUTES = 60;

const USER_AGENT = 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0';

/** A clock that begins an hour ago and never passes the present. */
export class CatchingUpClock {
  #behindMs = MINUTES * 60_000 - 30_000;

  readonly now = (): number => Date.now() - this.#behindMs;

  moveSeconds(seconds: number): void {
    this.#behindMs = Math.max(0, this.#behindMs - seconds * 1000);
  }
}

const IVAN = 'impatient-ivan';

type Step = (shop: Tenant) => Promise<Answer>;

const scored: Step = (shop) =>
  shop.score({ clientIdKey: IVAN, userAgent: USER_AGENT, clientHints: { jsOk: true } });
const asks =
  (orderRef: string): Step =>
  (shop) =>
    shop.verdict({ clientIdKey: IVAN, orderRef });
const pays =
  (orderRef: string): Step =>
  (shop) =>
    shop.outcome(IVAN, orderRef, 'PAID');
const tells =
  (method: string, path: string, body: object = {}): Step =>
  (shop) =>
    shop.ask(method, path, body);

const BINDING = { requisiteRef: 'requisite-3', acceptorKeys: ['acceptor-1'] };
const TRUST = { group: 'TRUSTED', reason: 'vouched for by the support desk' };
const EXPIRED = { clientIdKey: IVAN, orderRef: 'order-ivan-3', outcome: 'UNPAID', cause: 'EXPIRED' };

/**
 * What the main payer of pages and pictures does, by minute. This payer pays, is bound and trusted for a while, comes
 * back, asks too early, waits, and asks again.
 */
const STORY = new Map<number, readonly Step[]>([
  [4, [scored, asks('order-ivan-1'), pays('order-ivan-1')]],
  [8, [tells('PUT', `client/binding?clientIdKey=${IVAN}`, BINDING)]],
  [12, [tells('DELETE', `client/binding?clientIdKey=${IVAN}`)]],
  [15, [tells('PUT', `client/override?clientIdKey=${IVAN}`, TRUST)]],
  [18, [tells('DELETE', `client/override?clientIdKey=${IVAN}`)]],
  ...[22, 23, 25, 26, 28].map((minute) => [minute, [asks('order-ivan-2')]] as const),
  [29, [pays('order-ivan-2')]],
  ...[30, 31, 41].map((minute) => [minute, [asks('order-ivan-3')]] as const),
  [47, [tells('POST', 'outcomes', EXPIRED)]],
  [50, [scored, asks('order-ivan-4'), asks('order-ivan-4')]],
]);

const TRIAL = { version: 'p2.v11', mode: 'shadow', reason: 'try a longer first wait' };

/** Plays an hour of the shop, the same every time: fixed events, and seeded random ones. */
export async function simulateShopHour(
  shop: Tenant,
  operator: Tenant,
  clock: CatchingUpClock,
): Promise<void> {
  await shop.bind('regular-anna');
  await shop.override('chargeback-carl', 'BLOCKED', { reason: 'three chargebacks in a month' });
  await shop.score({ clientIdKey: 'trap-tom', userAgent: 'x', clientHints: { honeypotTriggered: true } });
  const chance = new Chance();
  for (let minute = 0; minute < MINUTES; minute++) {
    if (minute === 25) await operator.ask('POST', 'rules/rollout', TRIAL);
    const payers = 3 + chance.below(4) + Math.round(2 * Math.sin(minute / 8));
    for (let payer = 0; payer < payers; payer++) await visit(shop, chance, `${minute}-${payer}`);
    for (const step of STORY.get(minute) ?? []) await step(shop);
    clock.moveSeconds(60);
  }
}

const SPECIAL = ['regular-anna', 'chargeback-carl', 'trap-tom'];

/** Plays a visit: a payer comes, perhaps asks again too early, and perhaps pays. */
async function visit(shop: Tenant, chance: Chance, name: string): Promise<void> {
  const clientIdKey = chance.below(6) === 0 ? (SPECIAL[chance.below(3)] ?? '') : `payer-${chance.below(70)}`;
  const orderRef = `order-${name}`;
  const amountRequested = `${10 + chance.below(190)}.00`;
  await shop.score({
    clientIdKey,
    amountRequested,
    userAgent: USER_AGENT,
    clientHints: { jsOk: chance.below(12) > 0 },
  });
  await shop.verdict({ clientIdKey, orderRef, amountRequested });
  if (chance.below(4) === 0)
    await shop.verdict({ clientIdKey, orderRef, amountRequested, method: 'transfer' });
  if (chance.below(6) === 0) await shop.verdict({ clientIdKey, orderRef, amountRequested });
  if (chance.below(40) === 0) await shop.verdict({ clientIdKey, orderRef: undefined });
  if (chance.below(10) < 6)
    await shop.outcome(clientIdKey, orderRef, chance.below(5) > 0 ? 'PAID' : 'UNPAID');
}

class Chance {
  #state = 7;

  below(limit: number): number {
    this.#state = (Math.imul(this.#state, 1_103_515_245) + 12_345) & 0x7fffffff;
    return Math.floor((this.#state / 0x80000000) * limit);
  }
}
