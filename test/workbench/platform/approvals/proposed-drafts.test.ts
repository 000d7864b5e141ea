import { cpSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { parse } from 'yaml';
import type { ValueOf } from '#base/shapes.ts';
import { readRuleFiles } from '#state/rule-folders/rule-folder.ts';
import type { Proposal } from '#workbench/approvals/proposals.ts';
import type { CheckedDraftSchema } from '#workbench/platform/rules/drafts/check-draft.ts';
import type { DraftSchema } from '#workbench/platform/rules/drafts/drafts.ts';
import type { OpenedRuleFolderSchema } from '#workbench/platform/rules/rule-folders.ts';
import { addVersion } from '../../../checkout/rollout/rule-folders.ts';
import { RULES_FOLDER } from '../../../service/current-rules.ts';
import type { Problem } from '../../../service/http-call.ts';
import type { Tenant } from '../../../service/tenant.ts';
import { describeOnStores } from '../../../stores/describe-on-stores.ts';
import { type FourEyes, startFourEyes } from './four-eyes.ts';

type Draft = ValueOf<typeof DraftSchema>;

const REASON = { reason: 'a test' };

const SHIPPED = readRuleFiles(RULES_FOLDER, []) ?? new Map<string, string>();

const caseNames = (files: ReadonlyMap<string, string>) =>
  [...files]
    .filter(([path]) => path.startsWith('cases/'))
    .flatMap(([, text]) => parse(text).cases.map(({ name }: { readonly name: string }) => name))
    .toSorted();

describeOnStores('the proposed draft of a platform', (store) => {
  let eyes: FourEyes;
  let replay: Tenant;
  let owner: Tenant;
  before(async () => {
    eyes = await startFourEyes(store(), false);
    replay = await eyes.person('rita', 'replay');
    owner = await eyes.person('otto', '*');
  });
  after(() => eyes?.stop());

  /** Keeps a draft of replay that was begun with a version, as the platform reads that. */
  async function keep(
    version: string,
    edits: Readonly<Record<string, (text: string) => string>> = {},
    from = 'p2.v10',
  ) {
    const opened = await replay.ask<ValueOf<typeof OpenedRuleFolderSchema>>('GET', `rules/versions/${from}`);
    const texts = opened.body.files.map(({ path, text }) => {
      const renamed = path === 'ruleset.yaml' ? text.replace(`: ${from}`, `: ${version}`) : text;
      return [path, edits[path]?.(renamed) ?? renamed] as const;
    });
    const files = Object.fromEntries(texts);
    const kept = await replay.ask<Draft>('PUT', `rules/drafts/${version}`, { from, files });
    return { version, from, files, revision: kept.body.revision };
  }

  const propose = ({ version, revision }: { readonly version: string; readonly revision: number }) =>
    replay.ask<Proposal & Problem>('POST', `rules/drafts/${version}/proposal`, REASON, {
      'If-Match': `"${revision}"`,
    });

  const decide = (way: 'approve' | 'reject', { proposalId }: Proposal) =>
    owner.ask<Proposal & Problem>('POST', `proposals/${proposalId}/${way}`, REASON);

  const check = async ({ version, from, files }: Pick<Draft, 'version' | 'from' | 'files'>) =>
    (
      await replay.ask<ValueOf<typeof CheckedDraftSchema>>('POST', 'rules/drafts/check', {
        version,
        from,
        files,
      })
    ).body;

  it('is released with the sections and cases of the other platforms', async () => {
    const draft = await keep('p2.v20');
    expect((await check(draft)).problems).to.deep.equal([]);
    const proposed = await propose(draft);
    expect((await decide('approve', proposed.body)).body).to.include({ state: 'approved' });
    const released = readRuleFiles(join(eyes.rulesDir, 'p2.v20'), []) ?? new Map<string, string>();
    const sections = (files: ReadonlyMap<string, string>) => parse(files.get('ruleset.yaml') ?? '').platforms;
    expect(sections(released)).to.deep.equal(sections(SHIPPED));
    expect(caseNames(released)).to.deep.equal(caseNames(SHIPPED));
    expect([...released.values()].join('\n')).to.not.include('# Not shown');
    const listed = await owner.ask<ValueOf<typeof OpenedRuleFolderSchema>>('GET', 'rules/versions/p2.v20');
    expect(listed.body).to.include({ released: true, sound: true });
  });

  it('is proposed and answered without the sections and cases of the other platforms', async () => {
    const draft = await keep('p2.v21', {
      'limits.yaml': (text) => text.replace('PAYING: { EUR: "500.00"', 'PAYING: { EUR: "600.00"'),
    });
    const { status, body } = await propose(draft);
    expect(status, JSON.stringify(body)).to.equal(200);
    expect(body.lines).to.deep.equal([
      'the draft p2.v21 of replay is released: its files never change again, and it may be rolled out',
      'against p2.v10: limit of PAYING in EUR: 500.00 -> 600.00',
      'reason: a test',
    ]);
    expect(body).to.deep.include({
      draft: { platform: 'replay', revision: draft.revision },
      versions: { before: 'p2.v10', after: 'p2.v21' },
    });
    expect(JSON.stringify(body)).to.not.include('sandbox');
    await decide('reject', body);
  });

  it('is proposed with the promises that it breaks, whether it means to or not', async () => {
    const large =
      '\n  - { name: large-first-order, priority: 55, conditions: { all: [{ fact: amount, operator: greaterThan, value: 5000 }, { fact: currency, operator: equal, value: EUR }] }, event: { type: verdict, params: { verdict: WAIT, reason: "Wait." } } }\notherwise:';
    const edits = { 'verdicts.yaml': (text: string) => text.replace('\notherwise:', large) };
    const breach =
      'a first request can get WAIT ("large-first-order"), and the interface (section 3.2) has no wait before it';
    const remark = async (draft: Draft | Awaited<ReturnType<typeof keep>>) =>
      (await check(draft)).notes.map(({ promise, example }) => [promise, example]);
    const silent = await keep('p2.v27', edits);
    expect(await remark(silent)).to.deep.equal([
      ['firstRequestWaits', 'secondsSinceLastVerdict is not known, amount = 5001, currency = EUR'],
    ]);
    const meant = await keep('p2.v28', {
      ...edits,
      'ruleset.yaml': (text) => `${text.trimEnd()}\nmeant: { firstRequestWaits: "large orders cool down" }\n`,
    });
    for (const [draft, why] of [
      [
        silent,
        '; ask in the rule for attemptOpen, ladderLevel or waitRemainingSeconds, too, or say in ruleset.yaml why it is intended: meant: { firstRequestWaits: "why" }',
      ],
      [meant, '; this is intended: large orders cool down'],
    ] as const) {
      const proposed = await propose(draft);
      expect(proposed.body.lines[1]).to.equal(`${breach}${why}`);
      await decide('reject', proposed.body);
    }
  });

  it('is opened by the owner of the installation as it would be released, and by nobody else', async () => {
    const draft = await keep('p2.v22');
    const open = (by: Tenant, platform = 'replay') =>
      by.ask<Draft & Problem>('GET', `rules/drafts/p2.v22?platform=${platform}`);
    const before = await open(owner);
    expect([before.status, before.body.detail]).to.deep.equal([
      404,
      'No proposal to release a draft p2.v22 of replay is open; GET /v1/platform/proposals lists those that are.',
    ]);
    const proposed = await propose(draft);
    const { status, body } = await open(owner);
    expect(status).to.equal(200);
    expect(caseNames(new Map(Object.entries(body.files)))).to.deep.equal(caseNames(SHIPPED));
    expect(body.files['ruleset.yaml']).to.include('sandbox:');
    const own = await open(replay);
    expect(own.body.files).to.deep.equal(draft.files);
    const other = await open(await eyes.person('sam', 'sandbox'));
    expect([other.status, other.body.detail]).to.deep.equal([
      400,
      'The parameter platform is for keys of the whole installation.',
    ]);
    await decide('reject', proposed.body);
    expect((await open(owner)).status).to.equal(404);
  });

  it('is asked about by the owner of the installation as it would be released, once it is proposed', async () => {
    const draft = await keep('p2.v29');
    const ask = (by: Tenant) =>
      by.ask<Problem>('POST', 'evidence', { kind: 'backtest', version: 'p2.v29', against: 'p2.v10' });
    expect((await ask(owner)).status).to.equal(404);
    const proposed = await propose(draft);
    const { status, body } = await ask(owner);
    // The version is found. This service has no archive to ask.
    expect([status, body.title]).to.deep.equal([409, 'no archive']);
    expect((await ask(await eyes.person('sam', 'sandbox'))).status).to.equal(404);
    await decide('reject', proposed.body);
    expect((await ask(owner)).status).to.equal(404);
  });

  it('is not asked about while two platforms propose drafts of its name', async () => {
    const proposed = await propose(await keep('p2.v30'));
    const sandbox = await eyes.person('sam', 'sandbox');
    const opened = await sandbox.ask<ValueOf<typeof OpenedRuleFolderSchema>>('GET', 'rules/versions/p2.v10');
    const files = Object.fromEntries(
      opened.body.files.map(({ path, text }) => [path, text.replace(': p2.v10', ': p2.v30')]),
    );
    const kept = await sandbox.ask<Draft>('PUT', 'rules/drafts/p2.v30', { from: 'p2.v10', files });
    const other = await sandbox.ask<Proposal>('POST', 'rules/drafts/p2.v30/proposal', REASON, {
      'If-Match': `"${kept.body.revision}"`,
    });
    expect(other.status).to.equal(200);
    const asked = { kind: 'backtest', version: 'p2.v30', against: 'p2.v10' };
    const { status, body } = await owner.ask<Problem>('POST', 'evidence', asked);
    expect([status, body.detail]).to.deep.equal([
      409,
      'sandbox and replay propose drafts named p2.v30; reject one of the proposals first',
    ]);
    await decide('reject', proposed.body);
    await decide('reject', other.body);
  });

  it('is no proposal while it has sections or cases of other platforms itself', async () => {
    const theirs = '\n  - name: of sandbox\n    platform: sandbox\n    steps: [{ score: {} }]\n';
    const draft = await keep('p2.v23', { 'cases/groups.yaml': (text) => text.trimEnd() + theirs });
    const [problem] = (await check(draft)).problems;
    expect(problem?.message).to.equal(
      'this case is of another platform; remove it: a draft of replay has no cases of others',
    );
    const { status, body } = await propose(draft);
    expect(status).to.equal(409);
    expect(body.detail).to.match(
      /^p2.v23 has findings; correct them first:\ncases\/groups.yaml:\d+:5 {2}this case/,
    );
  });

  it('is told that cases of other platforms fail with it, and not which', async () => {
    const draft = await keep('p2.v24', {
      'limits.yaml': (text) => text.replaceAll(/(\d+)\.00/g, '$19.00'),
      'cases/groups.yaml': (text) => text.replaceAll(/(\d+)\.00/g, '$19.00'),
    });
    const { problems, coverage } = await check(draft);
    expect(coverage?.failed).to.equal(0);
    expect(problems.map(({ message }) => message)).to.deep.equal([
      'together with the sections and cases of other platforms, which only the owner of the installation may see, there is also 1 failing case; ask the owner before you propose it',
    ]);
    expect((await propose(draft)).status).to.equal(409);
  });

  it('is not released where the version that it was begun with is not there any more', async () => {
    addVersion(eyes.rulesDir, 'p2.v15', [], { draft: true });
    cpSync(join(RULES_FOLDER, 'cases'), join(eyes.rulesDir, 'p2.v15', 'cases'), { recursive: true });
    const draft = await keep('p2.v25', {}, 'p2.v15');
    const proposed = await propose(draft);
    expect(proposed.status).to.equal(200);
    rmSync(join(eyes.rulesDir, 'p2.v15'), { recursive: true });
    const { status, body } = await decide('approve', proposed.body);
    expect([status, body.detail]).to.deep.equal([
      409,
      'p2.v25 has findings; correct them first:\nruleset.yaml:1:1  the sections and cases of other platforms cannot be restored, because p2.v15, with which this draft was begun, is no longer readable in RULES_DIR; begin the draft again with a version that is there',
    ]);
    expect(() => readFileSync(join(eyes.rulesDir, 'p2.v25', 'ruleset.yaml'))).to.throw('ENOENT');
    await decide('reject', proposed.body);
  });

  it('is worked on in the turn of its platform, so that the owner of the installation waits for none', async () => {
    const keys = Array.from({ length: 10_000 }, (_, index) => `wait${index}: 1s\n`).join('');
    const drafts = [];
    for (const version of ['p2.v31', 'p2.v32', 'p2.v33', 'p2.v34'])
      drafts.push(await keep(version, { 'ladder.yaml': () => keys }));
    const read = () => owner.ask('GET', 'rules/versions/p2.v10');
    // The thread of the owner is ready.
    await read();
    let open = drafts.length;
    const proposals = drafts.map(async (draft) => {
      const { status } = await propose(draft);
      open -= 1;
      return status;
    });
    let reads = 0;
    for (; open > 0; reads += 1) expect((await read()).status).to.equal(200);
    expect(reads).to.be.above(drafts.length);
    expect(await Promise.all(proposals)).to.deep.equal([409, 409, 409, 409]);
  });
});
