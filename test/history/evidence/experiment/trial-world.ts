import { Fleet } from '#checkout/rollout/fleet.ts';
import { createFixedRuleSource, type RuleSource } from '#checkout/rollout/loaded-rules.ts';
import type { RolloutNode } from '#checkout/rollout/rollout-node.ts';
import type { ScoringService } from '#checkout/scoring/scoring.ts';
import { isAttempt } from '#decision/conclude-verdict.ts';
import { encodeObjective } from '#decision/objective.ts';
import { type PlatformName, toPlatformName } from '#decision/payer/client-key.ts';
import { isRuleVersion, type RuleVersion } from '#decision/rules/rule-set.ts';
import type { Store } from '#state/store.ts';
import { rollOut } from '#workbench/rollout/change-rollout.ts';
import { addVersion, rulesDirectory, startQuietNode } from '../../../checkout/rollout/rule-folders.ts';
import { scoreBody } from '../../../service/request-bodies.ts';
import { scoringService } from '../../../service/scoring-service.ts';
import { seeded } from '../../../simulation/seeded-random.ts';
import { T0 } from '../../../state/clients.ts';

export const SHOP: PlatformName = toPlatformName('shop');

/** What one client did, and how it was answered. */
export interface SimulatedClient {
  readonly version: string | null;
  readonly requisites: number;
  readonly waits: number;
  /** Waits that support ended, after the payer left. */
  readonly waitsEnded: number;
  /** Orders with a wait after which nothing was granted. */
  readonly lost: number;
  readonly paid: number;
  /** In cents. */
  readonly amount: number;
  readonly reversed: number;
  readonly lastPaid: PaidOrder | null;
}

export interface PaidOrder {
  readonly clientIdKey: string;
  readonly orderRef: string;
  readonly cents: number;
}

const PATIENCE_SECONDS = 600;
const ORDERS = 4;
const CLIENT_EVERY_MS = 60_000;

/** Payers who react to their waits, decided by p2.v10 or the slower p2.v11. */
export class TrialWorld {
  now = T0;
  readonly rulesDir = rulesDirectory();
  readonly #store: Store;
  readonly #hasSupport: boolean;
  readonly nodes: RolloutNode[] = [];

  /** With support, the wait of every payer who leaves is ended. */
  constructor(store: Store, hasSupport = false) {
    this.#store = store;
    this.#hasSupport = hasSupport;
    addVersion(this.rulesDir, 'p2.v11', [{ file: 'ladder.yaml', from: '[30s, 5m', to: '[20m, 25m' }]);
    addVersion(this.rulesDir, 'p2.v12', []);
  }

  async start(): Promise<void> {
    this.nodes.push(await startQuietNode(this.#store, this.rulesDir, this.#clock));
  }

  /** p2.v11 for so many of the clients, and p2.v12, which is p2.v10 by another name, for some others. */
  async begin(percent: number, ofTheSame = 0): Promise<void> {
    const node = this.#first();
    const also = ofTheSame === 0 ? [] : [{ version: version('p2.v12'), percent: ofTheSame }];
    const objective = encodeObjective({ windowDays: 1, reversalDays: 1, reversalCost: 5 }) ?? '';
    const goal = { mode: 'canary', percent, guardPoints: null, objective, also } as const;
    const change = { who: 'ann', at: this.now, reason: 'a test', revision: null, acceptDifference: true };
    const store = this.#store;
    const parts = { fleet: new Fleet(store), rules: node.rules, store, decidedLately: async () => [] };
    await rollOut(parts, version('p2.v11'), goal, change);
    for (const one of this.nodes) await one.syncWithFleet();
  }

  /** Another node instead of the first. */
  async restartFirst(): Promise<void> {
    await this.nodes.shift()?.stop();
    await this.start();
  }

  #first(): RolloutNode {
    const [node] = this.nodes;
    if (node === undefined) throw new Error('there is no node');
    return node;
  }

  /** Reverses a payment. */
  async reverse({ clientIdKey, orderRef }: PaidOrder): Promise<void> {
    const report = { outcome: 'UNPAID', cause: 'REVERSED', occurredAt: this.now } as const;
    await this.#service(this.#first()).outcome(SHOP, { clientIdKey, orderRef, ...report });
  }

  /** The first clients show one device. */
  async shareDevice(clients: number): Promise<void> {
    const service = this.#service(this.#first());
    for (let client = 0; client < clients; client++)
      await service.score(SHOP, scoreBody({ clientIdKey: `payer-${client}`, fingerprint: 'a device' }));
  }

  async stop(): Promise<void> {
    for (const node of this.nodes) await node.stop();
  }

  /** The lives of some clients, each served by the nodes in turn. */
  async live(seed: number, first: number, clients: number): Promise<readonly SimulatedClient[]> {
    const services = this.nodes.map((node) => this.#service(node));
    const simulated: SimulatedClient[] = [];
    for (let client = first; client < first + clients; client++) {
      const service = services[client % services.length];
      const draw =
        this.nodes[0]?.choose(this.#store.clientKeys.of(SHOP, `payer-${client}`)).draw?.version ?? null;
      if (service !== undefined)
        simulated.push({ ...(await this.#life(service, seed, client)), version: draw });
    }
    return simulated;
  }

  /** The same lives under one version alone. */
  async liveUnder(name: string, seed: number, clients: number): Promise<readonly SimulatedClient[]> {
    const rules = this.#first().rules.findByVersion(name);
    if (rules === null) throw new Error(`there is no ${name}`);
    const service = this.#service(createFixedRuleSource(rules));
    const simulated: SimulatedClient[] = [];
    for (let client = 0; client < clients; client++) simulated.push(await this.#life(service, seed, client));
    return simulated;
  }

  readonly #clock = () => this.now;

  #service(ruleSource: RuleSource): ScoringService {
    return scoringService(this.#store, this.#clock, { ruleSource });
  }

  async #life(service: ScoringService, seed: number, client: number): Promise<SimulatedClient> {
    const draw = seeded(seed * 1_000_003 + client);
    const orders = { requisites: 0, waits: 0, waitsEnded: 0, lost: 0, paid: 0 };
    const simulated = { ...orders, version: null, amount: 0, reversed: 0 };
    let lastPaid: PaidOrder | null = null;
    const clientIdKey = `payer-${client}`;
    const payChance = 0.2 + 0.6 * draw();
    this.now = T0 + 1 + client * CLIENT_EVERY_MS;
    for (let order = 0; order < ORDERS; order++) {
      const [pays, stays, cents] = [draw() < payChance, draw(), 1000 + Math.floor(9000 * draw())];
      const orderRef = `order-${client}-${order}`;
      const amountRequested = (cents / 100).toFixed(2);
      const asked = await this.#ask(service, { clientIdKey, orderRef, amountRequested, stays });
      simulated.waits += asked.waits;
      simulated.waitsEnded += asked.waitsEnded;
      simulated.lost = asked.isGranted ? 0 : simulated.lost + Math.min(1, asked.waits);
      if (!asked.isGranted) continue;
      simulated.requisites += 1;
      this.now += 30_000;
      const outcome = pays ? 'PAID' : 'UNPAID';
      await service.outcome(SHOP, { clientIdKey, orderRef, outcome, cause: null, occurredAt: this.now });
      simulated.paid += pays ? 1 : 0;
      simulated.amount += pays ? cents : 0;
      if (pays) lastPaid = { clientIdKey, orderRef, cents };
      this.now += 30_000;
    }
    return { ...simulated, lastPaid };
  }

  /** Asks for an order, and again after the wait that it is told, unless that is too long for the payer. */
  async #ask(service: ScoringService, { stays, ...order }: AskedOrder) {
    const body = { sellPointKey: 'shop-1', method: 'card', toPayCurrency: 'EUR', ...order };
    const ask = () => service.verdict(SHOP, body, { requestId: 'r', idempotencyKey: null });
    const { answer: first, decisionId } = await ask();
    if (first.verdict !== 'WAIT') return { waits: 0, waitsEnded: 0, isGranted: isAttempt(first.verdict) };
    const waitSeconds = first.waitSeconds ?? 0;
    if (stays > Math.exp(-waitSeconds / PATIENCE_SECONDS))
      return { waits: 1, waitsEnded: await this.#endWait(service, decisionId), isGranted: false };
    this.now += waitSeconds * 1000 + 1;
    const again = (await ask()).answer;
    return { waits: again.verdict === 'WAIT' ? 2 : 1, waitsEnded: 0, isGranted: isAttempt(again.verdict) };
  }

  async #endWait(service: ScoringService, decisionId: string): Promise<0 | 1> {
    const decision = this.#hasSupport ? await this.#store.decision(decisionId) : null;
    if (decision === null) return 0;
    const { clientIdKey: id } = decision;
    // Each payer reaches somebody else: a person ends only so many waits in a day.
    return (await service.endWait(decision, 'the payer called', { id, owner: id, text: id })) === 'ended'
      ? 1
      : 0;
  }
}

interface AskedOrder {
  readonly clientIdKey: string;
  readonly orderRef: string;
  readonly amountRequested: string;
  /** 0 to 1: the greater, the sooner the payer leaves. */
  readonly stays: number;
}

function version(text: string): RuleVersion {
  if (!isRuleVersion(text)) throw new Error(`${text} is no version`);
  return text;
}
