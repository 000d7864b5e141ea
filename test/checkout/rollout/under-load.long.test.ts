import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import { LoadedRules } from '#checkout/rollout/loaded-rules.ts';
import { assessFromFactValues, chooseVerdictRule } from '#decision/assess.ts';
import type { Decision, VerdictAnswer } from '#decision/decision.ts';
import type { RuleSet } from '#decision/rules/rule-set.ts';
import { createDirectRuleReader } from '#state/rule-folders/direct-reader.ts';
import type { FollowReport } from '#workbench/rollout/change-rollout.ts';
import { describeWithServer } from '../../servers/needed-programs.ts';
import { type RedisServers, startStandalone } from '../../servers/redis.ts';
import { askUnlessStandstill } from '../../servers/standstill.ts';
import { temporaryDirectory } from '../../servers/temporary-directory.ts';
import type { Answer } from '../../service/http-call.ts';
import { issueKey } from '../../service/issued-key.ts';
import { SIGNAL_SECRET } from '../../service/running-service.ts';
import { type ServiceProcess, spawnService } from '../../service/service-process.ts';
import { Tenant } from '../../service/tenant.ts';
import { openPatiently } from '../../stores/temporary-store.ts';
import { addVersion, LONGER_FIRST_WAIT, rulesDirectory } from './rule-folders.ts';

const WORKERS = 12;

/** A light load that keeps requests under way during the seconds of every change. */
const PAUSE_MS = 45;

/** Only requests under way matter to a change, so more requests between changes find no more. */
const STEP_EVERY = 20 * WORKERS;

interface Seen {
  readonly clientIdKey: string;
  readonly answer: Answer<VerdictAnswer>;
}

/** Verdicts of these clients over all nodes, until it is stopped. */
class Load {
  readonly seen: Seen[] = [];
  readonly #workers: Promise<void>[];
  readonly #clients: number;
  #stopping = false;

  constructor(tenants: readonly Tenant[], clients: number) {
    this.#clients = clients;
    this.#workers = Array.from({ length: WORKERS }, (_, worker) => this.#work(worker, tenants));
  }

  async reach(count: number): Promise<void> {
    while (this.seen.length < count) await sleep(20);
  }

  async stop(): Promise<readonly Seen[]> {
    this.#stopping = true;
    await Promise.all(this.#workers);
    return this.seen;
  }

  async #work(worker: number, tenants: readonly Tenant[]): Promise<void> {
    for (let round = 0; !this.#stopping; round++) {
      const clientIdKey = `client-${(worker + round * WORKERS) % this.#clients} of ${this.#clients}`;
      const tenant = tenants[round % tenants.length];
      if (tenant === undefined) return;
      const orderRef = `order-${worker}-${round}`;
      const answer = await askUnlessStandstill(() => tenant.verdict({ clientIdKey, orderRef }));
      this.seen.push({ clientIdKey, answer });
      await sleep(PAUSE_MS);
    }
  }
}

describeWithServer('redis-server', 'two nodes on one Redis under load', () => {
  let servers: RedisServers;
  let rulesDir: string;
  let nodes: ServiceProcess[];
  let tenants: Tenant[];
  let operators: Tenant[];

  before(async () => {
    servers = await startStandalone();
    rulesDir = rulesDirectory();
    addVersion(rulesDir, 'p2.v11', [LONGER_FIRST_WAIT]);
    const env = {
      REDIS_URL: servers.url,
      RULES_DIR: rulesDir,
      RULE_VERSION: 'p2.v10',
      SIGNAL_SECRET,
      LOG_LEVEL: 'warn',
      ARCHIVE_DIR: 'off',
    };
    nodes = [await spawnService(temporaryDirectory(), env), await spawnService(temporaryDirectory(), env)];
    const kept = { dataDir: temporaryDirectory(), redisUrl: servers.url };
    const key = await issueKey(kept);
    tenants = nodes.map((node) => new Tenant(node, key));
    const operatorKey = await issueKey(kept, '*');
    operators = nodes.map((node) => new Tenant(node, operatorKey));
  });

  after(async () => {
    for (const node of nodes) await node.stop();
    await servers.stop();
  });

  const operate = (node: number, action: string, body: object) =>
    askUnlessStandstill(() => {
      const operator = operators[node];
      if (operator === undefined) throw new Error(`there is no node ${node}`);
      return operator.ask<FollowReport>('POST', `rules/${action}`, { reason: 'a test', ...body });
    });
  const rollout = (body: object) => operate(0, 'rollout', body);
  const rollback = () => operate(1, 'rollback', {});

  it('answer every request by one rule set while versions come and go', async function () {
    this.timeout(300_000);
    const load = new Load(tenants, 400);
    const steps = [
      () => rollout({ version: 'p2.v11', mode: 'shadow' }),
      () => rollout({ version: 'p2.v11', mode: 'canary', percent: 10 }),
      () => rollout({ version: 'p2.v11', mode: 'canary', percent: 50 }),
      () => rollout({ version: 'p2.v11', mode: 'active' }),
      rollback,
    ];
    for (const [index, step] of steps.entries()) {
      await load.reach(STEP_EVERY * (index + 1));
      const answer = await step();
      expect(answer?.status, JSON.stringify(answer?.body)).to.equal(200);
      expect(answer?.body.following).to.have.length(2);
      expect(answer?.body.lagging).to.deep.equal([]);
    }
    await load.reach(STEP_EVERY * (steps.length + 1));
    const seen = await load.stop();

    expect(seen.filter(({ answer }) => answer.status !== 200)).to.deep.equal([]);
    const decisions = await journalledDecisions(servers.url);
    const rules = await LoadedRules.read(rulesDir, createDirectRuleReader(rulesDir));
    expect(new Set(seen.map(({ answer }) => answer.body.ruleVersion))).to.deep.equal(
      new Set(['p2.v10', 'p2.v11']),
    );
    let checked = 0;
    for (const { answer } of seen) {
      const decision = decisions.get(answer.headers.get('X-Decision-Id') ?? '');
      if (decision === undefined) throw new Error('an answered verdict is not in the journal');
      expect(decision.ruleVersion).to.equal(answer.body.ruleVersion);
      expect(rederived(decision, rules)).to.deep.equal(answerOf(decision));
      checked++;
    }
    expect(checked).to.be.at.least(STEP_EVERY * (steps.length + 1));
  });
});

async function journalledDecisions(url: string): Promise<ReadonlyMap<string, Decision>> {
  const store = await openPatiently(url);
  const decisions = new Map<string, Decision>();
  let cursor: string | null = null;
  for (;;) {
    const page: Awaited<ReturnType<typeof store.readJournal>> = await store.readJournal(cursor, 1000);
    for (const entry of page.entries) {
      if (entry.kind === 'verdict') decisions.set(entry.decision.decisionId, entry.decision);
    }
    if (page.entries.length === 0) break;
    cursor = page.cursor;
  }
  await store.close();
  return decisions;
}

const answerOf = ({ verdict, rule, isBot, clientGroup, signals }: Decision) => ({
  verdict,
  rule,
  isBot,
  clientGroup,
  signals,
});

/** Decides again from the recorded facts by the recorded rule set. */
function rederived(decision: Decision, rules: LoadedRules) {
  const ruleSet: RuleSet | null = rules.findByDigest(decision.digest);
  if (ruleSet?.version !== decision.ruleVersion)
    throw new Error(`${decision.ruleVersion} has another digest`);
  const values = ruleSet.facts.map(({ label }) => decision.facts[label] ?? null);
  const { isBot, clientGroup, signals, values: concluded } = assessFromFactValues(ruleSet, values, false);
  const { rule, params } = chooseVerdictRule(ruleSet, concluded);
  return { verdict: params.verdict, rule, isBot, clientGroup, signals };
}
