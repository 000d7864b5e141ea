import { hash } from 'node:crypto';
import { expect } from 'chai';
import fc from 'fast-check';
import { getTrialStage } from '#checkout/rollout/guard.ts';
import {
  type Candidate,
  createFirstRollout,
  createRolledBackRollout,
  drawArm,
  findPreviousActive,
  parseRollout,
  type Rollout,
} from '#checkout/rollout/rollout.ts';
import { isRuleVersion, type RuleVersion } from '#decision/rules/rule-set.ts';
import { createAdvancedRollout, findSharesFault } from '#workbench/rollout/advance.ts';

describe('the name of a version', () => {
  it('has one spelling', () => {
    const names = ['p2.v11', 'p2.v011', 'p02.v11', 'p2.v0', 'p2.v11-night'];
    expect(names.filter(isRuleVersion)).to.deep.equal(['p2.v11', 'p2.v0', 'p2.v11-night']);
  });
});

function version(text: string): RuleVersion {
  if (!isRuleVersion(text)) throw new Error(`${text} is no version`);
  return text;
}

const V10 = { version: version('p2.v10'), digest: 'digest-10' };
const V11 = { version: version('p2.v11'), digest: 'digest-11' };
const START = createFirstRollout(V10, 1000);

const by = (reason: string, at = 2000) => ({ who: 'ann', at, reason });
const canary = (percent: number, guardPoints: number | null = null) =>
  ({ mode: 'canary', percent, guardPoints }) as const;

function candidateOf({ candidates: [candidate] }: Rollout): Candidate {
  if (candidate === undefined) throw new Error('there is no candidate');
  return candidate;
}

describe('a rollout', () => {
  it('begins with one active version and says so in its history', () => {
    expect(START).to.deep.equal({
      revision: 1,
      active: V10,
      candidates: [],
      ended: [],
      history: [
        {
          at: 1000,
          who: 'service',
          action: 'start',
          from: null,
          to: 'p2.v10',
          digest: 'digest-10',
          reason: 'first start',
        },
      ],
    });
  });

  it('brings a version into shadow beside the active one', () => {
    const next = createAdvancedRollout(START, V11, { mode: 'shadow' }, by('compare'));
    expect(next.active).to.deep.equal(V10);
    expect(candidateOf(next)).to.include({ version: 'p2.v11', mode: 'shadow', percent: 0 });
    expect(next.revision).to.equal(2);
  });

  it('records who changed what, from which version to which, and why', () => {
    const next = createAdvancedRollout(START, V11, canary(10), by('looks good'));
    expect(next.history.at(-1)).to.deep.equal({
      at: 2000,
      who: 'ann',
      action: 'canary',
      from: 'p2.v10',
      to: 'p2.v11',
      digest: 'digest-11',
      percent: 10,
      reason: 'looks good',
    });
  });

  it('makes a candidate active and ends its trial', () => {
    const next = createAdvancedRollout(
      createAdvancedRollout(START, V11, canary(10), by('try')),
      V11,
      { mode: 'active' },
      by('go'),
    );
    expect(next.active).to.deep.equal(V11);
    expect(next.candidates).to.deep.equal([]);
  });

  it('first withdraws a candidate on a rollback', () => {
    const next = createRolledBackRollout(createAdvancedRollout(START, V11, canary(10), by('try')), by('no'));
    expect(next?.active).to.deep.equal(V10);
    expect(next?.candidates).to.deep.equal([]);
    expect(next?.history.at(-1)).to.include({
      action: 'rollback',
      from: 'p2.v11',
      to: 'p2.v10',
      reason: 'no',
    });
  });

  it('returns to the version before on a rollback without a candidate', () => {
    const next = createRolledBackRollout(
      createAdvancedRollout(START, V11, { mode: 'active' }, by('go')),
      by('back'),
    );
    expect(next?.active).to.deep.equal(V10);
  });

  it('goes back one version after the other, never to a withdrawn one', () => {
    const v12 = { version: version('p2.v12'), digest: 'digest-12' };
    const tried = createAdvancedRollout(
      createAdvancedRollout(
        createAdvancedRollout(START, V11, { mode: 'active' }, by('go')),
        V10,
        canary(10),
        by('compare'),
      ),
      v12,
      { mode: 'active' },
      by('go'),
    );
    const steps = [1, 2, 3, 4].reduce<readonly (Rollout | null)[]>(
      (all) => [...all, createRolledBackRollout(all.at(-1) ?? tried, by('back'))],
      [tried],
    );
    expect(steps.map((step) => step?.active.version ?? null)).to.deep.equal([
      'p2.v12',
      'p2.v12',
      'p2.v11',
      'p2.v10',
      null,
    ]);
  });

  it('returns to a withdrawn version that was made active again since', () => {
    const back = createRolledBackRollout(
      createAdvancedRollout(START, V11, { mode: 'active' }, by('go')),
      by('back'),
    );
    if (back === null) throw new Error('nothing was taken back');
    const again = createAdvancedRollout(back, V11, { mode: 'active' }, by('mended'));
    expect(findPreviousActive(again)).to.deep.equal(V10);
    expect(findPreviousActive(createAdvancedRollout(again, V10, { mode: 'active' }, by('no')))).to.deep.equal(
      V11,
    );
  });

  it('has nothing to return to after the first start', () => {
    expect(createRolledBackRollout(START, by('back'))).to.equal(null);
    expect(findPreviousActive(START)).to.equal(null);
  });

  it('keeps a bounded history', () => {
    let rollout = START;
    for (let round = 0; round < 300; round++)
      rollout = createAdvancedRollout(rollout, V11, canary(1 + (round % 50)), by('again'));
    expect(rollout.history).to.have.length(200);
    expect(rollout.revision).to.equal(301);
  });
});

describe('a canary', () => {
  const at = (percent: number) => createAdvancedRollout(START, V11, canary(percent), by('try'));
  const inCanary = (rollout: Rollout, client: string) => drawArm(rollout, client)?.candidate != null;
  const anyClient = fc.string({ minLength: 22, maxLength: 22 });

  it('keeps every client when its percentage grows', () => {
    fc.assert(
      fc.property(
        anyClient,
        fc.integer({ min: 1, max: 99 }),
        fc.integer({ min: 1, max: 100 }),
        (client, low, more) => {
          const high = Math.min(100, low + more);
          return !inCanary(at(low), client) || inCanary(at(high), client);
        },
      ),
    );
  });

  it('has everybody at 100 percent', () => {
    fc.assert(fc.property(anyClient, (client) => inCanary(at(100), client)));
  });

  it('has about its percentage of many clients', () => {
    const clients = Array.from({ length: 20_000 }, (_, index) => `client-${index}`);
    const share = clients.filter((client) => inCanary(at(10), client)).length / clients.length;
    expect(share).to.be.within(0.09, 0.11);
  });

  it('keeps its clients while its percentage changes', () => {
    const first = createAdvancedRollout(START, V11, canary(10), by('try', 2000));
    const second = createAdvancedRollout(first, V11, canary(20), by('more', 3000));
    expect(candidateOf(second).trial).to.equal(candidateOf(first).trial);
    expect(candidateOf(second).since).to.equal(2000);
  });

  it('is judged by what was said when it began until something else is said, which begins a new stage', () => {
    const judged = (percent: number, objective: string) => ({ ...canary(percent), objective });
    const first = createAdvancedRollout(START, V11, judged(10, '{"margin":0.3}'), by('try', 2000));
    const more = createAdvancedRollout(first, V11, canary(20), by('more', 3000));
    const again = createAdvancedRollout(more, V11, canary(20), by('again', 4000));
    const otherwise = createAdvancedRollout(again, V11, judged(20, '{"margin":0.5}'), by('otherwise', 5000));
    expect(
      [first, more, again, otherwise].map((rollout) => [
        drawArm(rollout, 'client')?.draw.objective,
        candidateOf(rollout).stageSince,
      ]),
    ).to.deep.equal([
      ['{"margin":0.3}', 2000],
      ['{"margin":0.3}', 3000],
      ['{"margin":0.3}', 3000],
      ['{"margin":0.5}', 5000],
    ]);
  });

  it('is counted from zero beside another active version, with the same clients', () => {
    const v12 = { version: version('p2.v12'), digest: 'digest-12' };
    const first = createAdvancedRollout(START, V11, canary(10), by('try', 2000));
    const beside = candidateOf(createAdvancedRollout(first, v12, { mode: 'active' }, by('go', 5000)));
    expect(beside.trial).to.equal(candidateOf(first).trial);
    expect(getTrialStage(beside).since).to.equal(5000);
    expect(getTrialStage(beside).trial).not.to.equal(getTrialStage(candidateOf(first)).trial);
  });

  it('begins with other clients in another trial of a version', () => {
    const first = createAdvancedRollout(START, V11, canary(10), by('try', 2000));
    const without = createRolledBackRollout(first, by('no'));
    if (without === null) throw new Error('nothing was taken back');
    const second = createAdvancedRollout(without, V11, canary(10), by('try again', 9000));
    expect(candidateOf(second).trial).not.to.equal(candidateOf(first).trial);
  });
});

describe('several canaries', () => {
  const V12 = { version: version('p2.v12'), digest: 'digest-12' };
  const V13 = { version: version('p2.v13'), digest: 'digest-13' };
  const clients = Array.from({ length: 4000 }, (_, index) => `client-${index}`);
  const both = (percent: number, also: readonly [typeof V12, number][], rollout = START, at = 2000) =>
    createAdvancedRollout(
      rollout,
      V11,
      { ...canary(percent, 5), also: also.map(([ref, of]) => ({ ...ref, percent: of })) },
      by('compare', at),
    );
  const armOf = (rollout: Rollout, client: string) => drawArm(rollout, client)?.draw.version ?? null;

  it('share one draw: each client is in one arm, and the record has its chance', () => {
    const rollout = both(20, [[V12, 30]]);
    const shares = ['p2.v10', 'p2.v11', 'p2.v12'].map((name) => {
      const drawn = clients.filter((client) => armOf(rollout, client) === name);
      const [first = ''] = drawn;
      return [drawArm(rollout, first)?.draw, Math.round((drawn.length / clients.length) * 20) * 5];
    });
    expect(shares).to.deep.equal([
      [{ version: 'p2.v10', percent: 50, since: 2000 }, 50],
      [{ version: 'p2.v11', percent: 20, since: 2000 }, 20],
      [{ version: 'p2.v12', percent: 30, since: 2000 }, 30],
    ]);
  });

  it('are refused when they would have more than all clients, or one has two shares', () => {
    const why = (...shares: readonly (readonly [typeof V12, number])[]) =>
      findSharesFault(shares.map(([ref, percent]) => ({ ...ref, percent })));
    expect(why([V12, 60], [V13, 40])).to.equal(null);
    expect(why([V12, 60], [V13, 40.5])).to.equal(
      'gives candidates 100.5 percent of the clients; choose at most 100 in all',
    );
    expect(why([V12, 1], [V12, 1])).to.equal('names p2.v12 twice; each candidate has one share');
  });

  it('give a client who stands where one arm ends to the next one', () => {
    const rollout = both(20, [[V12, 30]]);
    const [first, second] = rollout.candidates;
    if (first === undefined || second === undefined) throw new Error('there are two candidates');
    const drawn = hash('sha256', `${first.trial}/client`, 'hex').slice(0, 8);
    const at = (Number.parseInt(drawn, 16) / 2 ** 32) * 100;
    const slices = [{ from: 0, to: at }];
    const meeting = [
      { ...first, slices },
      { ...second, slices: [{ from: at, to: 100 }] },
    ];
    expect(armOf({ ...rollout, candidates: meeting }, 'client')).to.equal('p2.v12');
  });

  it('keep their clients whichever of them grows', () => {
    const share = fc.integer({ min: 1, max: 49 });
    const grown = fc.tuple(share, share, share, share).map(([a, b, c, d]) => ({
      before: [Math.min(a, b), Math.min(c, d)] as const,
      after: [Math.max(a, b), Math.max(c, d)] as const,
    }));
    fc.assert(
      fc.property(grown, fc.constantFrom(...clients), ({ before, after }, client) => {
        const first = both(before[0], [[V12, before[1]]]);
        const second = both(after[0], [[V12, after[1]]], first, 3000);
        const arm = armOf(first, client);
        return arm === 'p2.v10' || armOf(second, client) === arm;
      }),
    );
  });

  it('make room for a third, and for one that grows into what another gives up', () => {
    const three = both(
      10,
      [
        [V12, 10],
        [V13, 10],
      ],
      both(80, [[V12, 10]]),
      3000,
    );
    expect(three.candidates.map(({ slices }) => slices)).to.deep.equal([
      [{ from: 0, to: 10 }],
      [{ from: 80, to: 90 }],
      [{ from: 10, to: 20 }],
    ]);
    const swapped = both(10, [[V12, 80]], both(80, [[V12, 10]]), 3000);
    expect(
      swapped.candidates.map(({ percent, slices }) => [
        percent,
        slices.reduce((sum, { from, to }) => sum + to - from, 0),
      ]),
    ).to.deep.equal([
      [10, 10],
      [80, 80],
    ]);
  });

  it('stay as they are when one of them is withdrawn, whose clients join no compared arm', () => {
    const before = both(20, [[V12, 30]]);
    const after = createRolledBackRollout(before, by('bad', 4000), { action: 'guard', version: 'p2.v12' });
    if (after === null) throw new Error('nothing was taken back');
    expect(after.candidates).to.deep.equal([candidateOf(before)]);
    expect(after.history.at(-1)).to.include({ action: 'guard', from: 'p2.v12', to: 'p2.v10', reason: 'bad' });
    for (const client of clients) {
      expect(drawArm(after, client)?.draw).to.deep.equal(drawArm(before, client)?.draw);
      if (armOf(before, client) === 'p2.v12') expect(drawArm(after, client)?.candidate).to.equal(null);
    }
  });

  it('take over the clients of a withdrawn one when a share changes, in a new stage', () => {
    const after = createRolledBackRollout(both(20, [[V12, 30]]), by('bad', 4000), { version: 'p2.v12' });
    const grown = both(25, [], after ?? START, 5000);
    expect(grown.ended).to.deep.equal([]);
    expect(candidateOf(grown)).to.include({ stageSince: 5000, since: 2000 });
    expect(candidateOf(grown).slices).to.deep.equal([
      { from: 0, to: 20 },
      { from: 20, to: 25 },
    ]);
  });

  it('are withdrawn together when none is named, each with a line in the history', () => {
    const after = createRolledBackRollout(both(20, [[V12, 30]]), by('no', 4000));
    expect(after?.candidates).to.deep.equal([]);
    expect(after?.ended).to.deep.equal([]);
    expect(after?.history.slice(-2).map(({ from, to }) => `${from} -> ${to}`)).to.deep.equal([
      'p2.v11 -> p2.v10',
      'p2.v12 -> p2.v10',
    ]);
  });

  it('leave the others on trial, counted from zero, when one is made active', () => {
    const after = createAdvancedRollout(both(20, [[V12, 30]]), V11, { mode: 'active' }, by('go', 5000));
    expect(after.active).to.deep.equal(V11);
    expect(candidateOf(after)).to.include({ version: 'p2.v12', percent: 30, stageSince: 5000 });
  });

  it('are read from their stored form, and damaged forms are refused', () => {
    const rollout = both(20, [[V12, 30]]);
    expect(parseRollout(JSON.stringify(rollout))).to.deep.equal(rollout);
    expect(parseRollout(JSON.stringify({ ...rollout, ended: [{ version: 'p2.v12' }] }))).to.equal(null);
  });
});
