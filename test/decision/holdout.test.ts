import { expect } from 'chai';
import fc from 'fast-check';
import type { Decision } from '#decision/decision.ts';
import { createHoldoutDraw, HOLDOUT_PERIOD_MS } from '#decision/holdout.ts';
import { toPlatformName } from '#decision/payer/client-key.ts';
import type { ScoreRequest, VerdictRequest } from '#decision/requests.ts';
import { formatProblem } from '#decision/rules/problem.ts';
import type { RuleSet } from '#decision/rules/rule-set.ts';
import { InMemorySharedLists, type SharedLists } from '#decision/shared-lists.ts';
import { Simulation } from '#decision/simulation.ts';
import { analyzeRules } from '#workbench/authoring/analyze-rules.ts';
import { deriveCasePseudonym } from '#workbench/authoring/case-pseudonym.ts';
import { runCases } from '#workbench/authoring/cases/cases.ts';
import { listRuleSetDifferences } from '#workbench/authoring/diff/rule-diff.ts';
import { explainByRules } from '#workbench/authoring/explain/explain.ts';
import { keptDecision } from '../history/archive/kept-decision.ts';
import { NOW } from '../rule-fixtures/random-states.ts';
import { itTellsOfEdits } from '../rule-fixtures/rule-edits.ts';
import { type Edit, edited, editedFiles, edits, swap } from '../rule-fixtures/sound-rules.ts';
import { REQUEST } from '../rule-fixtures/verdict-request.ts';
import { startService } from '../service/running-service.ts';
import { clientKey } from './payer/client-keys.ts';

const DEMO = toPlatformName('demo');
const CHAIN = 'groups/blocked-by-unpaid-chain';

const chainHoldsOut = (holdout: string): Edit => swap('    priority: 80\n', `    priority: 80\n${holdout}`);
const TEN_PERCENT = {
  'groups.yaml': chainHoldsOut('    holdout: 10%\n    holdoutMaxAmount: { EUR: "100.00" }\n'),
};
const RULES = edited(TEN_PERCENT);

function asked(orderRef: string, amount = '25', currency: string | null = null): VerdictRequest {
  return { ...REQUEST, sellPointKey: 's', amount, currency, orderRef };
}

const SCORE: ScoreRequest = {
  sellPointKey: 's',
  method: 'card',
  amount: '25',
  currency: null,
  fingerprint: null,
  ip: null,
  networks: [],
  jsOk: null,
  honeypotTriggered: false,
  userAgentPresent: false,
  userAgentIsAutomated: false,
  userAgentIsApp: false,
};

/** A payer with four unpaid orders in a row, whom the released rules block. */
function chained(rules: RuleSet, isHeldOut: (rule: string) => boolean, lists?: SharedLists): Simulation {
  const simulation = new Simulation(rules, DEMO, lists);
  simulation.holdOut(isHeldOut);
  for (const order of ['a', 'b', 'c', 'd'])
    simulation.outcome('payer-1', order, { outcome: 'UNPAID', cause: null, occurredAt: NOW }, NOW);
  return simulation;
}

function decide(simulation: Simulation, request = asked('e')): Decision {
  return simulation.verdict('payer-1', request, NOW + 1);
}

describe('a holdout', () => {
  it('skips a rule for a drawn client in score and verdict alike, and the record names rule and share', () => {
    const free = chained(RULES, () => true);
    expect(free.score('payer-1', SCORE, NOW).answer.clientGroup).to.equal('NEW');
    expect(decide(free)).to.deep.include({
      verdict: 'GET_NEW',
      clientGroup: 'NEW',
      holdout: [{ rule: CHAIN, share: 0.1, heldOut: true }],
    });
  });

  it('lets the rule apply to all others, and records that draw, too, in score and verdict', () => {
    const blocked = chained(RULES, () => false);
    const holdout = [{ rule: CHAIN, share: 0.1, heldOut: false }];
    const scored = blocked.score('payer-1', SCORE, NOW);
    expect([scored.answer.clientGroup, scored.drawnHoldouts]).to.deep.equal(['BLOCKED', holdout]);
    expect(decide(blocked)).to.deep.include({ verdict: 'BLOCK', holdout });
  });

  it('is not recorded where the rule would not have matched', () => {
    const simulation = new Simulation(RULES, DEMO);
    simulation.holdOut(() => true);
    expect(decide(simulation)).to.not.have.property('holdout');
  });

  it('never includes a client about whom a person decided', () => {
    const rules = edited({
      'verdicts.yaml': swap('    priority: 100\n', '    priority: 100\n    holdout: 10%\n'),
    });
    const simulation = new Simulation(rules, DEMO);
    simulation.holdOut(() => true);
    const override = { group: 'BLOCKED', reason: 'r', by: 'b', at: NOW, expiresAt: null } as const;
    simulation.override('payer-1', override, NOW);
    expect(decide(simulation)).to.deep.include({ verdict: 'BLOCK', rule: 'client-blocked' });
    expect(decide(chained(rules, () => true))).to.deep.include({ verdict: 'GET_NEW' });
  });

  it('never includes a client on a shared list', () => {
    const rules = edited({
      'groups.yaml': edits(
        swap(
          'rules:\n',
          'rules:\n  - name: on-the-list\n    priority: 99\n    conditions: { all: [{ fact: listed, params: { list: bad }, operator: equal, value: true }] }\n    event: { type: group, params: { group: BLOCKED } }\n',
        ),
      ),
      'verdicts.yaml': swap('    priority: 100\n', '    priority: 100\n    holdout: 10%\n'),
    });
    const lists = new InMemorySharedLists(deriveCasePseudonym);
    const keys = ['payer-1'];
    lists.add({
      owner: DEMO,
      list: 'bad',
      kind: 'client',
      attribute: null,
      value: 'payer-1',
      keys,
      expiresAt: null,
    });
    expect(decide(chained(rules, () => true, lists))).to.deep.include({ verdict: 'BLOCK' });
    expect(decide(chained(rules, () => true))).to.deep.include({ verdict: 'GET_NEW' });
  });

  it('leaves out clients on any list that a rule uses, and ignores lists that no rule uses', () => {
    const rules = edited({
      ...TEN_PERCENT,
      'bot-signals.yaml': swap(
        'rules:\n',
        'rules:\n  - name: risky-shop\n    conditions: { all: [{ fact: listed, params: { list: shops }, operator: equal, value: true }, { fact: paidCount, operator: greaterThan, value: 9999 }] }\n    event: { type: signal, params: { weight: 1 } }\n',
      ),
    });
    const onList = (list: string) => {
      const lists = new InMemorySharedLists(deriveCasePseudonym);
      lists.add({
        owner: DEMO,
        list,
        kind: 'sellPoint',
        attribute: null,
        value: 's',
        keys: ['s'],
        expiresAt: null,
      });
      return decide(chained(rules, () => true, lists)).verdict;
    };
    expect(onList('shops')).to.equal('BLOCK');
    expect(onList('others')).to.equal('GET_NEW');
  });

  it('is limited by its amount, and leaves out currencies that it does not name', () => {
    const verdictOf = (amount: string, currency: string | null) =>
      decide(
        chained(RULES, () => true),
        asked('e', amount, currency),
      ).verdict;
    expect(verdictOf('100.00', null)).to.equal('GET_NEW');
    expect(verdictOf('100.01', null)).to.equal('BLOCK');
    expect(verdictOf('1', 'USD')).to.equal('BLOCK');
  });

  it('skips signals and verdict rules, too', () => {
    const rules = edited({
      'bot-signals.yaml': swap('  - name: honeypot\n', '  - name: honeypot\n    holdout: 5%\n'),
      'verdicts.yaml': swap('    priority: 70\n', '    priority: 70\n    holdout: 1%\n'),
    });
    const simulation = new Simulation(rules, DEMO);
    simulation.holdOut(() => true);
    simulation.score('payer-1', { ...SCORE, honeypotTriggered: true }, NOW);
    const first = decide(simulation, asked('a'));
    expect(first).to.deep.include({ verdict: 'GET_NEW', isBot: false, signals: ['missing-user-agent'] });
    expect(first.holdout).to.deep.equal([{ rule: 'bot-signals/honeypot', share: 0.05, heldOut: true }]);
    expect(decide(simulation, asked('b'))).to.deep.include({ verdict: 'GET_NEW', rule: 'otherwise' });
  });

  it('is read from the record, and the explanation says so', async () => {
    for (const held of [true, false]) {
      const decision = decide(chained(RULES, () => held));
      const { reproduced, rules, differences } = await explainByRules(RULES, decision);
      expect({ reproduced, differences }).to.deep.equal({ reproduced: true, differences: [] });
      const why = held
        ? 'None of the other rules matched, so "otherwise" gave NEW. The client is held out of blocked-by-unpaid-chain, which matched too.'
        : 'blocked-by-unpaid-chain matched, because';
      expect(rules?.groups.why).to.contain(why);
    }
    const { holdout: _, ...without } = decide(chained(RULES, () => true));
    expect((await explainByRules(RULES, without)).reproduced).to.equal(false);
  });

  it('is kept by the archive in columns of its own', async () => {
    const decision = decide(chained(RULES, () => true));
    expect(await keptDecision(decision)).to.deep.include({
      holdout_rule: [CHAIN],
      holdout_share: [0.1],
      holdout_held_out: [true],
    });
  });

  it('can be set by a case, which says who is held out', () => {
    const steps = [
      '- { outcome: { orderRef: a, outcome: UNPAID }, times: 1 }',
      ...['b', 'c', 'd'].map((order) => `- { outcome: { orderRef: ${order}, outcome: UNPAID } }`),
    ];
    const text = (name: string, more: string, last: string) =>
      [`  - name: ${name}`, ...(more === '' ? [] : [`    ${more}`]), '    steps:', ...steps, last]
        .map((line) => (line.startsWith('-') ? `      ${line}` : line))
        .join('\n');
    const cases = [
      'cases:',
      text(
        'held',
        `heldOut: [${CHAIN}]`,
        `- { verdict: {}, expect: { verdict: GET_NEW, heldOut: [${CHAIN}] } }`,
      ),
      text('not held', '', '- { verdict: {}, expect: { verdict: BLOCK, heldOut: [] } }'),
      '',
    ].join('\n');
    const report = runCases(RULES, new Map([['cases/own.yaml', cases]]));
    expect(report.problems.map(formatProblem)).to.deep.equal([]);
    expect({ passed: report.passed, failures: report.failures }).to.deep.equal({ passed: 2, failures: [] });
    const unknown = cases.replace(`heldOut: [${CHAIN}]`, 'heldOut: [groups/has-paid]');
    expect(runCases(RULES, new Map([['cases/own.yaml', unknown]])).problems.map(formatProblem)).to.deep.equal(
      [`cases/own.yaml:3:15  unknown rule with a holdout "groups/has-paid"; allowed: ${CHAIN}`],
    );
  });

  it('leaves the rules after it reachable, and causes a note where it has no limit', () => {
    const again =
      '  - name: again\n    priority: 79\n    conditions: { all: [{ fact: unpaidChain, operator: greaterThan, value: 4 }, { fact: secondsSinceLastUnpaid, operator: lessThan, value: 604800 }] }\n    event: { type: group, params: { group: PAYING } }\n';
    const behind = (holdout: string) => {
      const changes = {
        'groups.yaml': edits(chainHoldsOut(holdout), swap('otherwise: NEW', `${again}otherwise: NEW`)),
      };
      return analyzeRules(edited(changes), editedFiles(changes));
    };
    expect(behind('').findings.map(({ kind }) => kind)).to.deep.equal(['never first']);
    const { findings, notes } = behind('    holdout: 10%\n');
    expect(findings).to.deep.equal([]);
    expect(notes.map(formatProblem)).to.deep.equal([
      'groups.yaml:26:5  "blocked-by-unpaid-chain" skips clients whatever their amount; limit what that may cost, like holdoutMaxAmount: { EUR: "100.00" }',
    ]);
  });

  it('is shown by a diff', () => {
    expect(listRuleSetDifferences(edited({}), RULES).map(({ text }) => text)).to.deep.equal([
      'blocked-by-unpaid-chain: holdout none -> 10% up to 100 EUR',
    ]);
  });

  describe('is refused for', () => itTellsOfEdits(new URL('bad-holdouts.txt', import.meta.url)));
});

describe('the draw for a holdout', () => {
  const SECRET = 'a secret that is long enough for it';
  const draw = createHoldoutDraw(SECRET);
  const client = (n: number) => clientKey(DEMO, `payer-${n}`);
  const drawn = (rule: string, share: number, secret = SECRET) =>
    Array.from({ length: 4000 }, (_, n) => createHoldoutDraw(secret)(client(n), NOW)(rule, share));
  const count = (all: readonly boolean[]) => all.filter(Boolean).length;

  it('takes the share of the clients that the rule says', () => {
    for (const share of [0.02, 0.1, 0.5]) {
      const spread = 4 * Math.sqrt(4000 * share * (1 - share));
      expect(count(drawn(CHAIN, share))).to.be.closeTo(4000 * share, spread);
    }
  });

  it('keeps the drawn clients when the share grows', () => {
    const few = drawn(CHAIN, 0.02);
    const more = drawn(CHAIN, 0.1);
    expect(few.every((held, n) => !held || more[n])).to.equal(true);
  });

  it('differs between rules, and between secrets', () => {
    const one = drawn(CHAIN, 0.5);
    for (const other of [drawn('verdicts/attempt-unpaid', 0.5), drawn(CHAIN, 0.5, `${SECRET}!`)])
      expect(count(one.map((held, n) => held === other[n]))).to.be.closeTo(2000, 4 * Math.sqrt(1000));
  });

  it('stays the same for 30 days, and changes once in that time', () => {
    fc.assert(
      fc.property(fc.nat(1000), (n) => {
        const days = Array.from({ length: 60 }, (_, day) =>
          draw(client(n), NOW + day * 86_400_000)(CHAIN, 0.5),
        );
        const changes = days.slice(1).filter((held, day) => held !== days[day]).length;
        expect(changes).to.be.at.most(2);
      }),
    );
    expect(HOLDOUT_PERIOD_MS).to.equal(30 * 86_400_000);
  });
});

describe('the service', () => {
  it('holds out the same clients in score and verdict, by its secret', async () => {
    const rules = edited({ 'groups.yaml': chainHoldsOut('    holdout: 50%\n') });
    const service = await startService({ rules });
    try {
      const shop = await service.tenant();
      const groups: string[] = [];
      for (let n = 0; n < 12; n++) {
        const clientIdKey = `held-${n}`;
        for (const order of ['a', 'b', 'c', 'd']) await shop.outcome(clientIdKey, `${order}-${n}`, 'UNPAID');
        const { body: scored } = await shop.score({ clientIdKey });
        const { body: decided } = await shop.verdict({ clientIdKey, orderRef: `e-${n}` });
        expect(decided['verdict']).to.equal(scored['clientGroup'] === 'BLOCKED' ? 'BLOCK' : 'GET_NEW');
        groups.push(String(scored['clientGroup']));
      }
      expect(new Set(groups)).to.deep.equal(new Set(['BLOCKED', 'NEW']));
    } finally {
      await service.stop();
    }
  });
});
