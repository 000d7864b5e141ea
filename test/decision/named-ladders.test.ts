import { expect } from 'chai';
import { decideVerdict } from '#decision/decide.ts';
import type { Decision } from '#decision/decision.ts';
import { NO_SIGHTINGS } from '#decision/facts/fact.ts';
import { toPlatformName } from '#decision/payer/client-key.ts';
import { type ClientState, UNKNOWN_CLIENT_STATE } from '#decision/payer/client-state.ts';
import { roundTripState } from '#decision/payer/state-document.ts';
import type { VerdictRequest } from '#decision/requests.ts';
import type { RuleSet } from '#decision/rules/rule-set.ts';
import { Simulation } from '#decision/simulation.ts';
import { listRuleSetDifferences } from '#workbench/authoring/diff/rule-diff.ts';
import { explainByRules } from '#workbench/authoring/explain/explain.ts';
import { keptDecision } from '../history/archive/kept-decision.ts';
import { NOW } from '../rule-fixtures/random-states.ts';
import { type Edit, edited, swap } from '../rule-fixtures/sound-rules.ts';
import { REQUEST } from '../rule-fixtures/verdict-request.ts';
import { clientKey } from './payer/client-keys.ts';

const SECOND_MS = 1000;
const MINUTE_MS = 60 * SECOND_MS;
const DAY_MS = 24 * 60 * MINUTE_MS;

/** The released rules, in which transfers wait on a ladder of their own. */
function withLadders(ladders: string, more: Readonly<Record<string, Edit>> = {}): RuleSet {
  const waits = (name: string, condition: string, priority: number) => `
  - name: ${name}-transfer
    priority: ${priority}
    conditions:
      all: [{ fact: method, operator: equal, value: transfer }, ${condition}]
    event: { type: verdict, params: { verdict: WAIT, ladder: patient, reason: "Transfers take time; wait {waitSeconds} s." } }
`;
  const early = waits('early', '{ fact: waitRemainingSeconds, operator: greaterThan, value: 0 }', 86);
  const unpaid = waits('unpaid', '{ fact: attemptOpen, operator: equal, value: true }', 85);
  return edited({
    'ruleset.yaml': swap('resetAfter: 1h', 'resetAfter: 12h'),
    'ladder.yaml': swap('resetAfter: 24h', `resetAfter: 24h\nladders: ${ladders}`),
    'verdicts.yaml': swap('rules:\n', `rules:\n${early}${unpaid}`),
    ...more,
  });
}

const RULES = withLadders('{ patient: [2m, 20m, 2h, 5h] }');

function asked(method: string): VerdictRequest {
  return { ...REQUEST, method };
}

/** The answers to a payer who asks by these methods, with pauses in seconds. */
function ask(
  rules: RuleSet,
  steps: readonly (readonly [afterSeconds: number, method: string])[],
  platform = 'demo',
): readonly Decision[] {
  const simulation = new Simulation(rules, toPlatformName(platform));
  let now = NOW;
  return steps.map(([afterSeconds, method]) => {
    now += afterSeconds * SECOND_MS;
    return simulation.verdict('payer-1', asked(method), now);
  });
}

const waits = (decisions: readonly Decision[]) => decisions.map(({ waitSeconds }) => waitSeconds ?? 0);

describe('a ladder that a rule names', () => {
  it('gives the wait, and the level is the client’s', () => {
    const decisions = ask(RULES, [
      [0, 'transfer'],
      [1, 'transfer'],
      [1, 'card'],
      [1, 'transfer'],
    ]);
    expect(waits(decisions)).to.deep.equal([0, 120, 300, 7200]);
    expect(decisions.map(({ ladder }) => ladder)).to.deep.equal([undefined, 'patient', undefined, 'patient']);
    expect(decisions.map(({ ladderAfter }) => ladderAfter.level)).to.deep.equal([0, 1, 2, 3]);
  });

  it('follows table 3.2 of the interface, like the ladder without a name', () => {
    for (const [method, levels] of [
      ['card', [30, 300, 1800]],
      ['transfer', [120, 1200, 7200, 18_000]],
    ] as const) {
      const simulation = new Simulation(RULES, toPlatformName('demo'));
      let now = NOW;
      const next = (afterSeconds: number) => {
        now += afterSeconds * SECOND_MS;
        return simulation.verdict('payer-1', asked(method), now);
      };
      // First request: no wait.
      expect(next(0)).to.deep.include({ verdict: 'GET_NEW' });
      for (const seconds of [...levels, levels.at(-1) ?? 0]) {
        // The attempt did not reach payment: the next level. The wait is served: another attempt.
        expect(next(1)).to.deep.include({ verdict: 'WAIT', waitSeconds: seconds });
        expect(next(seconds)).to.deep.include({ verdict: 'GET_NEW' });
      }
      // A payment resets.
      simulation.outcome('payer-1', 'order-1', { outcome: 'PAID', cause: null, occurredAt: now }, now);
      expect(next(1)).to.deep.include({ verdict: 'GET_NEW' });
      expect(next(1)).to.deep.include({ verdict: 'WAIT', waitSeconds: levels[0] });
      // Asked too early: the next level.
      expect(next(1)).to.deep.include({ verdict: 'WAIT', waitSeconds: levels[1] });
      // A long absence resets.
      expect(next(DAY_MS / SECOND_MS)).to.deep.include({ verdict: 'GET_NEW' });
      expect(next(1)).to.deep.include({ verdict: 'WAIT', waitSeconds: levels[0] });
    }
  });

  it('never shortens a wait for a client who changes to a shorter ladder, and the record says why', () => {
    const decisions = ask(RULES, [
      [0, 'transfer'],
      [1, 'transfer'],
      [1, 'transfer'],
      [1201, 'card'],
      [1, 'card'],
    ]);
    expect(waits(decisions)).to.deep.equal([0, 120, 1200, 0, 1800]);
    const shorter = ask(withLadders('{ patient: [2m, 2h] }'), [
      [0, 'transfer'],
      [1, 'transfer'],
      [1, 'transfer'],
      [7200, 'card'],
      [1, 'card'],
    ]);
    expect(waits(shorter)).to.deep.equal([0, 120, 7200, 0, 7200]);
    expect(shorter.at(-1)).to.deep.include({ waitFloorMs: 7_200_000, waitSeconds: 7200 });
    expect(decisions.some((decision) => 'waitFloorMs' in decision)).to.equal(false);
  });

  it('may differ on a platform', () => {
    const own = withLadders('{ patient: [2m, 20m] }', {
      'ruleset.yaml': swap('resetAfter: 1h }', 'resetAfter: 1h, ladders: { patient: [5s, 50s] } }'),
    });
    const steps = [
      [0, 'transfer'],
      [1, 'transfer'],
    ] as const;
    expect(waits(ask(own, steps, 'sandbox'))).to.deep.equal([0, 5]);
    expect(waits(ask(own, steps))).to.deep.equal([0, 120]);
  });

  it('is inherited by a platform that has only its own levels', () => {
    const steps = [
      [0, 'transfer'],
      [1, 'transfer'],
    ] as const;
    const inherited = withLadders('{ patient: [2m, 20m] }');
    expect(waits(ask(inherited, steps, 'sandbox'))).to.deep.equal([0, 120]);
  });

  it('is named by the explanation, which decides the same again from the record', async () => {
    for (const decision of ask(withLadders('{ patient: [2m, 2h] }'), [
      [0, 'transfer'],
      [1, 'transfer'],
      [1, 'transfer'],
      [7200, 'card'],
      [1, 'card'],
    ])) {
      const { reproduced, ladder } = await explainByRules(withLadders('{ patient: [2m, 2h] }'), decision);
      expect(reproduced).to.equal(true);
      if (decision.ladder === 'patient') expect(ladder.after.words).to.contain('of the ladder "patient"');
    }
  });

  it('is kept by the archive', async () => {
    const [, decision] = ask(RULES, [
      [0, 'transfer'],
      [1, 'transfer'],
    ]);
    if (decision === undefined) throw new Error('there are two decisions');
    expect(await keptDecision(decision)).to.deep.include({ ladder: 'patient', wait_floor_ms: null });
  });

  it('is shown by a diff, level by level and rule by rule', () => {
    const longer = withLadders('{ patient: [2m, 30m, 2h, 5h] }');
    expect(listRuleSetDifferences(RULES, longer).map(({ text }) => text)).to.deep.equal([
      'ladder "patient" level 2: 20m -> 30m',
    ]);
    const unnamed = withLadders('{ patient: [2m, 20m, 2h, 5h] }', {});
    const first = edited({
      'ladder.yaml': swap('resetAfter: 24h', 'resetAfter: 24h\nladders: { patient: [1m] }'),
      'verdicts.yaml': swap(
        'verdict: WAIT\n        reason: "Asked',
        'verdict: WAIT\n        ladder: patient\n        reason: "Asked',
      ),
    });
    expect(listRuleSetDifferences(RULES, unnamed)).to.deep.equal([]);
    expect(listRuleSetDifferences(edited({}), first).map(({ text }) => text)).to.deep.equal([
      'ladder "patient" level 1: added, 1m',
      'asked-too-early: ladder none -> patient',
    ]);
  });

  it('is remembered for as long as it says itself, and other ladders for as long as all', () => {
    const rules = withLadders('{ patient: { levels: [2m, 1d, 30d], resetAfter: 40d } }');
    const climb = [
      [0, 'transfer'],
      [1, 'transfer'],
      [1, 'transfer'],
    ] as const;
    const days = (count: number) => (count * DAY_MS) / SECOND_MS;
    const levelAfter = (gap: number, ...more: readonly (readonly [number, string])[]) =>
      ask(rules, [...climb, ...more, [gap, 'transfer']]).at(-1)?.ladderBefore.level;
    expect(levelAfter(days(40) - 1)).to.equal(2);
    expect(levelAfter(days(40))).to.equal(0);
    // This wait is as long as the one before it, which the patient ladder gave.
    expect(levelAfter(days(40) - 1, [1, 'card'])).to.equal(3);
    const onOther = ask(rules, [
      [0, 'card'],
      [1, 'card'],
      [days(1), 'card'],
    ]);
    expect(onOther.at(-1)?.ladderBefore.level).to.equal(0);
  });

  it('is remembered as the rule set that decides says, also when another one imposed the wait', () => {
    const patient = withLadders('{ patient: { levels: [2m, 1d, 30d], resetAfter: 40d } }');
    const client = clientKey(toPlatformName('demo'), 'payer-1');
    const decide = (rules: RuleSet, state: ClientState, now: number) =>
      decideVerdict(rules, { client, state, sightings: NO_SIGHTINGS, now }, asked('transfer'));
    const granted = decide(patient, UNKNOWN_CLIENT_STATE, NOW).nextState;
    const { nextState } = decide(patient, granted, NOW + SECOND_MS);
    const levelUnder = (rules: RuleSet) =>
      decide(rules, roundTripState(nextState), NOW + 2 * DAY_MS).decision.ladderBefore.level;
    expect(levelUnder(patient)).to.equal(1);
    expect(levelUnder(RULES)).to.equal(0);
    expect(levelUnder(edited({}))).to.equal(0);
  });

  it('shows its own absence in a diff', () => {
    const longer = withLadders('{ patient: { levels: [2m, 20m, 2h, 5h], resetAfter: 2d } }');
    expect(listRuleSetDifferences(RULES, longer).map(({ text }) => text)).to.deep.equal([
      'ladder "patient" resetAfter: added, 2d',
    ]);
  });
});
