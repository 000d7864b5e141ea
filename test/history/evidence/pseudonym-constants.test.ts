import { join } from 'node:path';
import { expect } from 'chai';
import { AccessKeys } from '#checkout/access/access-keys.ts';
import { toKeyCaller } from '#checkout/access/caller.ts';
import type { AttributePseudonymizer } from '#decision/payer/attribute-hmacs.ts';
import { toPlatformName } from '#decision/payer/client-key.ts';
import { createAttributePseudonymizer } from '#decision/pseudonym.ts';
import { compileWithOtherHmacs } from '#decision/rules/evaluate/compile.ts';
import type { RuleSet } from '#decision/rules/rule-set.ts';
import { Archive } from '#history/archive/archive.ts';
import { QueryEngine } from '#history/archive/query-engine.ts';
import { ArchiveReader } from '#history/archive/read/archive-reader.ts';
import { runBacktest } from '#history/evidence/backtest/backtest.ts';
import { presentBacktest } from '#history/evidence/backtest/backtest-report.ts';
import { reportRuleWorth } from '#history/evidence/report/report.ts';
import { presentWorthReport } from '#history/evidence/report/worth-report.ts';
import { type EvidenceAsk, withEvidence } from '#history/evidence/source/evidence.ts';
import { loadRuleSet } from '#state/rule-folders/rule-folder.ts';
import { openSqliteStore } from '#state/sqlite/store.ts';
import { EvidenceDesk } from '#workbench/evidence/evidence-desk.ts';
import { addVerifications, NOTHING_VERIFIED, verifySegment } from '#workbench/verify/verify-segment.ts';
import { placeVersion } from '../../checkout/rollout/rule-folders.ts';
import { TEST_KEYS, TEST_SALT } from '../../decision/payer/client-keys.ts';
import { REFUSING_BINS } from '../../rule-fixtures/pseudonym-constants.ts';
import { edited, swap } from '../../rule-fixtures/sound-rules.ts';
import { temporaryDirectory } from '../../servers/temporary-directory.ts';
import { until } from '../../servers/until.ts';
import { KEY_LIFETIME_MS } from '../../service/key-lifetime.ts';
import { SIGNAL_SECRET } from '../../service/running-service.ts';
import { all, type RecordedEvidence, servedEvidence } from './source/recorded-evidence.ts';

const OTHER_SECRET = 'another secret than that of the tests';

const rulesDir = temporaryDirectory();
placeVersion(rulesDir, 'p2.v11', REFUSING_BINS);
const RULES = loadedFrom(rulesDir);

function loadedFrom(folder: string): RuleSet {
  const loaded = loadRuleSet(join(folder, 'p2.v11'));
  return loaded.ok ? loaded.ruleSet : expect.fail('p2.v11 is not sound');
}

/** The same rules with another BIN in place of 510000. */
const OTHER_BIN = edited({
  ...REFUSING_BINS,
  'verdicts.yaml': (sound) => {
    const text = REFUSING_BINS['verdicts.yaml']?.(sound) ?? '';
    return swap('"510000"', '"520000"')(text);
  },
});

describe('evidence on constants that a pseudonym is compared with', () => {
  let sources: RecordedEvidence;

  before(async () => {
    sources = await servedEvidence(RULES, async (shop) => {
      const ask = (clientIdKey: string, cardBin?: string) => {
        const attributes = cardBin === undefined ? {} : { attributes: { cardBin } };
        return shop.verdict({ clientIdKey, orderRef: `${clientIdKey}-1`, ...attributes });
      };
      await ask('ann', '411111');
      await ask('bob', '400000');
      await ask('cid', '510000');
      await ask('dan', '520000');
      await ask('eve', '600000');
      await ask('fay');
      await shop.score({ clientIdKey: 'gil', attributes: { cardBin: '411111' } });
      await ask('gil');
    });
  });

  const under = (place: EvidenceAsk['place'], secret: string | null, former: string | null = null) => ({
    ...all(place),
    formerSecret: former,
    ...(secret === null ? {} : { holdoutSecret: secret }),
  });

  const backtestUnder = (ask: EvidenceAsk) =>
    withEvidence(ask, (evidence) =>
      runBacktest(evidence, {
        tried: [
          { rules: RULES, values: {} },
          { rules: OTHER_BIN, values: {} },
        ],
        against: null,
        rulesOf: () => RULES,
      }),
    );

  const reportUnder = (ask: EvidenceAsk) =>
    withEvidence(ask, (evidence) =>
      reportRuleWorth(evidence, { rules: RULES, against: OTHER_BIN, by: null }),
    );

  for (const kind of ['archive', 'journal'] as const) {
    it(`answers in a backtest as the service did, from ${kind}`, async () => {
      const found = await backtestUnder(under(sources[kind], SIGNAL_SECRET));
      expect([found.compared, found.reproduced, found.undecidable.count]).to.deep.equal([7, 7, 0]);
      // Who has 510000, and who has 520000.
      expect(found.candidates.map(({ changed }) => changed)).to.deep.equal([0, 2]);
      const since = await backtestUnder(under(sources[kind], OTHER_SECRET, SIGNAL_SECRET));
      expect([since.compared, since.reproduced], 'after the secret has changed').to.deep.equal([7, 7]);
    });

    it(`cannot say in a backtest without the secret, from ${kind}`, async () => {
      for (const secret of [null, OTHER_SECRET]) {
        const found = await backtestUnder(under(sources[kind], secret));
        expect(found.undecidable).to.deep.equal({ count: 6, facts: ['attribute(cardBin)'] });
        expect([found.compared, found.reproduced], 'who says none').to.deep.equal([1, 1]);
        expect(presentBacktest(found).notes).to.include(
          '6 requests are not compared: rules compare attribute(cardBin) with constants, and the recorded pseudonym was made with another SIGNAL_SECRET. Set SIGNAL_SECRET to that of the service, or SIGNAL_SECRET_PREVIOUS to the one before.',
        );
      }
    });

    it(`counts in a report what each rule matched, from ${kind}`, async () => {
      const found = await reportUnder(under(sources[kind], SIGNAL_SECRET));
      const matched = Object.fromEntries(found.rules.map(({ name, matched }) => [name, matched]));
      expect(matched).to.include({ 'suspect-bin': 3, 'own-bin': 1 });
      expect(found.undecidable).to.deep.equal({ count: 0, facts: [] });
      expect([found.against?.compared, found.against?.changed]).to.deep.equal([7, 2]);
    });

    it(`cannot say in a report without the secret, from ${kind}`, async () => {
      const found = await reportUnder(under(sources[kind], OTHER_SECRET));
      const label = 'attribute(cardBin) under this SIGNAL_SECRET';
      expect(found.undecidable).to.deep.equal({ count: 6, facts: [label] });
      const { notes } = presentWorthReport(found);
      expect(notes).to.include(`6 decisions are not counted: their records lack ${label}.`);
      expect(notes).to.include(`6 decisions cannot be compared: the records lack ${label}.`);
    });
  }

  it('is worked out by the desk of a node with the secrets of the node', async () => {
    const store = openSqliteStore(temporaryDirectory(), { salt: TEST_SALT });
    const { record } = await new AccessKeys(store.documents, Date.now).issue(
      toPlatformName('shop'),
      ['rules'],
      KEY_LIFETIME_MS,
    );
    // Another time is another question, which is worked out anew.
    const undecidableUnder = async (
      signalSecret: string,
      signalSecretPrevious: string | null,
      from: number,
    ) => {
      const desk = new EvidenceDesk({
        past: new ArchiveReader(sources.archive.folder, store),
        rulesDir,
        signalSecret,
        signalSecretPrevious,
        store,
        clock: Date.now,
        onTrouble: (message) => expect.fail(message),
      });
      const span = { platform: null, from, to: null, asOf: null };
      const ruleSets = { [RULES.version]: RULES.digest };
      const options = { version: RULES.version };
      const asked = await desk.findOrAddJob(toKeyCaller(record), {
        kind: 'report',
        options,
        ruleSets,
        ...span,
      });
      await until('the job ends', async () => {
        const job = await desk.jobStore.findVisible(asked.platform, asked.jobId);
        return job === null || job.endedAt !== null;
      });
      const found = await desk.jobStore.findResult(asked);
      await desk.close();
      return found !== null && 'undecidable' in found ? found.undecidable : expect.fail('there is no report');
    };
    const label = 'attribute(cardBin) under this SIGNAL_SECRET';
    expect(await undecidableUnder(OTHER_SECRET, SIGNAL_SECRET, 0)).to.deep.equal({ count: 0, facts: [] });
    expect(await undecidableUnder(OTHER_SECRET, null, 1)).to.deep.equal({ count: 6, facts: [label] });
    await store.close();
  });

  async function verified(hmacs: AttributePseudonymizer) {
    const archive = new Archive(sources.archive.folder);
    const duck = await QueryEngine.open({
      threads: 1,
      memoryMiB: 512,
      temporaryFolder: temporaryDirectory(),
    });
    const rules = compileWithOtherHmacs(RULES, hmacs);
    try {
      let sum = NOTHING_VERIFIED;
      for (const segment of archive.listSegments(archive.read(), { table: 'decisions' }))
        sum = addVerifications(
          sum,
          await verifySegment(duck, archive, segment, 'true', () => rules, TEST_KEYS),
        );
      return sum;
    } finally {
      duck.close();
    }
  }

  it('reproduces archived decisions with the secret, and counts apart those of another', async () => {
    const whole = { ...NOTHING_VERIFIED, checked: 7 };
    expect(await verified(createAttributePseudonymizer([SIGNAL_SECRET]))).to.deep.equal({
      ...whole,
      reproduced: 7,
    });
    expect(await verified(createAttributePseudonymizer([OTHER_SECRET]))).to.deep.equal({
      ...whole,
      reproduced: 1,
      withoutSecret: 6,
    });
    expect(await verified(createAttributePseudonymizer([]))).to.deep.include({
      reproduced: 1,
      withoutSecret: 6,
    });
  });
});
