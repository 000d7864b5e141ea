import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { calibrate } from '../../../src/evidence/calibrate/calibrate.ts';
import type { Calibration } from '../../../src/evidence/calibrate/calibration.ts';
import { type EvidencePlace, withEvidence } from '../../../src/evidence/source/evidence.ts';
import { History, Workplace } from '../backtest/backtest-history.ts';
import { liveBusyMonth } from '../report/busy-month.ts';
import { all, type LivedEvidence, livedEvidence } from '../source/lived-evidence.ts';

/** The Brier score of the first decision of each order, and how many orders there are, line by line. */
function brierByHand(journal: string): {
  readonly brier: number;
  readonly orders: number;
  readonly unknown: number;
} {
  const scores = new Map<string, number>();
  const fates = new Map<string, string>();
  const granted = new Set<string>();
  for (const line of journal.trim().split('\n')) {
    const { kind, clientIdKey, orderRef, order, decision } = JSON.parse(line);
    const key = JSON.stringify([clientIdKey, decision?.orderRef ?? orderRef]);
    if (kind === 'verdict' && !scores.has(key)) scores.set(key, Number(decision.paymentScore));
    if (kind === 'verdict' && decision.verdict.startsWith('GET')) granted.add(key);
    if (kind === 'outcome') fates.set(key, order.cause === 'TECHNICAL' ? 'technical' : order.outcome);
  }
  const known = [...scores].filter(([key]) => ['PAID', 'UNPAID'].includes(fates.get(key) ?? ''));
  const errors = known.map(([key, score]) => (score - (fates.get(key) === 'PAID' ? 1 : 0)) ** 2);
  return {
    brier: errors.reduce((sum, error) => sum + error, 0) / errors.length,
    orders: known.length,
    unknown: [...scores.keys()].filter((key) => granted.has(key) && !fates.has(key)).length,
  };
}

describe('calibrating paymentScore', () => {
  let lived: LivedEvidence;
  let found: Calibration;
  const place = new Workplace();
  const rules = place.rules('p2.v10');
  place.end();
  const calibrateOn = (where: EvidencePlace) =>
    withEvidence(all(where), (evidence) => calibrate(evidence, { rules, platform: null, splitAt: null }));
  before(async () => {
    lived = await livedEvidence(liveBusyMonth);
    found = await calibrateOn(lived.archive);
  });

  it('gives the same from the exported journal as from the archive', async () => {
    expect(await calibrateOn(lived.journal)).to.deep.equal(found);
  });

  it('learns nothing from reports of orders that were never granted', async () => {
    const refused = await livedEvidence(async (store) => {
      const history = new History(store, rules);
      await history.block('ann');
      await history.verdict('ann', '1');
      await history.outcome('ann', '1', 'UNPAID');
    });
    expect((await calibrateOn(refused.archive)).orders).to.deep.equal({ earlier: 0, later: 0, unknown: 0 });
  });

  it('has the Brier score of the answers that counting line by line gives', () => {
    const text = lived.journal.kind === 'journal' ? readFileSync(lived.journal.path, 'utf8') : '';
    const { brier, orders, unknown } = brierByHand(text);
    const [recorded] = found.byVersion;
    expect(recorded?.brier?.value).to.be.closeTo(brier, 1e-9);
    expect([recorded?.version, recorded?.orders]).to.deep.equal(['p2.v10', orders]);
    expect(found.orders.earlier + found.orders.later).to.equal(orders);
    expect(found.orders.unknown).to.equal(unknown);
  });

  it('shows the settings of the version and those that it found on the later part alone', () => {
    expect(found.before.smoothing).to.deep.equal(rules.settings.smoothing);
    for (const part of [found.before, found.after]) {
      expect(part?.orders).to.equal(found.orders.later);
      expect(part?.reliability.reduce((sum, { count }) => sum + count, 0)).to.equal(found.orders.later);
    }
    const change = (found.after?.brier?.value ?? 0) - (found.before.brier?.value ?? 0);
    expect(found.change?.brier?.value).to.be.closeTo(change, 1e-12);
    expect(found.holds).to.equal((found.change?.brier?.high ?? 0) < 0);
  });

  it('finds nothing where nothing happened', async () => {
    const empty = await livedEvidence(async () => {});
    const { after, change, holds, before } = await calibrateOn(empty.archive);
    expect({ after, change, holds, brier: before.brier }).to.deep.equal({
      after: null,
      change: null,
      holds: false,
      brier: null,
    });
  });
});
