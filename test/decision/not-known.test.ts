import { expect } from 'chai';
import type { Decision } from '#decision/decision.ts';
import {
  decodeDecisionRow,
  encodeDecision,
  getRecordDictionary,
  isDecisionRow,
  parseDecisionOrRow,
} from '#decision/decision-record.ts';
import type { NullableFactValue } from '#decision/facts/fact.ts';
import { NOBODY_HELD_OUT } from '#decision/holdout.ts';
import { toPlatformName } from '#decision/payer/client-key.ts';
import { redecide } from '#decision/redecision.ts';
import { Simulation } from '#decision/simulation.ts';
import { RECORD_COLUMNS_BY_TABLE } from '#history/archive/tables.ts';
import { keptDecision } from '../history/archive/kept-decision.ts';
import { edited, swap } from '../rule-fixtures/sound-rules.ts';
import { REQUEST } from '../rule-fixtures/verdict-request.ts';

const NOON = Date.UTC(2026, 6, 1, 12);

const SHOWING = edited({
  'verdicts.yaml': swap(
    'No reason to hold the payer back.',
    'Paid {secondsSinceLastPaid} s ago, JavaScript {jsOk}, {clientsOnIp(1h)} payers.',
  ),
});

/** Compares with "dormant" what nobody knows of a new payer, as people write it. */
const DORMANT = edited({
  'verdicts.yaml': swap(
    'rules:\n',
    `rules:
  - name: dormant
    priority: 999
    conditions: { all: [{ fact: secondsSinceLastVerdict, operator: greaterThan, value: 15552000 }] }
    event: { type: verdict, params: { verdict: BLOCK, reason: "Dormant." } }
  - name: paid-elsewhen
    priority: 998
    conditions: { all: [{ fact: secondsSinceLastPaid, operator: notEqual, value: 5 }] }
    event: { type: verdict, params: { verdict: BLOCK, reason: "Paid." } }
  - name: never-paid
    priority: 997
    conditions: { all: [{ fact: secondsSinceLastPaid, operator: known, value: false }, { fact: finalCount, operator: greaterThan, value: 0 }] }
    event: { type: verdict, params: { verdict: WAIT, reason: "Never paid." } }
`,
  ),
});

const UNKNOWN = [
  'secondsSinceLastPaid',
  'secondsSinceLastUnpaid',
  'secondsSinceLastVerdict',
  'jsOk',
  'userAgentIsAutomated',
  'userAgentIsApp',
  'clientsOnFingerprint(1d)',
  'payingClientsOnFingerprint(1d)',
  'clientsOnIp(1h)',
  'payingClientsOnIp(1h)',
  'clientsOnIp(1d)',
  'payingClientsOnIp(1d)',
];

function simulated(rules = SHOWING): Simulation {
  return new Simulation(rules, toPlatformName('demo'));
}

function unknownIn({ facts }: Decision): readonly string[] {
  return Object.keys(facts).filter((label) => facts[label] === null);
}

describe('what is not known', () => {
  it('is null in a record, and "not known" in a reason', () => {
    const decision = simulated().verdict('payer-1', REQUEST, NOON);
    expect(unknownIn(decision)).to.deep.equal(UNKNOWN);
    expect(decision.reason).to.equal('Paid not known s ago, JavaScript not known, not known payers.');
  });

  it('is told from no, from 0 and from what was not asked for, in the stored record', () => {
    const decision = simulated().verdict('payer-1', REQUEST, NOON);
    const facts: Record<string, NullableFactValue> = {
      ...decision.facts,
      userAgentIsAutomated: false,
      jsOk: true,
    };
    const shape = getRecordDictionary(SHOWING);
    const record = parseDecisionOrRow(encodeDecision({ ...decision, facts, reason: 'x' }, shape));
    if (!isDecisionRow(record)) throw new Error('the decision fits its shape');
    const read = decodeDecisionRow(record, decision.decisionId.slice(0, 22), shape);
    expect(read.facts).to.deep.equal(facts);
    expect(read.facts['clientsOnIp(5m)']).to.equal(undefined);
  });

  it('is told from what was not asked for in the archive, too', async () => {
    const decision = simulated().verdict('payer-1', REQUEST, NOON);
    const row = await keptDecision(decision);
    expect(row).to.deep.include({ fact_jsOk: null, facts_not_known: UNKNOWN });
    const { decisionId: _, ...recorded } = decision;
    expect(RECORD_COLUMNS_BY_TABLE.decisions.read(row)).to.deep.equal(recorded);
  });

  it('matches neither "above" nor "notEqual" of a new payer, and "known" where a rule asks for it', () => {
    const simulation = simulated(DORMANT);
    expect(simulation.verdict('payer-1', REQUEST, NOON).rule).to.equal('otherwise');
    const outcome = { outcome: 'UNPAID', cause: 'DECLINED', occurredAt: NOON + 1000 } as const;
    simulation.outcome('payer-1', REQUEST.orderRef, outcome, NOON + 1000);
    expect(simulation.verdict('payer-1', REQUEST, NOON + 2000).rule).to.equal('never-paid');
    const dormant = NOON + 15_552_000_000 + 3001;
    expect(simulation.verdict('payer-1', REQUEST, dormant).rule).to.equal('dormant');
  });

  it('is decided again as not known; null for a fact that always has a value is a damaged record', () => {
    const decision = simulated().verdict('payer-1', REQUEST, NOON);
    const again = redecide(DORMANT, decision, NOBODY_HELD_OUT);
    expect(again.kind === 'decided' && again.concluded.rule).to.equal('otherwise');
    const damaged = { ...decision, facts: { ...decision.facts, paidCount: null } };
    const lacking = redecide(DORMANT, damaged, NOBODY_HELD_OUT);
    expect(lacking.kind === 'lacking' && lacking.facts.map(({ label }) => label)).to.deep.equal([
      'paidCount',
    ]);
  });
});
