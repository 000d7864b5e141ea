import { expect } from 'chai';
import fc from 'fast-check';
import {
  advance,
  type Candidate,
  firstRollout,
  inCanary,
  previousActive,
  type Rollout,
  takeBack,
} from '../../src/rollout/rollout.ts';
import { stageOf } from '../../src/rollout/stage.ts';
import { isRuleVersion, type RuleVersion } from '../../src/rules/rule-set.ts';

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
const START = firstRollout(V10, 1000);

const by = (reason: string, at = 2000) => ({ who: 'ann', at, reason });
const canary = (percent: number, guardPoints: number | null = null) =>
  ({ mode: 'canary', percent, guardPoints }) as const;

function candidateOf({ candidate }: Rollout): Candidate {
  if (candidate === null) throw new Error('there is no candidate');
  return candidate;
}

describe('a rollout', () => {
  it('begins with one active version and says so in its history', () => {
    expect(START).to.deep.equal({
      revision: 1,
      active: V10,
      candidate: null,
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
    const next = advance(START, V11, { mode: 'shadow' }, by('compare'));
    expect(next.active).to.deep.equal(V10);
    expect(candidateOf(next)).to.include({ version: 'p2.v11', mode: 'shadow', percent: 0 });
    expect(next.revision).to.equal(2);
  });

  it('records who changed what, from which version to which, and why', () => {
    const next = advance(START, V11, canary(10), by('looks good'));
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
    const next = advance(advance(START, V11, canary(10), by('try')), V11, { mode: 'active' }, by('go'));
    expect(next.active).to.deep.equal(V11);
    expect(next.candidate).to.equal(null);
  });

  it('takes a candidate back first', () => {
    const next = takeBack(advance(START, V11, canary(10), by('try')), by('no'));
    expect(next?.active).to.deep.equal(V10);
    expect(next?.candidate).to.equal(null);
    expect(next?.history.at(-1)).to.include({
      action: 'rollback',
      from: 'p2.v11',
      to: 'p2.v10',
      reason: 'no',
    });
  });

  it('returns to the version before when nothing is on trial', () => {
    const next = takeBack(advance(START, V11, { mode: 'active' }, by('go')), by('back'));
    expect(next?.active).to.deep.equal(V10);
  });

  it('goes back one version after the other, never to one that was taken back', () => {
    const v12 = { version: version('p2.v12'), digest: 'digest-12' };
    const tried = advance(
      advance(advance(START, V11, { mode: 'active' }, by('go')), V10, canary(10), by('compare')),
      v12,
      { mode: 'active' },
      by('go'),
    );
    const steps = [1, 2, 3, 4].reduce<readonly (Rollout | null)[]>(
      (all) => [...all, takeBack(all.at(-1) ?? tried, by('back'))],
      [tried],
    );
    expect(steps.map((step) => step?.active.version ?? null)).to.deep.equal([
      ...['p2.v12', 'p2.v12', 'p2.v11', 'p2.v10'],
      null,
    ]);
  });

  it('returns to a version that was taken back once and made active again since', () => {
    const back = takeBack(advance(START, V11, { mode: 'active' }, by('go')), by('back'));
    if (back === null) throw new Error('nothing was taken back');
    const again = advance(back, V11, { mode: 'active' }, by('mended'));
    expect(previousActive(again)).to.deep.equal(V10);
    expect(previousActive(advance(again, V10, { mode: 'active' }, by('no')))).to.deep.equal(V11);
  });

  it('has nothing to return to after the first start', () => {
    expect(takeBack(START, by('back'))).to.equal(null);
    expect(previousActive(START)).to.equal(null);
  });

  it('keeps a bounded history', () => {
    let rollout = START;
    for (let round = 0; round < 300; round++)
      rollout = advance(rollout, V11, canary(1 + (round % 50)), by('again'));
    expect(rollout.history).to.have.length(200);
    expect(rollout.revision).to.equal(301);
  });
});

describe('a canary', () => {
  const at = (percent: number) => candidateOf(advance(START, V11, canary(percent), by('try')));
  const anyClient = fc.string({ minLength: 22, maxLength: 22 });

  it('keeps every client that is in when its percentage grows', () => {
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

  it('holds everybody at 100 percent', () => {
    fc.assert(fc.property(anyClient, (client) => inCanary(at(100), client)));
  });

  it('holds about its percentage of many clients', () => {
    const clients = Array.from({ length: 20_000 }, (_, index) => `client-${index}`);
    const share = clients.filter((client) => inCanary(at(10), client)).length / clients.length;
    expect(share).to.be.within(0.09, 0.11);
  });

  it('keeps its clients while its percentage changes', () => {
    const first = advance(START, V11, canary(10), by('try', 2000));
    const second = advance(first, V11, canary(20), by('more', 3000));
    expect(candidateOf(second).trial).to.equal(candidateOf(first).trial);
    expect(candidateOf(second).since).to.equal(2000);
  });

  it('is counted from zero beside another active version, with the same clients', () => {
    const v12 = { version: version('p2.v12'), digest: 'digest-12' };
    const first = advance(START, V11, canary(10), by('try', 2000));
    const beside = candidateOf(advance(first, v12, { mode: 'active' }, by('go', 5000)));
    expect(beside.trial).to.equal(candidateOf(first).trial);
    expect(stageOf(beside).since).to.equal(5000);
    expect(stageOf(beside).trial).not.to.equal(stageOf(candidateOf(first)).trial);
  });

  it('begins with other clients when a version comes back for another trial', () => {
    const first = advance(START, V11, canary(10), by('try', 2000));
    const without = takeBack(first, by('no'));
    if (without === null) throw new Error('nothing was taken back');
    const second = advance(without, V11, canary(10), by('try again', 9000));
    expect(candidateOf(second).trial).not.to.equal(candidateOf(first).trial);
  });
});
