import { expect } from 'chai';
import { AccessKeys } from '#checkout/access/access-keys.ts';
import { Metrics } from '#checkout/metrics/metrics.ts';
import { LoadedRules } from '#checkout/rollout/loaded-rules.ts';
import { RolloutNode } from '#checkout/rollout/rollout-node.ts';
import { ScoringService } from '#checkout/scoring/scoring.ts';
import { toPlatformName } from '#decision/payer/client-key.ts';
import { createAttributePseudonymizer, createPseudonymizer } from '#decision/pseudonym.ts';
import { ArchiveReader } from '#history/archive/read/archive-reader.ts';
import { ThreadedRuleReader } from '#state/rule-folders/rule-reader.ts';
import { compareWithActive } from '#workbench/rollout/difference.ts';
import { REFUSING_BINS } from '../../rule-fixtures/pseudonym-constants.ts';
import { whole } from '../../rule-fixtures/sound-rules.ts';
import { temporaryDirectory } from '../../servers/temporary-directory.ts';
import { KEY_LIFETIME_MS } from '../../service/key-lifetime.ts';
import { describeOnStores } from '../../stores/describe-on-stores.ts';
import { placeVersion, versionOf } from './rule-folders.ts';

const SECRET = 'the secret of these nodes, long enough';
const OTHER_SECRET = 'the secret of other nodes, long enough';
const PAYERS = 24;

describeOnStores('a node with rules that compare a pseudonym with constants', (store) => {
  const rulesDir = temporaryDirectory();
  const platform = toPlatformName('shop');
  const clock = Date.now;
  let node: RolloutNode;
  let past: ArchiveReader;

  before(async () => {
    placeVersion(rulesDir, 'p2.v11', REFUSING_BINS);
    placeVersion(rulesDir, 'p2.v12', {
      ...REFUSING_BINS,
      'lists/suspect-bins.yaml': whole('description: Others.\nentries: ["600000"]\n'),
    });
    node = await RolloutNode.start({
      store: store(),
      rulesDir,
      dataDir: temporaryDirectory(),
      attributeHmacs: createAttributePseudonymizer([SECRET]),
      firstVersion: versionOf('p2.v11'),
      clock,
      onTrouble: () => {},
    });
    past = ArchiveReader.withoutArchive(store());
    await new AccessKeys(store().documents, clock).issue(platform, ['verdict'], KEY_LIFETIME_MS);
  });
  after(async () => {
    await node?.stop();
    await past?.close();
  });

  const ask = async (clientIdKey: string, cardBin: string) => {
    const service = new ScoringService({
      store: store(),
      ruleSource: node,
      clock,
      pseudonym: createPseudonymizer(SECRET),
      metrics: new Metrics(),
    });
    const body = { sellPointKey: 'shop-1', method: 'card', amountRequested: '25.00', orderRef: 'order-1' };
    const request = { ...body, clientIdKey, attributes: { cardBin } };
    const { answer } = await service.verdict(platform, request, { requestId: 'r', idempotencyKey: null });
    return answer.verdict;
  };

  it('decides by rules that a thread has read', async () => {
    expect(await ask('ann', '411111')).to.equal('BLOCK');
    expect(await ask('bob', '600000')).to.equal('GET_NEW');
  });

  it('says what another version would have answered, and with other secrets that nobody knows', async () => {
    for (let payer = 0; payer < PAYERS; payer++) await ask(`payer-${payer}`, '600000');
    const on = {
      store: store(),
      decidedLately: async (name: typeof platform, from: number, limit: number) =>
        (await past.findDecisions(name, { from }, limit)).decisions,
    };
    const muchUnder = async (secrets: readonly string[]) => {
      const rules = await LoadedRules.read(
        rulesDir,
        new ThreadedRuleReader(rulesDir),
        createAttributePseudonymizer(secrets),
      );
      const [before, after] = [rules.findByVersion('p2.v11'), rules.findByVersion('p2.v12')];
      if (after === null) throw new Error('p2.v12 is not sound');
      const { largeDifferences } = await compareWithActive(on, after, before, null, clock());
      await rules.close();
      return largeDifferences;
    };
    const blocked = `it would BLOCK ${PAYERS + 1} of ${PAYERS + 1} recent payers of shop whom the active version let pay, and let 1 of 1 pay whom it held back`;
    expect(await muchUnder([SECRET])).to.deep.equal([blocked]);
    expect(await muchUnder([OTHER_SECRET, SECRET])).to.deep.equal([blocked]);
    const unknown =
      'it cannot be compared on shop, where recent decisions did not record attribute(cardBin) under this SIGNAL_SECRET; bring it to shadow first';
    expect(await muchUnder([OTHER_SECRET])).to.deep.equal([unknown]);
    expect(await muchUnder([])).to.deep.equal([unknown]);
  });
});
