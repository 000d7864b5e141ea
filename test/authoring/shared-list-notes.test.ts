import { expect } from 'chai';
import { type KnownLists, knownLists, sharedListNotes } from '../../src/authoring/desk/examine.ts';
import { platformName } from '../../src/client/client-key.ts';
import { encodeEntry, entryId, type ListEntry } from '../../src/lists/list-entry.ts';
import { ListCopy } from '../../src/lists/list-node.ts';
import { formatProblem } from '../../src/rules/problem.ts';
import { edited, swap } from '../rule-fixtures/sound-rules.ts';
import { T0 } from '../state/clients.ts';

const onList = (name: string) => `{ fact: listed, params: { list: ${name} }, operator: equal, value: true }`;

/** A rule set with verdict rules on these shared lists. */
function asking(...lists: readonly string[]) {
  const parts = lists.map(onList).join(', ');
  const rule = `  - { name: listed-device, priority: 95, conditions: { any: [${parts}] }, event: { type: verdict, params: { verdict: BLOCK, reason: "Listed." } } }`;
  return edited({ 'verdicts.yaml': swap('\notherwise:', `\n${rule}\notherwise:`) });
}

type Lists = KnownLists['lists'];

const seen = (lists: Lists = [], seenBy: KnownLists['seenBy'] = '*'): KnownLists => ({ seenBy, lists });

const notes = (lists: Lists | null, ...asked: readonly string[]) =>
  sharedListNotes(asking(...asked), lists === null ? null : seen(lists)).map((note) =>
    formatProblem(note).replace(/^.*?:\d+:\d+\s+/, ''),
  );

describe('notes on shared lists', () => {
  it('are none for rules without shared lists', () => {
    expect(sharedListNotes(edited({}), null)).to.deep.equal([]);
    expect(sharedListNotes(edited({}), seen())).to.deep.equal([]);
  });

  it('say in one line that the store was not checked', () => {
    expect(notes(null, 'blocked-devices')).to.deep.equal([
      'whether anything is on the shared list "blocked-devices" is not known without the store; --lists looks there',
    ]);
    expect(notes(null, 'blocked-devices', 'good-payers')).to.deep.equal([
      'whether anything is on the shared lists "blocked-devices" or "good-payers" is not known without the store; --lists looks there',
    ]);
  });

  it('are none for a list with a valid entry, whatever other platforms have', () => {
    const lists = [
      { name: 'blocked-devices', isInForce: false },
      { name: 'blocked-devices', isInForce: true },
    ];
    expect(notes(lists, 'blocked-devices')).to.deep.equal([]);
  });

  it('name a list that does not exist, with the name that was probably meant', () => {
    const lists = [{ name: 'blocked-devices', isInForce: true }];
    expect(notes(lists, 'blocked-device', 'night-shift')).to.deep.equal([
      'no platform has anything on the shared list "blocked-device"; did you mean "blocked-devices"?',
      'no platform has anything on the shared list "night-shift"',
    ]);
  });

  it('name a list with only ended entries', () => {
    expect(notes([{ name: 'blocked-devices', isInForce: false }], 'blocked-devices')).to.deep.equal([
      'every entry of the shared list "blocked-devices" is past its end, so nobody is on it',
    ]);
  });

  it('take an entry to have ended from its end on', () => {
    const copy = new ListCopy();
    const entry: ListEntry = {
      owner: platformName('shop'),
      list: 'blocked-devices',
      kind: 'method',
      value: 'card',
      keys: ['card'],
      reason: 'r',
      who: 'w',
      addedAt: T0,
      expiresAt: T0 + 2,
    };
    copy.take({ id: entryId(entry), version: 1, text: encodeEntry(entry) });
    const isInForce = (now: number) => knownLists(copy, now).lists.map((list) => list.isInForce);
    expect([T0 + 1, T0 + 2].map(isInForce)).to.deep.equal([[true], [false]]);
  });

  it('are at the first use of the list', () => {
    const [note] = sharedListNotes(asking('blocked-devices', 'blocked-devices'), seen());
    expect(note?.at.file).to.equal('verdicts.yaml');
  });
});
