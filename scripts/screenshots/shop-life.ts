import type { Application } from '../../src/application.ts';

const MINUTES = 60;

const USER_AGENT = 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0';

/** Sends the requests of the shop's checkout and back office; refusals are normal. */
export class Shop {
  readonly #urls: Pick<Application, 'callerUrl' | 'platformUrl'>;
  readonly #key: string;

  constructor(urls: Pick<Application, 'callerUrl' | 'platformUrl'>, key: string) {
    this.#urls = urls;
    this.#key = key;
  }

  score(body: object): Promise<void> {
    const ordinary = { sellPointKey: 'shop-1', amountRequested: '25.00', selectedMethodKey: 'card' };
    return this.#send('POST', `${this.#urls.callerUrl}/v1/client/score`, { ...ordinary, ...body });
  }

  verdict(body: object): Promise<void> {
    const ordinary = { sellPointKey: 'shop-1', amountRequested: '25.00', method: 'card' };
    return this.#send('POST', `${this.#urls.callerUrl}/v1/client/verdict`, { ...ordinary, ...body });
  }

  outcome(clientIdKey: string, orderRef: string, outcome: 'PAID' | 'UNPAID'): Promise<void> {
    return this.tell('POST', 'outcomes', { clientIdKey, orderRef, outcome });
  }

  tell(method: string, path: string, body: object): Promise<void> {
    return this.#send(method, `${this.#urls.platformUrl}/v1/platform/${path}`, body);
  }

  async #send(method: string, url: string, body: object): Promise<void> {
    const headers = { 'Content-Type': 'application/json', 'X-KA-Access-Key': this.#key };
    const answer = await fetch(url, { method, headers, body: JSON.stringify(body) });
    const text = await answer.text();
    if (!answer.ok && answer.status !== 400) throw new Error(`${method} ${url} was refused: ${text}`);
  }
}

/** Begins an hour ago, and never passes the present. */
export class CatchingUpClock {
  #behindMs = MINUTES * 60_000 - 30_000;

  readonly now = (): number => Date.now() - this.#behindMs;

  moveSeconds(seconds: number): void {
    this.#behindMs = Math.max(0, this.#behindMs - seconds * 1000);
  }
}

const IVAN = 'impatient-ivan';

type Step = (shop: Shop) => Promise<void>;

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
    shop.tell(method, path, body);

const BINDING = { requisiteRef: 'requisite-3', acceptorKeys: ['acceptor-1'] };
const TRUST = { group: 'TRUSTED', reason: 'vouched for by the support desk' };
const EXPIRED = { clientIdKey: IVAN, orderRef: 'order-ivan-3', outcome: 'UNPAID', cause: 'EXPIRED' };

/**
 * The main payer of pages and pictures, by minutes: pays, is bound and trusted for a while, comes back, asks too
 * early, waits, and asks again.
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

/** The same every time: fixed events first, then seeded random ones. */
export async function liveAnHour(shop: Shop, operator: Shop, clock: CatchingUpClock): Promise<void> {
  await shop.tell('PUT', 'client/binding?clientIdKey=regular-anna', {
    requisiteRef: 'requisite-7',
    acceptorKeys: ['acceptor-1', 'acceptor-2'],
  });
  await shop.tell('PUT', 'client/override?clientIdKey=chargeback-carl', {
    group: 'BLOCKED',
    reason: 'three chargebacks in a month',
  });
  await shop.score({ clientIdKey: 'trap-tom', userAgent: 'x', clientHints: { honeypotTriggered: true } });
  const chance = new Chance();
  for (let minute = 0; minute < MINUTES; minute++) {
    if (minute === 25) await startTrial(operator);
    const payers = 3 + chance.below(4) + Math.round(2 * Math.sin(minute / 8));
    for (let payer = 0; payer < payers; payer++) await visit(shop, chance, `${minute}-${payer}`);
    for (const step of STORY.get(minute) ?? []) await step(shop);
    clock.moveSeconds(60);
  }
}

function startTrial(operator: Shop): Promise<void> {
  const reason = 'try a longer first wait';
  return operator.tell('POST', 'rules/rollout', { version: 'p2.v11', mode: 'shadow', reason });
}

const SPECIAL = ['regular-anna', 'chargeback-carl', 'trap-tom'];

/** A payer comes, perhaps asks again too early, and perhaps pays. */
async function visit(shop: Shop, chance: Chance, name: string): Promise<void> {
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
  if (chance.below(40) === 0) await shop.verdict({ clientIdKey });
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
