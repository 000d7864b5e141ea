import { expect } from 'chai';
import { type SeededConsole, startSeededConsole } from '../../../../scripts/screenshots/seeded-console.ts';
import type {
  DraftListSchema,
  DraftSchema,
  PresenceSchema,
} from '../../../../src/http/platform/rules/drafts/drafts.ts';
import type { Shape } from '../../../../src/shapes.ts';
import type { Problem } from '../../../service/http-call.ts';
import { Tenant } from '../../../service/tenant.ts';

describe('drafts that the platform API keeps', () => {
  let seeded: SeededConsole;
  let ann: Tenant;
  let bob: Tenant;
  let owner: Tenant;
  before(async () => {
    seeded = await startSeededConsole();
    ann = new Tenant(seeded, seeded.key);
    bob = new Tenant(seeded, await seeded.keyFor('rules'));
    owner = new Tenant(seeded, seeded.operatorKey);
  });
  after(() => seeded?.stop());

  const nameOf = ({ key }: Tenant) => `key ${key.split('_')[1]}`;
  const write = (by: Tenant, version: string, text: string, revision: number | null = null) =>
    by.ask<Shape<typeof DraftSchema> & Problem>(
      'PUT',
      `rules/drafts/${version}`,
      { from: 'p2.v10', files: { 'ladder.yaml': text } },
      revision === null ? {} : { 'If-Match': `"${revision}"` },
    );
  const read = (by: Tenant, version: string) =>
    by.ask<Shape<typeof DraftSchema> & Problem>('GET', `rules/drafts/${version}`);
  const listed = async (by: Tenant) =>
    (await by.ask<Shape<typeof DraftListSchema>>('GET', 'rules/drafts')).body.drafts;

  it('come back as they were typed, valid or not, with their revision as ETag', async () => {
    const written = await write(ann, 'p2.v50', 'levels: [');
    const { status, headers, body } = await read(bob, 'p2.v50');
    expect([status, body.files, body.changedBy]).to.deep.equal([
      200,
      { 'ladder.yaml': 'levels: [' },
      nameOf(ann),
    ]);
    expect(headers.get('ETag')).to.equal(`"${body.revision}"`);
    expect(written.headers.get('ETag')).to.equal(headers.get('ETag'));
    const none = await ann.ask('GET', 'rules/versions/p2.v50');
    expect(none.status, 'nothing of it lies in RULES_DIR').to.equal(404);
  });

  it('are not overwritten by a person who has not seen the last change, and is told its author', async () => {
    const { body: first } = await write(ann, 'p2.v51', 'levels: [30s]');
    const { body: second } = await write(bob, 'p2.v51', 'levels: [40s]', first.revision);
    const { status, body } = await write(ann, 'p2.v51', 'levels: [50s]', first.revision);
    const when = new Date(second.changedAt).toISOString();
    expect([status, body.title, body.detail]).to.deep.equal([
      412,
      'draft changed',
      `p2.v51 was changed by ${nameOf(bob)} at ${when}. Open it again, or keep yours under another name.`,
    ]);
    expect((await read(ann, 'p2.v51')).body.files).to.deep.equal({ 'ladder.yaml': 'levels: [40s]' });
  });

  it('are visible neither to another platform nor to the installation', async () => {
    await write(ann, 'p2.v52', 'levels: [30s]');
    expect((await listed(bob)).map(({ version }) => version)).to.include('p2.v52');
    expect(await listed(owner)).to.deep.equal([]);
    const { status, body } = await read(owner, 'p2.v52');
    expect([status, body.detail]).to.deep.equal([
      404,
      'There is no draft p2.v52 of this platform: it was discarded, or nobody changed it for 60 days.',
    ]);
  });

  it('are discarded by a person who has seen their last revision, which the audit notes', async () => {
    const { body } = await write(ann, 'p2.v53', 'levels: [30s]');
    const discard = (revision: number) =>
      bob.ask('DELETE', 'rules/drafts/p2.v53', undefined, { 'If-Match': `"${revision}"` });
    expect((await discard(body.revision + 1)).status).to.equal(412);
    expect((await discard(body.revision)).status).to.equal(204);
    expect((await discard(body.revision)).body.detail).to.equal(
      'p2.v53 was discarded meanwhile. Keep yours under a name, or leave it.',
    );
    const entry = (await seeded.audit()).at(-1);
    expect(entry).to.deep.include({
      who: nameOf(bob),
      action: 'draft',
      platform: 'shop',
      subject: 'p2.v53',
      before: { revision: body.revision, changedBy: nameOf(ann) },
      after: null,
    });
  });

  it('show their state and who else has them open, to their platform alone', async () => {
    const present = async (by: Tenant, tab: string) =>
      (await by.ask<Shape<typeof PresenceSchema>>('POST', 'rules/drafts/p2.v54/presence', { tab })).body;
    expect(await present(ann, 'first')).to.deep.equal({ draft: null, alsoHere: [] });
    const { body } = await write(bob, 'p2.v54', 'levels: [30s]');
    const { draft, alsoHere } = await present(bob, 'second');
    expect([draft, alsoHere.map(({ who }) => who)]).to.deep.equal([body, [nameOf(ann)]]);
    expect(await present(owner, 'third')).to.deep.equal({ draft: null, alsoHere: [] });
  });
});
