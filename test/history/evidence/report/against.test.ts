import { expect } from 'chai';
import type { RuleSet } from '#decision/rules/rule-set.ts';
import { reportRuleWorth } from '#history/evidence/report/report.ts';
import type { WorthReport } from '#history/evidence/report/worth-report.ts';
import { withEvidence } from '#history/evidence/source/evidence.ts';
import { type Edit, edited, edits, swap } from '../../../rule-fixtures/sound-rules.ts';
import { History, JULY } from '../backtest/backtest-history.ts';
import { all, type RecordedEvidence, recordedEvidence, reportOn } from '../source/recorded-evidence.ts';

const AT_NIGHT = swap(
  'rules:\n',
  `rules:
  - name: at-night
    description: Nobody buys at night.
    priority: 999
    conditions: { all: [{ fact: hourOfDay, operator: lessThan, value: 6 }] }
    event: { type: verdict, params: { verdict: BLOCK, reason: "Closed." } }
`,
);
const timeZone = (name: string) => swap('  currency: EUR\n', `  currency: EUR\n  timeZone: ${name}\n`);

/** Rule sets of a digest of their own, as they have outside of tests. */
function versionOf(digit: string, changes: Readonly<Record<string, Edit>>): RuleSet {
  return { ...edited(changes), digest: digit.repeat(64) };
}

const UTC = versionOf('1', { 'verdicts.yaml': AT_NIGHT });
const TOKYO = versionOf('2', { 'verdicts.yaml': AT_NIGHT, 'ruleset.yaml': timeZone('Asia/Tokyo') });
const KATHMANDU = versionOf('3', { 'verdicts.yaml': AT_NIGHT, 'ruleset.yaml': timeZone('Asia/Kathmandu') });
const TOKYO_FOR_DEMO = versionOf('4', {
  'verdicts.yaml': AT_NIGHT,
  'ruleset.yaml': swap('  sandbox:\n', '  demo: { timeZone: Asia/Tokyo }\n  sandbox:\n'),
});
const PLAIN = versionOf('5', {});

describe('the report on a version beside another', () => {
  let sources: RecordedEvidence;
  before(async () => {
    sources = await recordedEvidence(async (store) => {
      const history = new History(store, UTC);
      // At 12:00, 13:00, .. UTC, which is 21:00, 22:00, .. in Tokyo.
      for (let payer = 0; payer < 5; payer++) {
        history.now = JULY + (12 + payer) * 3_600_000;
        await history.verdict(`payer-${payer}`, `order-${payer}`);
      }
    });
  });

  function reportOf(rules: RuleSet, against: RuleSet): Promise<WorthReport> {
    return withEvidence(all(sources.archive), (evidence) =>
      reportRuleWorth(evidence, { rules, against, by: null }),
    );
  }

  it('says which verdicts change where the two differ in their time zone alone', async () => {
    // Midnight in Tokyo is 15:00 UTC, so that two of five come at night.
    const { against } = await reportOf(TOKYO, UTC);
    expect([against?.changed, against?.compared, against?.undecidable]).to.deep.equal([2, 5, 0]);
    expect(against?.changes.map(({ from, to, toRule, count }) => [from, to, toRule, count])).to.deep.equal([
      ['GET_NEW', 'BLOCK', 'at-night', 2],
    ]);
  });

  it('takes the time zone of the platform that was asked', async () => {
    const { against } = await reportOf(TOKYO_FOR_DEMO, UTC);
    expect([against?.changed, against?.compared]).to.deep.equal([2, 5]);
  });

  it('reads clocks that are ahead by a part of an hour', async () => {
    // 18:15 UTC is midnight in Kathmandu, after all of them.
    const { against } = await reportOf(KATHMANDU, UTC);
    expect([against?.changed, against?.compared]).to.deep.equal([0, 5]);
  });

  it('asks for the time of day also where no version recorded it', async () => {
    const recorded = await recordedEvidence(async (store) => {
      const history = new History(store, PLAIN);
      history.now = JULY + 3_600_000;
      await history.verdict('ann', 'order');
    });
    const { undecidable, rules } = await reportOn(recorded.archive, UTC);
    expect(undecidable).to.deep.equal({ count: 0, facts: [] });
    expect(rules.find(({ name }) => name === 'at-night')?.decided).to.equal(1);
  });

  it('names the settings that recorded facts cannot show, also of one platform', async () => {
    const ladder = swap('[10s, 1m, 10m]', '[20s, 1m, 10m]');
    const smoothing = swap('prior: 0.5, weight: 0.4', 'prior: 0.6, weight: 0.4');
    const other = versionOf('6', { 'verdicts.yaml': AT_NIGHT, 'ruleset.yaml': edits(ladder, smoothing) });
    const { against } = await reportOf(other, UTC);
    expect(against?.unseen).to.deep.equal(['smoothing', 'ladder']);
    expect((await reportOf(TOKYO, UTC)).against?.unseen).to.deep.equal([]);
  });
});

describe('what a rule matched, decided and was needed for', () => {
  const HALF = swap('    priority: 80\n', '    priority: 80\n    holdout: 50%\n');
  const rules = edited({ 'groups.yaml': HALF });

  it('counts decisions in which the rule was skipped for its holdout as matched alone', async () => {
    const verdicts = { GET_NEW: 0, BLOCK: 0 };
    const { archive } = await recordedEvidence(async (store) => {
      const history = new History(store, rules, (client) => () => client.hash < '8');
      for (let payer = 0; payer < 30; payer++) {
        for (const order of ['a', 'b', 'c', 'd'])
          await history.outcome(`payer-${payer}`, `${order}-${payer}`, 'UNPAID');
        const verdict = await history.verdict(`payer-${payer}`, `e-${payer}`);
        if (verdict === 'GET_NEW' || verdict === 'BLOCK') verdicts[verdict]++;
      }
    });
    expect(Math.min(verdicts.GET_NEW, verdicts.BLOCK)).to.be.above(5);
    const found = await reportOn(archive, rules);
    const figures = (file: string, name: string) => {
      const rule = found.rules.find((one) => one.name === name && one.file === file);
      return [rule?.matched, rule?.decided, rule?.decisive];
    };
    expect(figures('groups.yaml', 'blocked-by-unpaid-chain')).to.deep.equal([
      30,
      verdicts.BLOCK,
      verdicts.BLOCK,
    ]);
    expect(figures('verdicts.yaml', 'client-blocked')).to.deep.equal([
      verdicts.BLOCK,
      verdicts.BLOCK,
      verdicts.BLOCK,
    ]);
    // Of those held out no other rule of groups held.
    expect(figures('groups.yaml', 'otherwise')).to.deep.equal([verdicts.GET_NEW, verdicts.GET_NEW, null]);
    expect(figures('verdicts.yaml', 'otherwise')).to.deep.equal([verdicts.GET_NEW, verdicts.GET_NEW, null]);
  });
});
