import { expect } from 'chai';
import { ArchiveReader } from '../../../src/archive/read/archive-reader.ts';
import { VerdictHistory } from '../../../src/archive/read/verdict-history.ts';
import { platformName } from '../../../src/client/client-key.ts';
import { report } from '../../../src/evidence/report/report.ts';
import { withEvidence } from '../../../src/evidence/source/evidence.ts';
import { NUMBER_CURSORS } from '../../../src/state/journal.ts';
import { TEST_KEYS } from '../../client/client-keys.ts';
import { JULY, PLATFORM, Workplace } from '../../evidence/backtest/backtest-history.ts';
import { liveBusyMonth } from '../../evidence/report/busy-month.ts';
import { all, type LivedEvidence, livedEvidence } from '../../evidence/source/lived-evidence.ts';

describe('the history of verdicts', () => {
  let lived: LivedEvidence;
  let archive: ArchiveReader;
  let place: Workplace;
  let decisions: number;
  let newest: number;
  before(async () => {
    place = new Workplace();
    lived = await livedEvidence(liveBusyMonth);
    archive = new ArchiveReader(lived.archive.kind === 'archive' ? lived.archive.folder : '', {
      clientKeys: TEST_KEYS,
      cursors: NUMBER_CURSORS,
      unshippedErasures: async () => [],
      readJournal: async () => ({ entries: [], cursor: null, gap: null }),
    });
    const found = await withEvidence(all(lived.archive), (evidence) =>
      report(evidence, { rules: place.rules('p2.v10'), by: null }),
    );
    decisions = found.decisions;
    newest = found.to ?? 0;
  });
  after(async () => {
    await archive?.close();
    place?.end();
  });

  const sum = (counts: Readonly<Record<string, number>>) =>
    Object.values(counts).reduce((total, count) => total + count, 0);

  it('counts each decision once, by verdict and by group, in slots that follow one another', async () => {
    const { slots, stepMs, to, gaps } = await new VerdictHistory(archive, () => newest).view(
      PLATFORM,
      'quarter',
    );
    expect([slots.length, stepMs, to, gaps]).to.deep.equal([90, 86_400_000, newest, []]);
    expect(slots.reduce((total, { verdicts }) => total + sum(verdicts), 0)).to.equal(decisions);
    for (const { verdicts, groups, waits } of slots) {
      expect(sum(groups)).to.equal(sum(verdicts));
      expect(sum(waits)).to.equal(verdicts.WAIT);
    }
    expect(slots.map(({ at }, index) => at - (slots[0]?.at ?? 0) - index * stepMs)).to.deep.equal(
      Array(90).fill(0),
    );
    expect(slots.filter(({ bots }) => bots > 0).length).to.be.above(0);
  });

  it('has nothing of other platforms and times', async () => {
    const history = new VerdictHistory(archive, () => newest);
    expect((await history.view(platformName('another'), 'quarter')).to).to.equal(null);
    const before = await new VerdictHistory(archive, () => JULY - 1000).view(PLATFORM, 'day');
    expect(before.to).to.equal(null);
    const upTo = await new VerdictHistory(archive, () => newest).view(PLATFORM, 'day', JULY);
    expect([upTo.to, upTo.slots.at(-1)?.at]).to.deep.equal([null, JULY - 1_800_000]);
    expect(before.slots.every(({ verdicts }) => sum(verdicts) === 0)).to.equal(true);
  });
});
