import { expect } from 'chai';
import { type KnownLists, sharedListNotes } from '../../src/authoring/desk/examine.ts';
import { formatProblem } from '../../src/rules/problem.ts';
import { edited, swap } from '../rule-fixtures/sound-rules.ts';

const onList = (name: string) => `{ fact: listed, params: { list: ${name} }, operator: equal, value: true }`;

/** A rule set whose verdicts ask about these shared lists. */
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
  it('are none for rules that ask no shared list', () => {
    expect(sharedListNotes(edited({}), null)).to.deep.equal([]);
    expect(sharedListNotes(edited({}), seen())).to.deep.equal([]);
  });

  it('say in one line that nobody has looked into the store', () => {
    expect(notes(null, 'blocked-devices')).to.deep.equal([
      'whether anything is on the shared list "blocked-devices" is not known without the store; --lists looks there',
    ]);
    expect(notes(null, 'blocked-devices', 'good-payers')).to.deep.equal([
      'whether anything is on the shared lists "blocked-devices" or "good-payers" is not known without the store; --lists looks there',
    ]);
  });

  it('are none for a list with an entry that counts, whatever else is on it on other platforms', () => {
    const lists = [
      { name: 'blocked-devices', isInForce: false },
      { name: 'blocked-devices', isInForce: true },
    ];
    expect(notes(lists, 'blocked-devices')).to.deep.equal([]);
  });

  it('tell a list that does not exist, with the name that was probably meant', () => {
    const lists = [{ name: 'blocked-devices', isInForce: true }];
    expect(notes(lists, 'blocked-device', 'night-shift')).to.deep.equal([
      'no platform has anything on the shared list "blocked-device"; did you mean "blocked-devices"?',
      'no platform has anything on the shared list "night-shift"',
    ]);
  });

  it('tell a list of which every entry has ended', () => {
    expect(notes([{ name: 'blocked-devices', isInForce: false }], 'blocked-devices')).to.deep.equal([
      'every entry of the shared list "blocked-devices" is past its end, so nobody is on it',
    ]);
  });

  it('stand at the first place that asks about the list', () => {
    const [note] = sharedListNotes(asking('blocked-devices', 'blocked-devices'), seen());
    expect(note?.at.file).to.equal('verdicts.yaml');
  });
});
