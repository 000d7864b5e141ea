import { expect } from 'chai';
import { INSTALLATION_PLATFORM } from '#checkout/access/access-keys.ts';
import { toPlatformName } from '#decision/payer/client-key.ts';
import { Audit } from '#workbench/access/audit.ts';
import { Proposals, type ProposedChange } from '#workbench/approvals/proposals.ts';
import { versionOf } from '../../checkout/rollout/rule-folders.ts';
import { MovableClock } from '../../service/movable-clock.ts';
import { describeOnStores } from '../../stores/describe-on-stores.ts';

const SHOP = toPlatformName('shop');

describeOnStores('open proposals', (store) => {
  const clock = new MovableClock();
  let proposals: Proposals;
  beforeEach(() => {
    const { registers, auditLog, clientKeys } = store();
    proposals = new Proposals(registers, new Audit(auditLog, clock.now), clientKeys, clock.now);
    // Those of the test before expire.
    clock.moveSeconds(8 * 24 * 3600);
  });

  const ann = { text: 'key 1 of ann', owner: 'ann' };

  function propose(
    subject: string,
    change: ProposedChange,
    by: { text: string; owner: string | null } = ann,
    basis = 'b',
  ) {
    clock.moveSeconds(1);
    const platform = change.what === 'override' ? SHOP : INSTALLATION_PLATFORM;
    return proposals.add(platform, change, { subject, basis, lines: [], versions: null }, by);
  }

  const ofDraft = (version: string, platform = 'shop', revision = 1): ProposedChange => ({
    what: 'release',
    version: versionOf(version),
    digest: `${revision}`,
    reason: 'a test',
    draft: { platform: toPlatformName(platform), revision },
  });

  const rollout = (percent: number): ProposedChange => ({
    what: 'rollout',
    version: versionOf('p2.v11'),
    goal: { mode: 'canary', percent, guardPoints: null },
    reason: 'a test',
    revision: null,
    acceptDifference: false,
    emergency: false,
  });

  const trust = (clientIdKey: string, reason = 'a test'): ProposedChange => ({
    what: 'override',
    clientIdKey,
    group: 'TRUSTED',
    reason,
    expiresAt: null,
  });

  const refusal = (work: Promise<unknown>) =>
    work.then(
      () => 'taken',
      (error: unknown) => (error instanceof Error ? error.message : error),
    );

  const open = async (platform = INSTALLATION_PLATFORM) =>
    (await proposals.list(platform)).filter(({ state }) => state === 'open').map(({ subject }) => subject);

  it('are at most ten drafts of one platform, and leave room to others and to the installation', async () => {
    for (let minor = 1; minor <= 10; minor += 1) await propose(`p3.v${minor}`, ofDraft(`p3.v${minor}`));
    expect(await refusal(propose('p3.v11', ofDraft('p3.v11')))).to.equal(
      'shop has 10 open proposals to release drafts, the most that are allowed; an operator of the installation must approve or reject some of them first',
    );
    expect(await refusal(propose('p3.v11', ofDraft('p3.v11', 'bank')))).to.equal('taken');
    expect(await refusal(propose('p2.v11', rollout(30)))).to.equal('taken');
  });

  it('are at most a hundred drafts of all platforms, beside which the installation rolls out', async () => {
    for (let place = 0; place < 100; place += 1)
      await propose(`p4.v${place}`, ofDraft(`p4.v${place}`, `shop-${place % 10}`));
    expect(await refusal(propose('p4.v100', ofDraft('p4.v100', 'late')))).to.equal(
      'all platforms have 100 open proposals to release drafts, the most that are allowed; an operator of the installation must approve or reject some of them first',
    );
    expect(await refusal(propose('p2.v11', rollout(31)))).to.equal('taken');
  });

  it('are the same when somebody proposes what is open already, for whatever reason', async () => {
    const first = await propose('payer-1', trust('payer-1'));
    const again = await propose('payer-1', trust('payer-1', 'another'), { text: 'key 2', owner: null });
    expect(again).to.deep.equal(first);
    expect(await open(SHOP)).to.deep.equal(['payer-1']);
    const onOther = await propose('payer-1', trust('payer-1'), ann, 'another basis');
    expect(onOther.proposalId).to.not.equal(first.proposalId);
  });

  it('have the later revision of a draft in the place of the earlier one', async () => {
    const first = await propose('p3.v1', ofDraft('p3.v1', 'shop', 1));
    await propose('p3.v1', ofDraft('p3.v1', 'bank', 1));
    const second = await propose('p3.v1', ofDraft('p3.v1', 'shop', 2));
    expect(await open()).to.deep.equal(['p3.v1', 'p3.v1']);
    expect(await proposals.get(INSTALLATION_PLATFORM, first.proposalId)).to.include({
      state: 'replaced',
      decidedBy: ann.text,
      decidedAt: second.proposedAt,
      note: `replaced by the proposal ${second.proposalId}`,
    });
    const outcome = await refusal(
      proposals.decide(INSTALLATION_PLATFORM, first.proposalId, 'approved', ann, ''),
    );
    expect(outcome).to.equal(`the proposal ${first.proposalId} is replaced by ${ann.text} already`);
  });

  it('push no decided proposal of the installation out, however often a draft is proposed', async () => {
    const { proposalId } = await propose('p2.v11', rollout(32));
    await proposals.decide(INSTALLATION_PLATFORM, proposalId, 'rejected', ann, 'no');
    for (let revision = 1; revision <= 60; revision += 1)
      await propose('p3.v1', ofDraft('p3.v1', 'shop', revision));
    expect(await proposals.get(INSTALLATION_PLATFORM, proposalId)).to.include({ state: 'rejected' });
    expect(
      (await proposals.list(INSTALLATION_PLATFORM)).filter(({ state }) => state === 'replaced'),
    ).to.have.length(10);
  });

  it('are at most twenty of one key without an owner', async () => {
    const nobody = { text: 'key 3', owner: null };
    for (let payer = 0; payer < 20; payer += 1) await propose(`p-${payer}`, trust(`p-${payer}`), nobody);
    expect(await refusal(propose('p-20', trust('p-20'), nobody))).to.equal(
      '20 of the 20 open proposals are of key 3; let some of them be approved or rejected first',
    );
    expect(await refusal(propose('p-20', trust('p-20'), { text: 'key 4', owner: null }))).to.equal('taken');
  });
});
