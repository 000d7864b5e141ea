import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect } from 'chai';
import { QueueFull } from '#base/work/fair-queue.ts';
import { INSTALLATION_PLATFORM } from '#checkout/access/access-keys.ts';
import { encodeEntry, hashEntryId, type ListEntry } from '#checkout/lists/list-entry.ts';
import { SharedListsCopy } from '#checkout/lists/list-node.ts';
import { type PlatformName, toPlatformName } from '#decision/payer/client-key.ts';
import { formatProblem } from '#decision/rules/problem.ts';
import { readRuleFiles } from '#state/rule-folders/rule-folder.ts';
import { deriveCasePseudonym } from '#workbench/authoring/case-pseudonym.ts';
import {
  listSharedListRemarks,
  selectVisibleSharedLists,
  type VisibleSharedLists,
} from '#workbench/authoring/desk/examine.ts';
import { RuleDesk } from '#workbench/authoring/desk/rule-desk.ts';
import { addVersion, rulesDirectory, versionOf } from '../../../checkout/rollout/rule-folders.ts';
import { declaring } from '../../../rule-fixtures/declared-attributes.ts';
import { edited, swap } from '../../../rule-fixtures/sound-rules.ts';
import { currentRules, RULES_FOLDER } from '../../../service/current-rules.ts';
import { T0 } from '../../../state/clients.ts';

const [SHOP, OTHER, THIRD] = ['shop', 'other', 'third'].map(toPlatformName);

const [V11, V12, V13] = [versionOf('p2.v11'), versionOf('p2.v12'), versionOf('p2.v13')];

/** One more than a platform may have running and waiting. */
const TOO_MANY = 66;

describe('the rule desk', () => {
  let desk: RuleDesk;
  beforeEach(() => {
    desk = new RuleDesk(dirname(RULES_FOLDER));
  });
  afterEach(() => desk.close());

  const { version } = currentRules();

  it('has a thread for each of two platforms and one for the owner, however much one of them asks', async () => {
    const ended: string[] = [];
    const ask = async (owner: PlatformName = INSTALLATION_PLATFORM) => {
      expect((await desk.open(owner, version))?.coverage?.failed).to.equal(0);
      ended.push(owner);
    };
    // Three threads are ready.
    await Promise.all([SHOP, OTHER, INSTALLATION_PLATFORM].map(ask));
    ended.length = 0;
    const asked = Array.from({ length: 10 }, () => [SHOP, OTHER].map(ask)).flat();
    await Promise.all([...asked, ask(THIRD), ask(INSTALLATION_PLATFORM)]);
    // Three at once: in the order of asking, both were among the last four to end. A busy machine may keep a thread waiting.
    const places = [ended.indexOf(INSTALLATION_PLATFORM), ended.indexOf(THIRD ?? '')];
    for (const place of places) expect(place).to.be.below(18);
  });

  it('refuses work of a platform beyond its limit, and of no other', async () => {
    const ask = (owner: PlatformName = INSTALLATION_PLATFORM) =>
      desk.open(owner, version).then(
        () => 'opened',
        (error: unknown) => error,
      );
    const all = Array.from({ length: TOO_MANY }, () => ask(SHOP));
    const other = ask(OTHER);
    expect(await all.at(-1)).to.be.instanceOf(QueueFull);
    expect([await all.at(0), await other]).to.deep.equal(['opened', 'opened']);
  });

  it('works on a draft with tens of thousands of keys within its limit', async () => {
    const keys = Array.from({ length: 30_000 }, (_, index) => `wait${index}: 1s\n`).join('');
    const files = [...(readRuleFiles(RULES_FOLDER, []) ?? []), ['ladder.yaml', keys] as const];
    const { digest, problems } = await desk.check(
      SHOP ?? INSTALLATION_PLATFORM,
      { version, from: null, files },
      null,
    );
    expect([digest, problems[0]?.message]).to.deep.equal([
      null,
      'unknown member "wait0" of the ladder; allowed: levels, ladders, resetAfter',
    ]);
  });

  it('shows a platform no sections and no cases of others, and its own and those of all', async () => {
    const rulesDir = rulesDirectory();
    const acmes = (wait: string) =>
      `platforms:\n  acme: { ladder: { levels: [${wait}, 10m], resetAfter: 77h } }\n`;
    const edits = (wait: string, first: string) => [
      { file: 'ruleset.yaml', from: 'platforms:\n', to: acmes(wait) },
      { file: 'ladder.yaml', from: '[30s', to: `[${first}` },
    ];
    addVersion(rulesDir, 'p2.v11', edits('41s', '30s'));
    addVersion(rulesDir, 'p2.v12', edits('43s', '35s'));
    // The mistake is in acme's part.
    mkdirSync(join(rulesDir, 'p2.v13'));
    for (const [path, text] of readRuleFiles(join(rulesDir, 'p2.v12'), []) ?? [])
      writeFileSync(join(rulesDir, 'p2.v13', path), text.replace('p2.v12', 'p2.v13').replace('77h', '1s'));
    const own = new RuleDesk(rulesDir);
    const told = async (reader: PlatformName = INSTALLATION_PLATFORM) => {
      const opened = [await own.open(reader, V12), await own.open(reader, V13)];
      const diff = await own.compare(reader, V11, V12);
      return { problems: opened[1]?.problems, opened, diff };
    };
    try {
      const [shop, acme, all] = [await told(SHOP), await told(toPlatformName('acme')), await told()];
      expect(JSON.stringify(shop)).not.to.match(/acme|sandbox|4[13]s|43000|77h/);
      expect(shop.diff?.differences.map(({ text }) => text)).to.deep.equal(['ladder level 1: 30s -> 35s']);
      expect(shop.problems?.map(({ message }) => message)).to.deep.equal([
        'there is a problem that only the owner of the installation may see',
      ]);
      expect(JSON.stringify(acme))
        .to.match(/acme.*43s.*77h/)
        .and.not.to.include('sandbox');
      expect(JSON.stringify(all))
        .to.match(/acme.*43s.*77h/)
        .and.to.include('sandbox');
      expect(all.problems?.[0]?.message).to.match(/^resetAfter must be longer than the longest wait, 10m/);
    } finally {
      await own.close();
    }
  });
});

const onList = (name: string) => `{ fact: listed, params: { list: ${name} }, operator: equal, value: true }`;

/** A rule set with verdict rules on these shared lists. */
function asking(...lists: readonly string[]) {
  const parts = lists.map(onList).join(', ');
  const rule = `  - { name: listed-device, priority: 95, conditions: { any: [${parts}] }, event: { type: verdict, params: { verdict: BLOCK, reason: "Listed." } } }`;
  return edited({ 'verdicts.yaml': swap('\notherwise:', `\n${rule}\notherwise:`) });
}

type Lists = VisibleSharedLists['lists'];

const seen = (lists: Lists = [], seenBy: VisibleSharedLists['seenBy'] = '*'): VisibleSharedLists => ({
  seenBy,
  lists,
});

const notes = (lists: Lists | null, ...asked: readonly string[]) =>
  listSharedListRemarks(asking(...asked), lists === null ? null : seen(lists)).map((note) =>
    formatProblem(note).replace(/^.*?:\d+:\d+\s+/, ''),
  );

describe('notes on shared lists', () => {
  it('are none for rules without shared lists', () => {
    expect(listSharedListRemarks(edited({}), null)).to.deep.equal([]);
    expect(listSharedListRemarks(edited({}), seen())).to.deep.equal([]);
  });

  it('are told of a list that only a flag asks about', () => {
    const flags = `rules: [{ name: a, conditions: { all: [${onList('review')}] }, event: { type: flag, params: { flag: a } } }]`;
    const asked = listSharedListRemarks(edited({ 'flags.yaml': () => flags }), seen());
    expect(asked.map(({ message }) => message)).to.deep.equal([
      'no platform has anything on the shared list "review"',
    ]);
  });

  it('say in one line that the store was not checked', () => {
    expect(notes(null, 'blocked-devices')).to.deep.equal([
      'it is not known without the store whether anything is on the shared list "blocked-devices"; --lists looks there',
    ]);
    expect(notes(null, 'blocked-devices', 'good-payers')).to.deep.equal([
      'it is not known without the store whether anything is on the shared lists "blocked-devices" or "good-payers"; --lists looks there',
    ]);
  });

  it('are none for a list with a valid entry, whatever other platforms have', () => {
    const lists = [
      { name: 'blocked-devices', attribute: null, isInForce: false },
      { name: 'blocked-devices', attribute: null, isInForce: true },
    ];
    expect(notes(lists, 'blocked-devices')).to.deep.equal([]);
  });

  it('name a list that does not exist, with the name that was probably meant', () => {
    const lists = [{ name: 'blocked-devices', attribute: null, isInForce: true }];
    expect(notes(lists, 'blocked-device', 'night-shift')).to.deep.equal([
      'no platform has anything on the shared list "blocked-device"; did you mean "blocked-devices"?',
      'no platform has anything on the shared list "night-shift"',
    ]);
  });

  it('name a list with only ended entries', () => {
    const ended = { name: 'blocked-devices', attribute: null, isInForce: false };
    expect(notes([ended], 'blocked-devices')).to.deep.equal([
      'every entry of the shared list "blocked-devices" has ended, so nobody is on it',
    ]);
  });

  it('name a list of an attribute that the rule set does not declare', () => {
    const wallets = { name: 'wallets', attribute: 'wallet', isInForce: true };
    expect(notes([wallets], 'wallets')).to.deep.equal([
      'the shared list "wallets" holds values of the attribute "wallet", which ruleset.yaml does not declare, so nobody is on it',
    ]);
    expect(notes([wallets, { ...wallets, attribute: null }], 'wallets')).to.deep.equal([]);
    const rules = edited({
      'ruleset.yaml': declaring('{ wallet: { type: text } }'),
      'verdicts.yaml': swap(
        '{ fact: clientGroup, operator: equal, value: BLOCKED }',
        '{ fact: listed, params: { list: wallets }, operator: equal, value: true }',
      ),
    });
    expect(listSharedListRemarks(rules, seen([wallets]))).to.deep.equal([]);
  });

  it('take an entry to have ended from its end on', () => {
    const copy = new SharedListsCopy(deriveCasePseudonym);
    const entry: ListEntry = {
      owner: toPlatformName('shop'),
      list: 'blocked-devices',
      kind: 'method',
      attribute: null,
      value: 'card',
      keys: ['card'],
      reason: 'r',
      who: 'w',
      addedAt: T0,
      expiresAt: T0 + 2,
    };
    copy.applyRecord({ id: hashEntryId(entry), version: 1, text: encodeEntry(entry) });
    const isInForce = (now: number) =>
      selectVisibleSharedLists(copy, now, INSTALLATION_PLATFORM).lists.map((list) => list.isInForce);
    expect([T0 + 1, T0 + 2].map(isInForce)).to.deep.equal([[true], [false]]);
  });

  it('are at the first use of the list', () => {
    const [note] = listSharedListRemarks(asking('blocked-devices', 'blocked-devices'), seen());
    expect(note?.at.file).to.equal('verdicts.yaml');
  });
});
