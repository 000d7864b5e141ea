import { expect } from 'chai';
import { backtest } from '../../../src/evidence/backtest/backtest.ts';
import type { BacktestMode, BacktestReport } from '../../../src/evidence/backtest/backtest-report.ts';
import { Redecider } from '../../../src/evidence/backtest/recorded.ts';
import { type Evidence, withEvidence } from '../../../src/evidence/source/evidence.ts';
import { combinationsOf, parseVariation, sweep } from '../../../src/evidence/sweep/sweep.ts';
import { readRuleFiles } from '../../../src/rules/folder/rule-folder.ts';
import { edited, whole } from '../../rule-fixtures/sound-rules.ts';
import { SIGNAL_SECRET, startService } from '../../service/running-service.ts';
import { all, type LivedEvidence, livedEvidence } from '../source/lived-evidence.ts';
import { Workplace } from './backtest-history.ts';

const PAYERS = 12;
const RULE = 'groups/blocked-by-unpaid-chain';

/** A rule that holds out and asks for nothing but a count. */
const COUNTS_ALONE = edited({
  'groups.yaml': whole(`rules:
  - name: chain
    priority: 1
    holdout: 30%
    holdoutMaxAmount: { EUR: "100.00" }
    conditions: { all: [{ fact: unpaidCount, operator: greaterThan, value: 3 }] }
    event: { type: group, params: { group: BLOCKED } }
otherwise: NEW
`),
  'verdicts.yaml': whole(`rules:
  - name: blocked
    priority: 1
    conditions: { all: [{ fact: clientGroup, operator: equal, value: BLOCKED }] }
    event: { type: verdict, params: { verdict: BLOCK, reason: "no" } }
otherwise: { verdict: GET_NEW, reason: "ok" }
`),
});

describe('a record from which a rule with a holdout decides again', () => {
  it('must have what says who may be held out, although no condition compares it', () => {
    const { labels } = new Redecider(COUNTS_ALONE, () => () => true);
    expect([...labels]).to.include.members(['amount', 'currency', 'overrideGroup', 'unpaidCount']);
  });
});

describe('a replay under rules with holdouts', () => {
  let place: Workplace;
  let lived: LivedEvidence;
  /** Payers with four unpaid orders who were not blocked because they were held out. */
  let heldOut = 0;

  before(async () => {
    place = new Workplace();
    place.draft('p2.v20', {
      file: 'groups.yaml',
      from: '    priority: 80\n',
      to: '    priority: 80\n    holdout: 50%\n',
    });
    lived = await livedEvidence(async (store) => {
      const service = await startService({ store, rules: place.rules('p2.v20') });
      try {
        const shop = await service.tenant();
        for (let n = 0; n < PAYERS; n++) {
          const clientIdKey = `payer-${n}`;
          for (const order of ['a', 'b', 'c', 'd'])
            await shop.outcome(clientIdKey, `${order}-${n}`, 'UNPAID');
          service.clock.moveSeconds(1);
          const { body } = await shop.verdict({ clientIdKey, orderRef: `e-${n}`, amountRequested: '10.00' });
          if (body['verdict'] === 'GET_NEW') heldOut++;
          service.clock.moveSeconds(1);
          await shop.outcome(clientIdKey, `e-${n}`, 'UNPAID');
        }
      } finally {
        await service.stop();
      }
    });
    expect(heldOut).to.be.within(1, PAYERS - 1);
  });
  after(() => place.end());

  /** The same rules on their own decisions: any difference is one from live traffic. */
  const again = (evidence: Evidence, mode: BacktestMode): Promise<BacktestReport> =>
    backtest(evidence, {
      candidate: place.rules('p2.v20'),
      against: null,
      mode,
      outcomes: 'granted',
      rulesOf: () => place.rules('p2.v20'),
    });

  for (const mode of ['recorded', 'closed-loop'] as const) {
    it(`holds out the clients of live traffic, and says how many (${mode})`, async () => {
      for (const where of [lived.archive, lived.journal]) {
        const ask = { ...all(where), holdoutSecret: SIGNAL_SECRET };
        const report = await withEvidence(ask, (evidence) => again(evidence, mode));
        const skipped = { rule: RULE, share: 0.5, decisions: heldOut, clients: heldOut };
        expect(report.heldOut).to.deep.equal({ base: [skipped], candidate: [skipped] });
        expect(report.changed).to.equal(0);
        expect(report.outcomes.candidate.blocked.orders.turnedAway).to.equal(PAYERS - heldOut);
        if (mode === 'closed-loop') expect(report.reproduced).to.equal(PAYERS);
      }
    });
  }

  it('holds nobody out without the secret of the draw', async () => {
    const report = await withEvidence(all(lived.archive), (evidence) => again(evidence, 'recorded'));
    expect(report.changed).to.equal(heldOut);
    expect(report.heldOut.candidate).to.deep.equal([{ rule: RULE, share: 0.5, decisions: 0, clients: 0 }]);
  });

  it('holds clients out in every combination of a sweep', async () => {
    const files = readRuleFiles(place.path('rules', 'p2.v20'), []) ?? new Map();
    const chain = parseVariation(files, 'groups.blocked-by-unpaid-chain.unpaidChain=3,6');
    const combinations = combinationsOf('p2.v20', files, [chain]);
    const ask = { ...all(lived.archive), holdoutSecret: SIGNAL_SECRET };
    const { combinations: swept } = await withEvidence(ask, (evidence) =>
      sweep(evidence, { version: 'p2.v20', combinations, outcomes: 'granted', threads: 1 }),
    );
    const figures = swept.map(({ values, heldOut: [skipped] }) => [
      Object.values(values)[0],
      skipped?.decisions,
    ]);
    expect(figures).to.deep.equal([
      ['4', heldOut],
      ['3', heldOut],
      ['6', 0],
    ]);
  });

  it('is described by the command', async () => {
    const { code, stdout, stderr } = await place.scoring(
      'rules',
      'backtest',
      'p2.v20',
      '--against',
      'p2.v10',
      '--journal',
      lived.journal.kind === 'journal' ? lived.journal.path : '',
    );
    expect(code, stderr).to.equal(0);
    expect(stdout).to.include(
      `As in live traffic, p2.v20 holds 50 % of the clients out of ${RULE}: it matched and was skipped in ${heldOut} decisions about ${heldOut} clients.`,
    );
    expect(stdout).to.include('paid orders blocked 0 -> 0');
  });
});
