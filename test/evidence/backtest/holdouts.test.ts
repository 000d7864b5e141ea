import { expect } from 'chai';
import { backtest } from '../../../src/evidence/backtest/backtest.ts';
import { variationsOf } from '../../../src/evidence/backtest/variations.ts';
import { withEvidence } from '../../../src/evidence/source/evidence.ts';
import { readRuleFiles } from '../../../src/rules/folder/rule-folder.ts';
import { SIGNAL_SECRET, startService } from '../../service/running-service.ts';
import { all, type LivedEvidence, livedEvidence } from '../source/lived-evidence.ts';
import { Workplace } from './backtest-history.ts';

const PAYERS = 12;
const RULE = 'groups/blocked-by-unpaid-chain';

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

  it('holds out the clients of live traffic, in every variation, and says how many', async () => {
    const files = readRuleFiles(place.path('rules', 'p2.v20'), []) ?? new Map();
    const rules = place.rules('p2.v20');
    const tried = variationsOf(rules, files, ['groups.blocked-by-unpaid-chain.unpaidChain=3,6']);
    for (const where of [lived.archive, lived.journal]) {
      const ask = { ...all(where), holdoutSecret: SIGNAL_SECRET };
      const found = await withEvidence(ask, (evidence) =>
        backtest(evidence, { tried, against: null, rulesOf: () => rules }),
      );
      const skipped = { rule: RULE, share: 0.5, decisions: heldOut, clients: heldOut };
      expect(found.heldOut).to.deep.equal([skipped]);
      expect(found.candidates.map((one) => one.heldOut)).to.deep.equal([
        ...[[skipped], [skipped], [{ ...skipped, decisions: 0, clients: 0 }]],
      ]);
      expect([found.candidates[0]?.changed, found.reproduced]).to.deep.equal([0, PAYERS]);
    }
  });

  it('holds nobody out without the secret of the draw', async () => {
    const rules = place.rules('p2.v20');
    const { reproduced } = await withEvidence(all(lived.archive), (evidence) =>
      backtest(evidence, { tried: [{ rules, values: {} }], against: null, rulesOf: () => rules }),
    );
    expect(reproduced).to.equal(PAYERS - heldOut);
  });
});
