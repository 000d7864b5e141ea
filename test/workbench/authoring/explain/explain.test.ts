import { expect } from 'chai';
import type { Decision } from '#decision/decision.ts';
import { toPlatformName } from '#decision/payer/client-key.ts';
import { createAttributePseudonymizer } from '#decision/pseudonym.ts';
import { compileWithOtherHmacs } from '#decision/rules/evaluate/compile.ts';
import type { RuleSet } from '#decision/rules/rule-set.ts';
import { InMemorySharedLists } from '#decision/shared-lists.ts';
import { Simulation } from '#decision/simulation.ts';
import { deriveCasePseudonym } from '#workbench/authoring/case-pseudonym.ts';
import { explainByRules, explainWithoutRules } from '#workbench/authoring/explain/explain.ts';
import { formatExplanation } from '#workbench/authoring/explain/explanation-text.ts';
import { answerByOtherVersion } from '#workbench/authoring/explain/what-if.ts';
import { BIN_RULES } from '../../../rule-fixtures/pseudonym-constants.ts';
import { edited, swap } from '../../../rule-fixtures/sound-rules.ts';
import { itTells } from '../../../rule-fixtures/told.ts';
import { REQUEST } from '../../../rule-fixtures/verdict-request.ts';

const BEGIN = Date.UTC(2026, 0, 1);
const rules = edited({});

/** The decisions about one payer who asks at these seconds. */
function decide(
  atSeconds: readonly number[],
  { platform = 'demo', request = REQUEST, set = rules, prepare = (_: Simulation) => {} } = {},
): readonly Decision[] {
  const simulation = new Simulation(set, toPlatformName(platform));
  prepare(simulation);
  return atSeconds.map((second) => simulation.verdict('payer-1', request, BEGIN + second * 1000));
}

function last(decisions: readonly Decision[]): Decision {
  const decision = decisions.at(-1);
  if (decision === undefined) throw new Error('there is a decision');
  return decision;
}

const TOO_EARLY = last(decide([0, 10, 39]));

describe('the explanation of a decision', () => {
  it('reproduces every decision of a walk up the ladder, of a bound client and of a blocked one', async () => {
    const bind = (simulation: Simulation) =>
      simulation.bind(
        'payer-1',
        { requisiteRef: 'requisite-7', acceptorKeys: ['a'], method: null, expiresAt: null },
        BEGIN,
      );
    const block = (simulation: Simulation) =>
      simulation.override(
        'payer-1',
        { group: 'BLOCKED', reason: 'r', by: 'b', at: BEGIN, expiresAt: null },
        BEGIN,
      );
    const decisions = [
      ...decide([0, 10, 39, 40, 400, 2600, 2601]),
      ...decide([0, 10, 45], { prepare: bind }),
      ...decide([0, 1], { prepare: block }),
      ...decide([0, 1], { platform: 'sandbox' }),
      ...decide(Array.from({ length: 61 }, (_, second) => second)),
    ];
    expect(new Set(decisions.map(({ rule }) => rule))).to.have.all.keys(
      'otherwise',
      'attempt-unpaid',
      'asked-too-early',
      'wait-served',
      'show-bound-requisite',
      'client-blocked',
      'bot-blocked',
    );
    for (const decision of decisions) {
      const { reproduced, differences } = await explainByRules(rules, JSON.parse(JSON.stringify(decision)));
      expect({ reproduced, differences }).to.deep.equal({ reproduced: true, differences: [] });
    }
  });

  it('has group, bot flag and verdict, each with its rule', async () => {
    const { groups, signals, verdicts } = (await explainByRules(rules, TOO_EARLY)).rules ?? {};
    expect(groups).to.include({ group: 'NEW', rule: 'otherwise' });
    expect(signals).to.include({ isBot: false, weight: 0, threshold: 4 });
    expect(verdicts).to.include({ verdict: 'WAIT', rule: 'asked-too-early' });
  });

  describe('names the level of a wait, and where it is written', () => {
    const lastWhy = async (decisions: readonly Decision[], set = rules) =>
      (await explainByRules(set, last(decisions))).rules?.verdicts.why.replace(/^.*? Its wait/, 'Its wait');

    it('on the ladder of a platform', async () => {
      expect(await lastWhy(decide([0, 1], { platform: 'sandbox' }))).to.equal(
        'Its wait is level 1 of the ladder, 10s (ruleset.yaml:22).',
      );
    });

    it('on a named ladder, with each level on a line of its own', async () => {
      const set = edited({
        'ladder.yaml': swap('resetAfter: 24h', 'resetAfter: 24h\nladders:\n  patient:\n    - 2m\n    - 20m'),
        'verdicts.yaml': swap(
          'verdict: WAIT\n        reason: "The previous',
          'verdict: WAIT\n        ladder: patient\n        reason: "The previous',
        ),
      });
      expect(await lastWhy(decide([0, 1], { set }), set)).to.equal(
        'Its wait is level 1 of the ladder "patient", 2m (ladder.yaml:10).',
      );
    });

    it('and says when the wait before makes it longer', async () => {
      const set = edited({
        'ladder.yaml': swap('resetAfter: 24h', 'resetAfter: 24h\nladders: { brief: [5s] }'),
        'verdicts.yaml': swap(
          'verdict: WAIT\n        reason: "Asked',
          'verdict: WAIT\n        ladder: brief\n        reason: "Asked',
        ),
      });
      expect(await lastWhy(decide([0, 10, 39], { set }), set)).to.equal(
        'Its wait is level 1 of the ladder "brief", 5s (ladder.yaml:8); it is longer, because no wait is shorter than the one before it or ends earlier.',
      );
    });
  });

  it('says where a decision that was tampered with differs', async () => {
    const forged: Decision = {
      ...TOO_EARLY,
      verdict: 'BLOCK',
      isBot: true,
      signals: ['honeypot'],
      ladderAfter: TOO_EARLY.ladderBefore,
    };
    const { reproduced, differences, verification } = await explainByRules(rules, forged);
    expect(reproduced).to.equal(false);
    expect(differences).to.deep.equal([
      { member: 'verdict', recorded: 'BLOCK', rerun: 'WAIT' },
      { member: 'isBot', recorded: true, rerun: false },
      { member: 'signals', recorded: ['honeypot'], rerun: [] },
      {
        member: 'ladderAfter',
        recorded: { ...TOO_EARLY.ladderBefore, waitUntil: '2026-01-01T00:00:40.000Z' },
        rerun: { ...TOO_EARLY.ladderAfter, waitUntil: '2026-01-01T00:05:39.000Z' },
      },
    ]);
    expect(verification).to.equal(
      'Asked again with the recorded facts, p2.v10 (digest d1d1d1d1d1d1) gives another answer than the one on record.',
    );
  });

  for (const [member, forged, rerun] of [
    ['reason', 'Because.', TOO_EARLY.reason],
    ['waitSeconds', 30, 300],
    ['waitFloorMs', 1, null],
    ['rule', 'attempt-unpaid', 'asked-too-early'],
    ['clientGroup', 'PAYING', 'NEW'],
    ['paymentScore', '0.9000', '0.5000'],
  ] as const) {
    it(`notices a changed ${member}`, async () => {
      const { differences } = await explainByRules(rules, { ...TOO_EARLY, [member]: forged });
      expect(differences).to.deep.equal([{ member, recorded: forged, rerun }]);
    });
  }

  it('notices a changed conclusion among the facts', async () => {
    const facts = { ...TOO_EARLY.facts, botWeight: 9 };
    const { differences } = await explainByRules(rules, { ...TOO_EARLY, facts });
    expect(differences).to.deep.equal([{ member: 'facts.botWeight', recorded: 9, rerun: 0 }]);
  });

  it('calls a record damaged when facts are missing or of another type', async () => {
    const { paidCount: _, ...facts } = TOO_EARLY.facts;
    const damaged = { ...TOO_EARLY, facts: { ...facts, jsOk: 'yes' } };
    const { reproduced, rules: account, differences, verification } = await explainByRules(rules, damaged);
    expect({ reproduced, account, verification }).to.deep.equal({
      reproduced: false,
      account: null,
      verification: 'The record of the decision is damaged.',
    });
    expect(differences).to.deep.equal([
      { member: 'facts.paidCount', recorded: null, rerun: 'a number' },
      { member: 'facts.jsOk', recorded: 'yes', rerun: 'a boolean' },
    ]);
  });

  it('reproduces a decision from before a fact existed that its rules do not use', async () => {
    const { secondsSinceLastVerdict: _, ...facts } = TOO_EARLY.facts;
    const { reproduced, differences } = await explainByRules(rules, { ...TOO_EARLY, facts });
    expect({ reproduced, differences }).to.deep.equal({ reproduced: true, differences: [] });
  });

  it('uses only the rule set that decided', async () => {
    const other: RuleSet = { ...edited({ 'ladder.yaml': swap('30s, 5m', '31s, 5m') }), digest: 'another' };
    const { rules: account, reproduced, verification } = await explainByRules(other, TOO_EARLY);
    expect({ account, reproduced }).to.deep.equal({ account: null, reproduced: false });
    expect(verification).to.equal(
      'The rule set that decided, p2.v10 with digest d1d1d1d1d1d1, is not here: here is p2.v10 with digest another. Bring its folder back from version control to see its rules.',
    );
  });

  it('survives JSON', async () => {
    const explanation = await explainByRules(rules, TOO_EARLY);
    expect(JSON.parse(JSON.stringify(explanation))).to.deep.equal(explanation);
  });
});

describe('the text of an explanation', () => {
  const linesOf = (text: string) => text.split('\n').filter((line) => line !== '');
  const ladderWords = async () => {
    const found = await Promise.all(
      decide([0, 10, 39, 339, 340]).map((decision) => explainByRules(rules, decision)),
    );
    return found.flatMap(({ ladder: { before, after } }) => [before.words, `-> ${after.words}`]);
  };
  itTells(new URL('explanations.txt', import.meta.url), {
    'of a request before its time': async () =>
      linesOf(formatExplanation(await explainByRules(rules, TOO_EARLY))),
    'of another answer on record': async () =>
      linesOf(
        formatExplanation(await explainByRules(rules, { ...TOO_EARLY, waitSeconds: 30, rule: 'otherwise' })),
      ).slice(-4),
    'without its rule set': () =>
      linesOf(formatExplanation(explainWithoutRules(TOO_EARLY, 'rules holds p2.v11'))),
    'of texts with control characters': async () => {
      const request = { ...REQUEST, sellPointKey: '\u001b[2J\u009b31m', orderRef: 'a\nb\u202e' };
      return linesOf(formatExplanation(await explainByRules(rules, last(decide([0], { request }))))).slice(
        1,
        2,
      );
    },
    'of the ladder before and after, in words': ladderWords,
    'of signals, whose weights together reach the threshold': async () => {
      const hammering = last(decide(Array.from({ length: 61 }, (_, second) => second)));
      return [(await explainByRules(rules, hammering)).rules?.signals.why ?? ''];
    },
    'of a payer whom the rule set exempts from all signals': async () => {
      const trust = { group: 'TRUSTED', reason: 'r', by: 'b', at: BEGIN, expiresAt: null } as const;
      const prepare = (simulation: Simulation) => simulation.override('payer-1', trust, BEGIN);
      const seconds = Array.from({ length: 61 }, (_, second) => second);
      const lines = linesOf(
        formatExplanation(await explainByRules(rules, last(decide(seconds, { prepare })))),
      );
      const from = lines.findIndex((line) => line.startsWith('Bot:'));
      return [
        ...lines.slice(from, from + 6),
        ...lines.filter((line) => line.includes('relentless-requests  ')),
      ];
    },
  });

  it('names the shared lists that the request was on, also when the rule set is missing', async () => {
    const onList = (list: string) =>
      `{ fact: listed, params: { list: ${list} }, operator: equal, value: true }`;
    const asked = ['blocked', 'watched', 'known'].map(onList).join(', ');
    const rule = `  - { name: on-a-list, priority: 99, conditions: { any: [${asked}] }, event: { type: verdict, params: { verdict: BLOCK, reason: "Listed." } } }`;
    const set = edited({ 'verdicts.yaml': swap('\notherwise:', `\n${rule}\notherwise:`) });
    const lists = new InMemorySharedLists(deriveCasePseudonym);
    const entry = {
      owner: toPlatformName('demo'),
      kind: 'client',
      attribute: null,
      expiresAt: null,
    } as const;
    for (const list of ['blocked', 'watched'])
      lists.add({ ...entry, list, value: 'payer-1', keys: ['payer-1'] });
    const simulation = new Simulation(set, toPlatformName('demo'), lists);
    const explanation = await explainByRules(set, simulation.verdict('payer-1', REQUEST, BEGIN));
    expect(explanation.sharedLists).to.deep.equal(['blocked', 'watched']);
    expect(explainWithoutRules(explanation.decision, 'gone').sharedLists).to.deep.equal([
      'blocked',
      'watched',
    ]);
    expect(formatExplanation(explanation)).to.include(
      '\n  The request was on the shared lists blocked and watched.\n',
    );
    expect((await explainByRules(rules, TOO_EARLY)).sharedLists).to.deep.equal([]);
  });

  describe('says what support may tell the payer', () => {
    const asked = 'wait {waitSeconds} s, cooldown level {ladderLevelAfter}."\n\n  - name: attempt-unpaid';
    const saying = (payerText: string) =>
      edited({
        'verdicts.yaml': swap(asked, asked.replace('."', `."\n        payerText: "${payerText}"`)),
      });

    it('in the words of the rule, as the version that decided has them, with the wait', async () => {
      const set = saying('Please try again in {waitSeconds}.');
      const decision = last(decide([0, 10, 39], { set }));
      expect((await explainByRules(set, decision)).payerText).to.equal('Please try again in 5 minutes.');
      const longer = { ...decision, waitSeconds: 90_061 };
      expect((await explainByRules(set, longer)).payerText).to.equal(
        'Please try again in 1 day 1 hour 1 minute 1 second.',
      );
    });

    it('by verdict and wait where the rule says nothing, or is not at hand', async () => {
      const byDefault =
        'Your payment of 25.00 EUR cannot be started yet. Please try again after 2026-01-01 00:05:39 UTC.';
      expect((await explainByRules(rules, TOO_EARLY)).payerText).to.equal(byDefault);
      const another: RuleSet = { ...saying('Please wait.'), digest: 'e'.repeat(64) };
      expect((await explainByRules(another, TOO_EARLY)).payerText).to.equal(byDefault);
      expect(explainWithoutRules(TOO_EARLY, 'there is none').payerText).to.equal(byDefault);
    });

    it('with the decimals of the currency, and without an amount where none is recorded', () => {
      const of = (facts: Decision['facts']) =>
        explainWithoutRules({ ...TOO_EARLY, facts, verdict: 'BLOCK' }, 'there is none').payerText;
      const rest = 'cannot be started. Please choose another way to pay, or contact the shop.';
      expect(of({ amount: 1000, currency: 'JPY' })).to.equal(`Your payment of 1000 JPY ${rest}`);
      expect(of({ amount: 0.0001, currency: 'USDT' })).to.equal(`Your payment of 0.0001 USDT ${rest}`);
      expect(of({})).to.equal(`Your payment ${rest}`);
    });
  });

  it('gives the painter every tone', async () => {
    const explanation = await explainByRules(rules, TOO_EARLY);
    const text = formatExplanation(explanation, (tone, words) => `<${tone}>${words}</${tone}>`);
    expect(text).to.contain('<pass>Reproduced: yes</pass>');
    expect(text).to.contain('<pass>  ✓ asked-too-early       matched: WAIT</pass>');
    expect(text).to.contain('<faint>verdicts.yaml:26</faint>');
  });
});

describe('the past answer of another version', () => {
  it('follows from the recorded facts and the ladder as it was', async () => {
    const [decision] = decide([0]);
    if (decision === undefined) throw new Error('there is a decision');
    const facts = { ...decision.facts, waitRemainingSeconds: 20 };
    const then = await answerByOtherVersion(rules, { ...decision, facts, digest: 'other' });
    expect(then.missing).to.deep.equal([]);
    expect([then.decision?.['verdict'], then.decision?.['rule']]).to.deep.equal(['WAIT', 'asked-too-early']);
    expect(then.decision?.['waitSeconds']).to.be.a('number');
  });

  it('compares a pseudonym with the constants of that version, where its secret is at hand', async () => {
    const hmacs = createAttributePseudonymizer(['present', 'before']);
    const [present = '', before = ''] = hmacs.derivePseudonyms('510000');
    const [foreign = ''] = createAttributePseudonymizer(['foreign']).derivePseudonyms('510000');
    const version = compileWithOtherHmacs(BIN_RULES, hmacs);
    const then = (value: string | null) => {
      const { waitRemainingSeconds: _, ...others } = TOO_EARLY.facts;
      const facts = { ...others, waitRemainingSeconds: 0, 'attribute(cardBin)': value };
      return answerByOtherVersion(version, { ...TOO_EARLY, facts });
    };
    for (const value of [present, before]) {
      const { decision, rules: account } = await then(value);
      expect(decision?.rule).to.equal('own-bin');
      expect(account?.verdicts.why).to.include('attribute(cardBin) is 510000');
    }
    expect((await then(null)).decision?.verdict, 'who says none').not.to.equal('BLOCK');
    const unknown = await then(foreign);
    expect(unknown).to.include({ decision: null, rules: null });
    expect(unknown.missing).to.deep.equal(['attribute(cardBin) under this SIGNAL_SECRET']);
  });

  it('is unknown when the record lacks a fact that the version uses, which is named', async () => {
    const { unpaidChain: _, ...facts } = TOO_EARLY.facts;
    const then = await answerByOtherVersion(rules, { ...TOO_EARLY, facts });
    expect(then).to.include({ decision: null, rules: null });
    expect(then.missing).to.deep.equal(['unpaidChain']);
  });
});
