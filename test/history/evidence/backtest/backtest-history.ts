import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { createFixedRuleSource } from '#checkout/rollout/loaded-rules.ts';
import type { ScoringService } from '#checkout/scoring/scoring.ts';
import { type DrawHoldouts, NO_HOLDOUTS } from '#decision/holdout.ts';
import { toPlatformName } from '#decision/payer/client-key.ts';
import type { OutcomeCause } from '#decision/payer/order.ts';
import { createPseudonymizer } from '#decision/pseudonym.ts';
import type { RuleSet } from '#decision/rules/rule-set.ts';
import { loadRuleSet } from '#state/rule-folders/rule-folder.ts';
import { openSqliteStore } from '#state/sqlite/store.ts';
import type { Store } from '#state/store.ts';
import { TEST_SALT } from '../../../decision/payer/client-keys.ts';
import { currentRules, RULES_FOLDER } from '../../../service/current-rules.ts';
import { SIGNAL_SECRET } from '../../../service/running-service.ts';
import { scoringService } from '../../../service/scoring-service.ts';
import { scoring } from '../../../workbench/commands/scoring.ts';

export const PLATFORM = toPlatformName('demo');
export const JULY = Date.UTC(2026, 6, 1);

/** A replacement in one file of a rule set. */
export interface Edit {
  readonly file: string;
  readonly from: string;
  readonly to: string;
}

/** A folder of its own with rule sets that begin as copies of p2.v10, a store and a place for files. */
export class Workplace {
  readonly folder = mkdtempSync(join(tmpdir(), 'scoring-backtest-test-'));
  readonly rulesDir = join(this.folder, 'rules');
  readonly dataDir = join(this.folder, 'data');

  constructor() {
    mkdirSync(this.rulesDir);
    cpSync(RULES_FOLDER, join(this.rulesDir, 'p2.v10'), { recursive: true });
  }

  /** One with a history, whose journal is in the file `j`. */
  static async after(live: (place: Workplace) => Promise<void>): Promise<Workplace> {
    const place = new Workplace();
    await live(place);
    await place.scoring('journal', 'export', '--output', place.path('j'));
    return place;
  }

  path(...names: readonly string[]): string {
    return join(this.folder, ...names);
  }

  text(version: string, file: string): string {
    return readFileSync(join(this.rulesDir, version, file), 'utf8');
  }

  /** A draft: p2.v10 under another name and with edits, each of which must find its place. */
  draft(version: string, ...edits: readonly Edit[]): void {
    const folder = join(this.rulesDir, version);
    cpSync(join(this.rulesDir, 'p2.v10'), folder, { recursive: true });
    rmSync(join(folder, 'release.json'), { force: true });
    for (const { file, from, to } of [
      { file: 'ruleset.yaml', from: 'ruleVersion: p2.v10', to: `ruleVersion: ${version}` },
      ...edits,
    ]) {
      const text = this.text(version, file);
      if (!text.includes(from)) throw new Error(`${file} of ${version} has no "${from}"`);
      writeFileSync(join(folder, file), text.replace(from, to));
    }
  }

  rules(version: string): RuleSet {
    const loaded = loadRuleSet(join(this.rulesDir, version));
    if (!loaded.ok) throw new Error(JSON.stringify(loaded.problems));
    return loaded.ruleSet;
  }

  environment(): NodeJS.ProcessEnv {
    const { PATH, HOME, TMPDIR } = process.env;
    return { PATH, HOME, TMPDIR, RULES_DIR: this.rulesDir, DATA_DIR: this.dataDir, SIGNAL_SECRET };
  }

  /** Runs `scoring <args>` as a person would. */
  async scoring(...args: readonly string[]): Promise<Ran> {
    const { exitCode, stdout, stderr } = await scoring(args, this.environment());
    return { code: exitCode, stdout, stderr };
  }

  end(): void {
    rmSync(this.folder, { recursive: true, force: true });
  }
}

export interface Ran {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** A service on a real store whose clock is set by hand. */
export class History {
  now = JULY;
  readonly #service: ScoringService;

  constructor(store: Store, rules: RuleSet = currentRules(), holdoutDraw: DrawHoldouts = NO_HOLDOUTS) {
    const parts = {
      ruleSource: createFixedRuleSource(rules),
      pseudonym: createPseudonymizer('secret'),
      holdoutDraw,
    };
    this.#service = scoringService(store, () => this.now, parts);
  }

  async score(clientIdKey: string, device = clientIdKey): Promise<void> {
    await this.#service.score(PLATFORM, {
      sellPointKey: 'shop-1',
      clientIdKey,
      amountRequested: '10.50',
      selectedMethodKey: 'card',
      fingerprint: `device of ${device}`,
      ip: '192.0.2.7',
      userAgent: 'Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0',
    });
  }

  async verdict(
    clientIdKey: string,
    orderRef: string,
    amountRequested = '10.50',
    toPayCurrency = 'EUR',
  ): Promise<string> {
    const body = {
      sellPointKey: 'shop-1',
      clientIdKey,
      method: 'card',
      amountRequested,
      toPayCurrency,
      orderRef,
    };
    const asked = { requestId: 'request', idempotencyKey: null };
    return (await this.#service.verdict(PLATFORM, body, asked)).answer.verdict;
  }

  async outcome(
    clientIdKey: string,
    orderRef: string,
    outcome: 'PAID' | 'UNPAID',
    cause: OutcomeCause | null = null,
    occurredAt: number | null = null,
  ): Promise<void> {
    await this.#service.outcome(PLATFORM, { clientIdKey, orderRef, outcome, cause, occurredAt });
  }

  async erase(clientIdKey: string): Promise<void> {
    await this.#service.erase(PLATFORM, clientIdKey);
  }

  /** Ends the wait that the client's newest decision imposed. */
  async endWait(store: Store, clientIdKey: string): Promise<void> {
    const [wait] = await store.decisionsOfClient(store.clientKeys.of(PLATFORM, clientIdKey), 1);
    const by = { id: 'key 1', owner: null, text: 'key 1' };
    expect(wait && (await this.#service.endWait(wait, 'called', by))).to.equal('ended');
  }

  async bind(clientIdKey: string): Promise<void> {
    const binding = { requisiteRef: 'requisite-1', acceptorKeys: ['a'], method: null, expiresAt: null };
    await this.#service.setBinding(PLATFORM, clientIdKey, binding);
  }

  async block(clientIdKey: string): Promise<void> {
    const override = { group: 'BLOCKED', reason: 'chargebacks', by: 'Ada', expiresAt: null } as const;
    await this.#service.setOverride(PLATFORM, clientIdKey, override, 'key 1');
  }
}

/**
 * The history of most tests. Ann asks 2 s too early, comes back and pays; Bob never pays and is blocked for his chain
 * of four; Cid and Dan share a device; Eve is bound; Fay is blocked by a person.
 */
export async function playJuly(workplace: Workplace): Promise<void> {
  const store = openSqliteStore(workplace.dataDir, { salt: TEST_SALT });
  const history = new History(store);
  const after = (seconds: number) => {
    history.now += seconds * 1000;
  };
  await history.score('ann');
  await history.verdict('ann', 'ann-1');
  after(10);
  await history.verdict('ann', 'ann-2');
  after(28);
  await history.verdict('ann', 'ann-2');
  after(400);
  await history.verdict('ann', 'ann-2');
  after(5);
  await history.outcome('ann', 'ann-2', 'PAID');
  await history.outcome('ann', 'ann-1', 'UNPAID');
  for (const order of ['bob-1', 'bob-2', 'bob-3', 'bob-4', 'bob-5']) {
    await history.score('bob');
    await history.verdict('bob', order, '1.0000001');
    await history.outcome('bob', order, 'UNPAID');
    after(25 * 3600);
  }
  await history.score('cid', 'shared');
  await history.verdict('cid', 'cid-1', '0.0000001');
  // Inputs of one time have no order among different clients.
  after(0.001);
  await history.score('dan', 'shared');
  await history.verdict('dan', 'dan-1');
  await history.bind('eve');
  await history.verdict('eve', 'eve-1');
  await history.block('fay');
  await history.verdict('fay', 'fay-1');
  await store.close();
}

/** Drafts to be tried on July, each with another change. */
export function draftCandidates(place: Workplace): void {
  place.draft('p2.v11', {
    file: 'verdicts.yaml',
    from: 'waitRemainingSeconds, operator: greaterThan, value: 0',
    to: 'waitRemainingSeconds, operator: greaterThan, value: 2',
  });
  place.draft('p2.v12', {
    file: 'groups.yaml',
    from: 'unpaidChain, operator: greaterThanInclusive, value: 4',
    to: 'unpaidChain, operator: greaterThanInclusive, value: 3',
  });
  place.draft('p2.v13', {
    file: 'bot-signals.yaml',
    from: 'clientsOnFingerprint, params: { window: 24h }',
    to: 'clientsOnFingerprint, params: { window: 48h }',
  });
  place.draft('p2.v14', { file: 'ladder.yaml', from: '[30s, 5m, 30m]', to: '[20s, 5m, 30m]' });
  place.draft(
    'p2.v16',
    { file: 'ruleset.yaml', from: 'currency: EUR', to: 'currency: USD' },
    {
      file: 'verdicts.yaml',
      from: '{ fact: attemptOpen, operator: equal, value: true }',
      to: '{ fact: currency, operator: equal, value: USD }',
    },
  );
  place.draft('p2.v17', {
    file: 'verdicts.yaml',
    from: '{ fact: attemptOpen, operator: equal, value: true }',
    to: '{ fact: listed, params: { list: blocked-devices }, operator: equal, value: true }',
  });
  place.draft('p2.v15', { file: 'bot-signals.yaml', from: 'threshold: 4', to: 'threshold: 5' });
}
