import { existsSync, readFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { expect } from 'chai';
import type { ValueOf } from '#base/shapes.ts';
import type { RuleDiffSchema } from '#workbench/authoring/diff/rule-diff.ts';
import type {
  CheckedDraftSchema,
  RewrittenCasesSchema,
  SavedDraftSchema,
} from '#workbench/platform/rules/drafts/check-draft.ts';
import type { DraftSchema } from '#workbench/platform/rules/drafts/drafts.ts';
import type { OpenedRuleFolderSchema } from '#workbench/platform/rules/rule-folders.ts';
import { type SeededConsole, startSeededConsole } from '../../../../scripts/screenshots/seeded-console.ts';
import { until } from '../../../servers/until.ts';
import type { Problem } from '../../../service/http-call.ts';
import { issueKey } from '../../../service/issued-key.ts';
import { Tenant } from '../../../service/tenant.ts';

type Opened = ValueOf<typeof OpenedRuleFolderSchema>;
type Saved = ValueOf<typeof SavedDraftSchema>;

describe('the drafts of the platform API', () => {
  let seeded: SeededConsole;
  let shop: Tenant;
  let owner: Tenant;
  before(async () => {
    seeded = await startSeededConsole();
    shop = new Tenant(seeded, seeded.key);
    owner = new Tenant(seeded, seeded.operatorKey);
  });
  after(() => seeded?.stop());

  const open = async (version: string, by = shop) =>
    (await by.ask<Opened>('GET', `rules/versions/${version}`)).body;
  /** The files of p2.v10 as a draft of another name, with texts replaced. */
  const draftOf = async (
    version: string,
    edits: Readonly<Record<string, readonly [string, string]>> = {},
    by = shop,
  ) => {
    const { files } = await open('p2.v10', by);
    const texts = Object.fromEntries(files.map(({ path, text }) => [path, text]));
    const all = { 'ruleset.yaml': ['ruleVersion: p2.v10', `ruleVersion: ${version}`] as const, ...edits };
    for (const [path, [from, to]] of Object.entries(all)) texts[path] = (texts[path] ?? '').replace(from, to);
    return { version, files: texts };
  };
  const check = async (draft: object, by = shop) =>
    (await by.ask<ValueOf<typeof CheckedDraftSchema>>('POST', 'rules/drafts/check', draft)).body;
  const save = (version: string, body: object) =>
    owner.ask<Saved & Problem>('PUT', `rules/versions/${version}`, body);
  /** p2.v10 by another name, perhaps with another first wait. */
  const saveFrom = async (version: string, firstWait = '30s', more: object = {}) => {
    const { files } = await draftOf(version, { 'ladder.yaml': ['30s', firstWait] }, owner);
    return save(version, { files, ...more });
  };

  it('are checked without being kept: problems with their places, then failing cases', async () => {
    const unsound = await check(await draftOf('p2.v20', { 'verdicts.yaml': ['attemptOpen', 'atemptOpen'] }));
    expect(unsound.sound).to.equal(false);
    expect(unsound.problems.map(({ at, message }) => `${at.file}:${at.line} ${message}`)).to.deep.equal([
      'verdicts.yaml:43 unknown fact "atemptOpen"; did you mean "attemptOpen"?',
    ]);
    expect(unsound.constants.map(({ path }) => path)).to.include.members([
      'verdicts.attempt-unpaid.atemptOpen',
      'groups.blocked-by-unpaid-chain.unpaidChain',
    ]);
    const sound = await check(await draftOf('p2.v20', { 'ladder.yaml': ['30s', '40s'] }));
    expect([sound.sound, sound.problems, sound.coverage?.failed]).to.deep.equal([true, [], 16]);
    const [failure] = sound.coverage?.failures ?? [];
    expect(failure?.lines.join('\n')).to.include('waitSeconds  expected 30, seen 40');
    expect(existsSync(join(seeded.environment.RULES_DIR, 'p2.v20'))).to.equal(false);
  });

  it('have their cases rewritten where only the lengths of waits differ, and then pass', async () => {
    const rewritten = async (draft: object) =>
      (await shop.ask<ValueOf<typeof RewrittenCasesSchema>>('POST', 'rules/drafts/cases', draft)).body;
    const draft = await draftOf('p2.v20', { 'ladder.yaml': ['30s', '40s'] });
    const { coverage: before } = await check(draft);
    const { files, lines, left } = await rewritten(draft);
    expect([before?.failed, left]).to.deep.equal([16, 5]);
    expect(lines.map(({ before }) => before).join('\n')).to.include('waitSeconds: 30');
    expect(lines.map(({ after }) => after).join('\n')).to.include('waitSeconds: 40');
    const after = await check({ ...draft, files: { ...draft.files, ...files } });
    expect(after.coverage?.failed).to.equal(5);
    const unsound = await draftOf('p2.v20', { 'verdicts.yaml': ['attemptOpen', 'atemptOpen'] });
    expect(await rewritten(unsound)).to.deep.equal({ files: {}, lines: [], left: 0 });
  });

  it('begin with files without the parts of other platforms', async () => {
    const ofOwner = await open('p2.v10', owner);
    expect(ofOwner.platforms.map(({ name }) => name)).to.deep.equal(['sandbox']);
    const ofShop = await open('p2.v10');
    expect(ofShop.platforms).to.deep.equal([]);
    expect(JSON.stringify(ofShop)).not.to.include('sandbox');
    expect([ofShop.sound, ofShop.coverage?.failed, ofShop.filesDigest]).to.deep.equal([true, 0, null]);
  });

  it('are checked for others while one platform sends four without ending them', async () => {
    const { hostname, port } = new URL(seeded.platformUrl);
    const head = [
      'POST /v1/platform/rules/drafts/check HTTP/1.1',
      `Host: ${hostname}`,
      `X-KA-Access-Key: ${seeded.key}`,
      'Content-Type: application/json',
      'Content-Length: 1000',
      '\r\n{',
    ].join('\r\n');
    const slow: Socket[] = [];
    const sendSlowly = () => {
      const socket = connect(Number(port), hostname);
      socket.write(head);
      slow.push(socket);
    };
    const ask = (tenant: Tenant) =>
      tenant.ask<Problem>('POST', 'rules/drafts/check', { version: 'p2.v20', files: {} });
    try {
      let answer = await ask(shop);
      await until('the own platform has no turn left', async () => {
        // All at once: on a busy machine the first would be cut off before the fourth begins.
        for (let count = 0; count < 4; count++) sendSlowly();
        answer = await ask(shop);
        return answer.status === 503;
      });
      // Not repeated: on a busy machine slow senders may have been cut off by then.
      expect(answer.body.detail).to.equal(
        'This node is working on 16 drafts, or on 4 of this platform, and takes no more at once. Try again in a moment.',
      );
      expect((await ask(owner)).status).to.equal(200);
    } finally {
      for (const socket of slow) socket.destroy();
    }
    await until('the turns are given back', async () => (await ask(shop)).status === 200);
  });

  it('hold up no other draft of their platform once their callers hung up', async () => {
    const [heavy, light] = [await draftOf('p2.v20'), await draftOf('p2.v21')];
    const steps = '      - { times: 1000, every: 1s, verdict: {} }\n'.repeat(900);
    heavy.files['cases/heavy.yaml'] = `cases:\n  - name: heavy\n    steps:\n${steps}`;
    const hungUp = new AbortController();
    const send = (key: string, signal: AbortSignal) =>
      fetch(`${seeded.platformUrl}/v1/platform/rules/drafts/check`, {
        method: 'POST',
        headers: { 'X-KA-Access-Key': key, 'Content-Type': 'application/json' },
        body: JSON.stringify(heavy),
        signal,
      }).catch(() => null);
    const atEnd = new AbortController();
    const three = (key: string, signal: AbortSignal) => Promise.all([1, 2, 3].map(() => send(key, signal)));
    // One after the other they take as long as those would whose callers hang up.
    const heavyOfOther = three(seeded.operatorKey, atEnd.signal).then(
      () => 'three drafts of another platform',
    );
    const sent = three(seeded.key, hungUp.signal);
    const sentMs = performance.now();
    // Whoever closes right behind a request may only have closed for writing.
    while (performance.now() - sentMs < 500) await owner.ask('GET', 'rules/drafts');
    hungUp.abort();
    await sent;
    const next = check(light).then(({ sound }) => sound);
    expect(await Promise.race([next, heavyOfOther])).to.equal(true);
    atEnd.abort();
    await heavyOfOther;
  });

  it('get no note about the lists of other platforms, neither their existence nor their names', async () => {
    const onList = (name: string) => ({
      'verdicts.yaml': [
        'fact: clientGroup, operator: equal, value: BLOCKED',
        `fact: listed, params: { list: ${name} }, operator: equal, value: true`,
      ] as const,
    });
    const told = async (list: string) => {
      const { notes } = await check(await draftOf('p2.v20', onList(list)));
      return notes.map(({ message }) => message).filter((message) => message.includes('shared list'));
    };
    const dataDir = seeded.environment.DATA_DIR;
    const stranger = new Tenant(seeded, await issueKey({ dataDir }, 'stranger'));
    await stranger.ask('PUT', 'lists/their-secret-list', { kind: 'method' });
    await stranger.ask('PUT', 'lists/their-secret-list/entries?value=card', { reason: 'theirs' });
    const nothing = (list: string) => [
      `neither shop nor the installation has anything on the shared list "${list}"`,
    ];
    expect(await told('their-secret-list')).to.deep.equal(nothing('their-secret-list'));
    expect(await told('their-secret-lisk')).to.deep.equal(nothing('their-secret-lisk'));
    await shop.ask('PUT', 'lists/our-own-list', { kind: 'method' });
    await shop.ask('PUT', 'lists/our-own-list/entries?value=card', { reason: 'ours' });
    expect(await told('our-own-list')).to.deep.equal([]);
  });

  it('are compared with a version, by meaning and with payers', async () => {
    const draft = await draftOf('p2.v20', { 'ladder.yaml': ['30s', '40s'] });
    const asked = { ...draft, before: 'p2.v10' };
    const { body } = await shop.ask<ValueOf<typeof RuleDiffSchema>>('POST', 'rules/drafts/diff', asked);
    expect(body).to.include({ before: 'p2.v10', after: 'p2.v20' });
    expect(body.differences.map(({ text }) => text)).to.deep.equal(['ladder level 1: 30s -> 40s']);
  });

  it('are saved by the owner of the installation, loaded by the node as drafts, and noted', async () => {
    const { files } = await draftOf('p2.v21', { 'ladder.yaml': ['30s', '40s'] });
    const { status, body } = await save('p2.v21', { files });
    expect([status, body.version, body.loaded]).to.deep.equal([200, 'p2.v21', true]);
    const opened = await open('p2.v21');
    const { digest } = body;
    expect(opened).to.include({ sound: true, released: false, digest, filesDigest: digest });
    const entry = (await seeded.audit()).at(-1);
    const noted = { action: 'draft', subject: 'p2.v21', before: null, after: { digest } };
    expect(entry).to.deep.include(noted);
    expect(entry?.who).to.match(/^key [0-9a-f]{12} of maria$/);
  });

  it('never replace a released version, one on trial, or one that somebody else saved', async () => {
    const file = join(seeded.environment.RULES_DIR, 'p2.v10', 'ladder.yaml');
    const released = readFileSync(file, 'utf8');
    await saveFrom('p2.v24');
    for (const [version, detail] of [
      ['p2.v10', 'p2.v10 is released and never changes; choose another version'],
      ['p2.v11', 'p2.v11 is on trial as a shadow; roll it back first, or save under another version'],
      ['p2.v24', 'p2.v24 exists already; choose another version, or open it and edit it'],
    ] as const) {
      const { status, body } = await saveFrom(version, '1m');
      expect([status, body.detail]).to.deep.equal([409, detail]);
    }
    expect(readFileSync(file, 'utf8')).to.equal(released);
  });

  it('are refused with every problem and its place when they are not sound', async () => {
    const { files } = await draftOf('p2.v25', { 'ladder.yaml': ['[30s', '[30m'] });
    const { status, body } = await save('p2.v25', { files });
    expect([status, body.title]).to.deep.equal([422, 'draft has problems']);
    expect(body.detail).to.match(/^p2\.v25 is not kept, because it has problems:\nladder\.yaml:\d+:\d+ {2}/);
  });

  it('are released in a separate step, with the digest that was reviewed and without problems', async () => {
    const release = (version: string, digest: string) =>
      owner.ask('POST', `rules/versions/${version}/release`, { digest, reason: 'a longer first wait' });
    const { body } = await saveFrom('p2.v26', '40s');
    const refused = async (version: string, digest: string, detail: string) => {
      const answer = await release(version, digest);
      expect([answer.status, answer.body.detail]).to.deep.equal([409, detail]);
    };
    await refused(
      'p2.v26',
      body.digest,
      '16 cases of p2.v26 failed; correct the rules, or what the cases expect, first',
    );
    const { body: fine } = await saveFrom('p2.v27');
    await refused('p2.v27', body.digest, 'p2.v27 was changed or removed since you opened it; open it again');
    expect((await release('p2.v27', fine.digest)).status).to.equal(200);
    await until('p2.v27 is shown as released', async () => (await open('p2.v27')).released);
    await refused('p2.v27', fine.digest, 'p2.v27 is released already');
    const entry = (await seeded.audit()).at(-1);
    expect(entry).to.deep.include({ action: 'release', subject: 'p2.v27', reason: 'a longer first wait' });
    const { body: refusal } = await saveFrom('p2.v27', '30s', { replaces: fine.digest });
    expect(refusal.detail).to.equal('p2.v27 is released and never changes; choose another version');
  });

  it('say at and before a release which cases of the version before they have lost', async () => {
    const { version, files } = await draftOf('p2.v28', {}, owner);
    const { 'cases/readings.yaml': _, ...kept } = files;
    const casesIn = (folder: string) =>
      Object.entries(files).flatMap(([name, text]) =>
        name.startsWith(folder) ? [...text.matchAll(/^ {2}- name: /gm)] : [],
      ).length;
    const all = casesIn('cases/');
    const { lostCases } = await check({ version, files: kept }, owner);
    expect([lostCases?.before, lostCases?.of]).to.deep.equal(['p2.v27', all]);
    expect(lostCases?.names.length).to.equal(casesIn('cases/readings.yaml')).and.to.be.above(0);
    // Two are about another platform.
    expect((await check({ version, files: kept })).lostCases?.of).to.equal(all - 2);
    const { body: saved } = await save(version, { files: kept });
    const path = `rules/versions/${version}/release`;
    const asked = { digest: saved.digest, reason: 'fewer cases' };
    const { body } = await owner.ask<{ readonly lostCases: unknown }>('POST', path, asked);
    expect(body.lostCases).to.deep.equal(lostCases);
  });

  describe('that are kept', () => {
    let bob: Tenant;
    before(async () => {
      bob = new Tenant(seeded, await seeded.issueShopKey('rules'));
    });

    const nameOf = ({ key }: Tenant) => `key ${key.split('_')[1]}`;
    const write = (by: Tenant, version: string, text: string, revision: number | null = null) =>
      by.ask<ValueOf<typeof DraftSchema> & Problem>(
        'PUT',
        `rules/drafts/${version}`,
        { from: 'p2.v10', files: { 'ladder.yaml': text } },
        revision === null ? {} : { 'If-Match': `"${revision}"` },
      );
    const read = (by: Tenant, version: string) =>
      by.ask<ValueOf<typeof DraftSchema> & Problem>('GET', `rules/drafts/${version}`);

    it('come back as they were typed, valid or not, with their revision as ETag', async () => {
      const written = await write(shop, 'p2.v50', 'levels: [');
      const { status, headers, body } = await read(bob, 'p2.v50');
      expect(status).to.equal(200);
      expect(body).to.deep.include({ files: { 'ladder.yaml': 'levels: [' }, changedBy: nameOf(shop) });
      expect(headers.get('ETag')).to.equal(`"${body.revision}"`);
      expect(written.headers.get('ETag')).to.equal(headers.get('ETag'));
      const none = await shop.ask('GET', 'rules/versions/p2.v50');
      expect(none.status, 'nothing of it lies in RULES_DIR').to.equal(404);
    });

    it('are not overwritten by a person who has not seen the last change, and is told its author', async () => {
      const { body: first } = await write(shop, 'p2.v51', 'levels: [30s]');
      const { body: second } = await write(bob, 'p2.v51', 'levels: [40s]', first.revision);
      const { status, body } = await write(shop, 'p2.v51', 'levels: [50s]', first.revision);
      const when = new Date(second.changedAt).toISOString();
      expect([status, body.title, body.detail]).to.deep.equal([
        412,
        'draft changed',
        `p2.v51 was changed by ${nameOf(bob)} at ${when}. Open it again, or save yours under another name.`,
      ]);
      expect((await read(shop, 'p2.v51')).body.files).to.deep.equal({ 'ladder.yaml': 'levels: [40s]' });
    });

    it('are visible to their platform, not to the installation', async () => {
      await write(shop, 'p2.v52', 'levels: [30s]');
      expect((await read(bob, 'p2.v52')).status).to.equal(200);
      const { status, body } = await read(owner, 'p2.v52');
      expect([status, body.detail]).to.deep.equal([
        404,
        'There is no draft p2.v52 of this platform: it was discarded, or nobody changed it for 60 days.',
      ]);
    });

    it('are discarded by a person who has seen their last revision, which the audit notes', async () => {
      const { body } = await write(shop, 'p2.v53', 'levels: [30s]');
      const discard = (revision: number) =>
        bob.ask('DELETE', 'rules/drafts/p2.v53', undefined, { 'If-Match': `"${revision}"` });
      expect((await discard(body.revision + 1)).status).to.equal(412);
      expect((await discard(body.revision)).status).to.equal(204);
      expect((await discard(body.revision)).body.detail).to.equal(
        'p2.v53 was discarded meanwhile. Save yours under another name, or give it up.',
      );
      const entry = (await seeded.audit()).at(-1);
      expect(entry).to.deep.include({
        who: nameOf(bob),
        action: 'draft',
        platform: 'shop',
        subject: 'p2.v53',
        after: null,
        before: { revision: body.revision, changedBy: nameOf(shop) },
      });
    });
  });
});
