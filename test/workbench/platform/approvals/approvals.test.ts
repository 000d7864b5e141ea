import { expect } from 'chai';
import type { Rollout } from '#checkout/rollout/rollout.ts';
import { toPlatformName } from '#decision/payer/client-key.ts';
import { PlatformClient, ProposedError } from '#sdk/client.ts';
import { createPersonActor } from '#workbench/access/actors.ts';
import { Audit } from '#workbench/access/audit.ts';
import { type Proposal, Proposals } from '#workbench/approvals/proposals.ts';
import type { Answer, Problem } from '../../../service/http-call.ts';
import { Tenant } from '../../../service/tenant.ts';
import { describeOnStores } from '../../../stores/describe-on-stores.ts';
import { type TemporaryStore, temporarySqlite } from '../../../stores/temporary-store.ts';
import { type FourEyes, startFourEyes } from './four-eyes.ts';

const REASON = { reason: 'a test' };

describeOnStores('with APPROVALS=required', (store) => {
  let eyes: FourEyes;
  let ann: Tenant;
  let bob: Tenant;
  let annOfShop: Tenant;
  let bobOfShop: Tenant;

  before(async () => {
    eyes = await startFourEyes(store());
    ann = await eyes.person('ann', '*');
    bob = await eyes.person('bob', '*');
    annOfShop = await eyes.person('ann', 'shop');
    bobOfShop = await eyes.person('bob', 'shop');
  });
  after(() => eyes?.stop());

  async function proposed(answer: Promise<Answer<unknown>>): Promise<string> {
    const { status, body } = await answer;
    expect(status, JSON.stringify(body)).to.equal(202);
    expect(body).to.have.keys('proposalId', 'expiresAt');
    return body !== null && typeof body === 'object' && 'proposalId' in body ? String(body.proposalId) : '';
  }

  const decide = (who: Tenant, way: 'approve' | 'reject', proposalId: string) =>
    who.ask<Proposal & Problem>('POST', `proposals/${proposalId}/${way}`, REASON);

  const rollOut = (who: Tenant, body: object) =>
    who.ask<{ rollout: Rollout } & Problem>('POST', 'rules/rollout', { ...REASON, ...body });

  const rollout = async () => (await ann.ask<{ rollout: Rollout }>('GET', 'rules')).body.rollout;

  async function listed(who: Tenant, state: string): Promise<readonly Proposal[]> {
    return (await who.ask<{ proposals: Proposal[] }>('GET', `proposals?state=${state}`)).body.proposals;
  }

  it('a version becomes active when somebody else approves it, and the audit names both', async () => {
    const proposalId = await proposed(rollOut(ann, { version: 'p2.v11', mode: 'active' }));
    expect((await rollout()).active.version).to.equal('p2.v10');
    const [shown] = await listed(bob, 'open');
    expect(shown).to.include({ proposalId, what: 'rollout', subject: 'p2.v11', state: 'open' });
    expect(shown?.versions).to.deep.equal({ before: 'p2.v10', after: 'p2.v11' });
    expect(shown?.lines).to.deep.equal([
      'p2.v11 decides for all clients of all platforms, instead of p2.v10',
      'compared on nobody, because no payer asked for a verdict in the last day',
      'reason: a test',
    ]);
    const own = await decide(ann, 'approve', proposalId);
    expect([own.status, own.body.detail]).to.deep.equal([409, 'ann proposed it; somebody else approves it']);
    expect((await decide(bob, 'approve', proposalId)).body).to.include({ state: 'approved' });
    const { active, history } = await rollout();
    expect(active.version).to.equal('p2.v11');
    expect(history.at(-1)?.who).to.match(/^key \w+ of ann, approved by key \w+ of bob$/);
    const { entries } = await new Audit(eyes.store.auditLog, eyes.clock.now).read(null, 100);
    const told = entries.map(({ action, who }) => `${action} ${who.replace(/key \w+ of/g, 'key of')}`);
    expect(told).to.include.members([
      'proposal key of ann',
      'proposal approved key of bob',
      'rollout key of ann, approved by key of bob',
    ]);
  });

  it('a proposal is carried out once, however many approve it at the same time', async () => {
    const proposalId = await proposed(rollOut(ann, { version: 'p2.v12', mode: 'canary', percent: 30 }));
    const { revision } = await rollout();
    const eve = await eyes.person('eve', '*');
    const answers = await Promise.all([bob, eve, bob, eve].map((who) => decide(who, 'approve', proposalId)));
    expect(answers.filter(({ status }) => status === 200)).to.have.length(1);
    expect((await rollout()).revision).to.equal(revision + 1);
  });

  it('a canary of up to 20 %, a smaller share and a rollback need no approval', async () => {
    expect((await rollOut(ann, { version: 'p2.v12', mode: 'canary', percent: 25 })).status).to.equal(200);
    expect((await ann.ask('POST', 'rules/rollback', REASON)).status).to.equal(200);
    expect((await rollOut(ann, { version: 'p2.v12', mode: 'canary', percent: 20 })).status).to.equal(200);
    await proposed(rollOut(ann, { version: 'p2.v12', mode: 'canary', percent: 21 }));
  });

  it('a proposal on a rollout that has changed since is refused, and says what to do', async () => {
    const proposalId = await proposed(rollOut(ann, { version: 'p2.v12', mode: 'active' }));
    expect((await ann.ask('POST', 'rules/rollback', REASON)).status).to.equal(200);
    const { status, body } = await decide(bob, 'approve', proposalId);
    expect(status).to.equal(409);
    expect(
      body.detail.replaceAll(/revision \d+|sha256:\w+/g, (text) => text.split(/[ :]/)[0] ?? ''),
    ).to.equal(
      'it was proposed on revision of the rollout with p2.v12 sha256, but now there is revision of the rollout with p2.v12 sha256; reject it, and let it be proposed again',
    );
    expect((await decide(ann, 'reject', proposalId)).body).to.include({ state: 'rejected', note: 'a test' });
    expect((await decide(bob, 'approve', proposalId)).status).to.equal(409);
    expect((await rollout()).active.version).to.equal('p2.v11');
  });

  it('in an emergency one person alone can return to the version before, and to no other', async () => {
    const elsewhere = await rollOut(ann, { version: 'p2.v12', mode: 'active', emergency: true });
    expect([elsewhere.status, elsewhere.body.detail]).to.deep.equal([
      409,
      'an emergency can only return to a version that was active before, with the same files; p2.v12 was not',
    ]);
    const part = await rollOut(ann, { version: 'p2.v10', mode: 'canary', percent: 90, emergency: true });
    expect(part.status).to.equal(409);
    const back = await rollOut(ann, { version: 'p2.v10', mode: 'active', emergency: true });
    expect(back.body.rollout.history.at(-1)).to.include({ action: 'active', to: 'p2.v10', emergency: true });
    expect(eyes.node.report().emergencyAt).to.equal(back.body.rollout.history.at(-1)?.at);
    const { entries } = await new Audit(eyes.store.auditLog, eyes.clock.now).read(null, 100);
    expect(entries.findLast(({ action }) => action === 'rollout')?.after).to.include({ emergency: true });
  });

  it('a release is proposed with its digest, and refused when the files have changed since', async () => {
    type Version = { version: string; digest: string; released: boolean };
    const shown = async () => {
      const { body } = await ann.ask<{ versions: Version[] }>('GET', 'rules/versions');
      return body.versions.find(({ version }) => version === 'p2.v13');
    };
    const digest = (await shown())?.digest;
    const release = (members: object) =>
      ann.ask<Problem>('POST', 'rules/versions/p2.v13/release', { ...REASON, digest, ...members });
    const other = await release({ digest: '0'.repeat(64) });
    expect(other.status).to.equal(409);
    expect(other.body.detail).to.equal('p2.v13 was changed or removed since you opened it; open it again');
    const proposalId = await proposed(release({}));
    expect((await shown())?.released).to.equal(false);
    expect((await decide(bob, 'approve', proposalId)).status).to.equal(200);
    expect((await shown())?.released).to.equal(true);
  });

  it('nobody alone can trust a payer, and blocking needs no approval', async () => {
    const proposalId = await proposed(annOfShop.override('payer-1', 'TRUSTED'));
    const override = async () => (await annOfShop.client('payer-1')).body.override;
    expect((await annOfShop.override('payer-1', 'BLOCKED')).status).to.equal(200);
    const changed = await decide(bobOfShop, 'approve', proposalId);
    expect(changed.body.detail).to.match(
      /^it was proposed on no override on the client, but now there is BLOCKED/,
    );
    expect(await override()).to.include({ group: 'BLOCKED' });
    const again = await proposed(annOfShop.override('payer-1', 'TRUSTED'));
    expect((await decide(bobOfShop, 'approve', again)).status).to.equal(200);
    expect(await override()).to.include({ group: 'TRUSTED' });
  });

  it('nobody alone issues a key that reports outcomes or issues keys: its secret is shown, and let in once approved', async () => {
    const issue = (operations: readonly string[]) =>
      annOfShop.ask<{ key: string; proposalId: string }>('POST', 'keys', { operations, days: 30 });
    expect((await issue(['score', 'verdict'])).status).to.equal(200);
    for (const operation of ['outcomes', 'keys']) {
      const { status, body } = await issue(['score', operation]);
      expect(status).to.equal(202);
      const made = new Tenant(annOfShop, body.key);
      expect((await made.score()).status).to.equal(401);
      expect((await decide(annOfShop, 'approve', body.proposalId)).status).to.equal(409);
      expect((await decide(bobOfShop, 'approve', body.proposalId)).status).to.equal(200);
      expect((await made.score()).status).to.equal(200);
    }
  });

  it('the settings say so', async () => {
    expect((await annOfShop.ask('GET', 'settings')).body).to.include({ approvals: 'required' });
  });

  it('lists need no approval, ranges of addresses included', async () => {
    await annOfShop.ask('PUT', 'lists/trusted', { kind: 'ip' });
    const put = await annOfShop.ask('PUT', 'lists/trusted/entries?value=203.0.0.0%2F8', REASON);
    expect(put.status).to.equal(200);
  });

  it('a platform approves its own proposals alone, and sees no others', async () => {
    const proposalId = await proposed(annOfShop.override('payer-2', 'TRUSTED'));
    const elsewhere = await eyes.person('carl', 'elsewhere');
    for (const stranger of [bob, elsewhere]) {
      expect((await decide(stranger, 'approve', proposalId)).status).to.equal(404);
      expect(JSON.stringify(await listed(stranger, 'open'))).to.not.contain('payer-2');
    }
  });

  it('a person who may propose and not approve sees only the own proposals', async () => {
    const dora = await eyes.person('dora', 'shop', ['clients']);
    const proposalId = await proposed(dora.override('payer-7', 'TRUSTED'));
    await proposed(annOfShop.override('payer-8', 'TRUSTED'));
    expect((await listed(dora, 'open')).map((one) => one.proposalId)).to.deep.equal([proposalId]);
    const nobody = await eyes.person(undefined, 'shop', ['clients']);
    expect(await listed(nobody, 'open')).to.deep.equal([]);
    expect((await decide(dora, 'approve', proposalId)).status).to.equal(403);
  });

  it('a key without an owner neither proposes nor approves', async () => {
    const nobody = await eyes.person(undefined, 'shop');
    const refused = await nobody.override('payer-3', 'TRUSTED');
    expect([refused.status, refused.body.detail.replace(/key \w+/, 'key')]).to.deep.equal([
      409,
      'key has no owner, so it cannot be known whether somebody else approves; use a key that was issued with --owner',
    ]);
    const proposalId = await proposed(annOfShop.override('payer-3', 'TRUSTED'));
    expect((await decide(nobody, 'approve', proposalId)).status).to.equal(409);
    const otherSpelling = await eyes.person(' ANN ', 'shop');
    expect((await decide(otherSpelling, 'approve', proposalId)).status).to.equal(409);
  });

  it('the client library says that nothing was changed yet, and names the proposal', async () => {
    const client = new PlatformClient({ baseUrl: eyes.application.platformUrl, accessKey: annOfShop.key });
    const override = { group: 'TRUSTED', reason: 'knows us' } as const;
    const error = await client.setOverride('payer-6', override).catch((reason: unknown) => reason);
    if (!(error instanceof ProposedError)) throw new Error('not proposed', { cause: error });
    const waiting = (await listed(bobOfShop, 'open')).find(({ subject }) => subject === 'payer-6');
    expect(waiting).to.include({ proposalId: error.proposalId, expiresAt: Date.parse(error.expiresAt) });
    expect((await client.setOverride('payer-6', { ...override, group: 'BLOCKED' })).group).to.equal(
      'BLOCKED',
    );
  });

  it('a person and a key with that person as its owner count as one', async () => {
    const { id: person, owner } = createPersonActor({ sub: '248', email: null });
    const change = { what: 'override', clientIdKey: 'payer-5', group: 'TRUSTED' } as const;
    const { clientKeys, registers, auditLog } = eyes.store;
    const now = eyes.clock.now;
    const proposals = new Proposals(registers, new Audit(auditLog, now), clientKeys, now);
    const { proposalId } = await proposals.add(
      toPlatformName('shop'),
      { ...change, reason: 'knows us', expiresAt: null },
      { subject: 'payer-5', basis: 'no override', lines: [], versions: null },
      { text: person, owner },
    );
    const ownKey = await eyes.person(person, 'shop');
    const answer = await decide(ownKey, 'approve', proposalId);
    expect(answer.status).to.equal(409);
    expect(answer.body.detail).to.equal('person:248 proposed it; somebody else approves it');
  });

  it('open proposals are limited for everybody', async () => {
    const greedy = await eyes.person('greedy', 'shop');
    const answers: number[] = [];
    for (let payer = 0; payer < 21; payer += 1)
      answers.push((await greedy.override(`greedy-${payer}`, 'TRUSTED')).status);
    expect(answers).to.deep.equal([...Array.from({ length: 20 }, () => 202), 409]);
    await proposed(annOfShop.override('payer-4', 'TRUSTED'));
  });

  it('erasing a payer forgets proposals about it', async () => {
    await proposed(annOfShop.override('payer-to-erase', 'TRUSTED'));
    expect((await annOfShop.ask('DELETE', 'client?clientIdKey=payer-to-erase')).status).to.equal(204);
    expect(JSON.stringify(await eyes.store.registers.read('proposals:shop'))).to.not.contain(
      'payer-to-erase',
    );
  });

  it('a proposal expires after a week', async () => {
    const proposalId = await proposed(annOfShop.override('payer-5', 'TRUSTED'));
    eyes.clock.moveSeconds(7 * 24 * 3600);
    expect((await decide(bobOfShop, 'approve', proposalId)).body.detail).to.equal(
      `the proposal ${proposalId} is expired already`,
    );
    expect((await listed(bobOfShop, 'expired')).map((one) => one.proposalId)).to.include(proposalId);
  });
});

describe('with APPROVALS=required and a rule set that takes too long to check', () => {
  let state: TemporaryStore;
  let eyes: FourEyes;
  before(async () => {
    state = temporarySqlite();
    eyes = await startFourEyes(state.store, true, { timeMs: 1 });
  });
  after(async () => {
    await eyes?.stop();
    await state.remove();
  });

  it('a release is not proposed, and is told why', async () => {
    const ann = await eyes.person('ann', '*');
    const body = { ...REASON, digest: '0'.repeat(64) };
    const answer = await ann.ask<Problem>('POST', 'rules/versions/p2.v13/release', body);
    expect([answer.status, answer.body.detail]).to.deep.equal([409, 'it took more than 0.001 s']);
  });
});
