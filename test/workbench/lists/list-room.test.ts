import { expect } from 'chai';
import { INSTALLATION_PLATFORM } from '#checkout/access/access-keys.ts';
import { encodeEntry, hashEntryId, type ListEntry } from '#checkout/lists/list-entry.ts';
import { SharedListsCopy } from '#checkout/lists/list-node.ts';
import { toPlatformName } from '#decision/payer/client-key.ts';
import type { ListOwner } from '#decision/shared-lists.ts';
import { deriveCasePseudonym } from '#workbench/authoring/case-pseudonym.ts';
import { explainLackOfRoom, LIST_LIMITS } from '#workbench/lists/list-editor.ts';

const SHOP = toPlatformName('shop');
const OTHER = toPlatformName('other');
const NOTHING = { entries: 0, keys: 0 };
const LIMITS = {
  entriesPerList: 2,
  entriesPerPlatform: 3,
  entriesInAll: 5,
  listsPerOwner: 2,
  keysPerList: 8,
};

function entryOf(
  owner: ListOwner,
  list: string,
  value: string,
  keys: readonly string[] = [value],
): ListEntry {
  return {
    owner,
    list,
    kind: 'method',
    attribute: null,
    value,
    keys,
    reason: 'r',
    who: 'w',
    addedAt: 0,
    expiresAt: null,
  };
}

function copyOf(...entries: readonly ListEntry[]): SharedListsCopy {
  const copy = new SharedListsCopy(deriveCasePseudonym);
  for (const [index, entry] of entries.entries())
    copy.applyRecord({ id: hashEntryId(entry), version: index + 1, text: encodeEntry(entry) });
  return copy;
}

describe('the room on shared lists', () => {
  const full = copyOf(entryOf(SHOP, 'a', '1'), entryOf(SHOP, 'a', '2'), entryOf(SHOP, 'b', '1'));
  const why = (entry: ListEntry, copy = full, taken = NOTHING) =>
    explainLackOfRoom(copy, entry, taken, LIMITS);

  it('is limited for each list, additions of the same request included', () => {
    expect(why(entryOf(SHOP, 'a', '3'))).to.equal('A list has at most 2 entries.');
    const roomy = copyOf(entryOf(SHOP, 'a', '1'));
    expect(why(entryOf(SHOP, 'a', '2'), roomy)).to.equal(null);
    expect(why(entryOf(SHOP, 'a', '2'), roomy, { entries: 1, keys: 1 })).to.equal(
      'A list has at most 2 entries.',
    );
  });

  it('is limited for each platform, so that one leaves room for the others', () => {
    const told = 'The lists of a platform have at most 3 entries together.';
    expect(why(entryOf(SHOP, 'b', '2'))).to.equal(told);
    expect(why(entryOf(OTHER, 'b', '2'))).to.equal(null);
    expect(why(entryOf(INSTALLATION_PLATFORM, 'b', '2'))).to.equal(null);
  });

  it('comes back when entries are removed', () => {
    const one = entryOf(SHOP, 'b', '1');
    const copy = copyOf(entryOf(SHOP, 'a', '1'), entryOf(SHOP, 'a', '2'), one);
    copy.applyRecord({ id: hashEntryId(one), version: 4, text: null });
    expect(why(entryOf(SHOP, 'b', '2'), copy)).to.equal(null);
  });

  it('is limited for all lists together', () => {
    const copy = copyOf(
      ...['1', '2'].map((value) => entryOf(SHOP, 'a', value)),
      ...['1', '2'].map((value) => entryOf(OTHER, 'a', value)),
      entryOf(INSTALLATION_PLATFORM, 'a', '1'),
    );
    expect(why(entryOf(INSTALLATION_PLATFORM, 'a', '2'), copy)).to.equal(
      'All lists together have at most 5 entries.',
    );
  });

  it('is limited in the number of networks', () => {
    const wide = Array.from({ length: 9 }, (_, key) => String(key));
    expect(why(entryOf(OTHER, 'a', '10.0.0.0/5', wide))).to.equal(
      'The ranges of a list may be made of at most 8 networks; use prefixes like /16, /24 and /32, or /32, /48 and /64.',
    );
  });

  it('is not needed for an entry that is there already', () => {
    expect(why(entryOf(SHOP, 'a', '1'))).to.equal(null);
  });

  it('cannot be taken up by one platform: at most half of it', () => {
    expect(LIST_LIMITS.entriesPerPlatform * 2).to.be.at.most(LIST_LIMITS.entriesInAll);
  });
});

describe('the names of the lists that hold a value', () => {
  const UNTIL = 1000;
  const copy = copyOf(
    { ...entryOf(SHOP, 'ending', 'card'), expiresAt: UNTIL },
    entryOf(SHOP, 'lasting', 'card'),
    entryOf(INSTALLATION_PLATFORM, 'everywhere', 'card'),
    entryOf(OTHER, 'elsewhere', 'card'),
  );

  it('leave out an entry from the moment at which it ends, and what another platform holds', () => {
    const namesAt = (now: number) => copy.listNamesWithValue(SHOP, 'method', 'card', now);
    expect(namesAt(UNTIL - 1)).to.have.members(['ending', 'lasting', 'everywhere']);
    expect(namesAt(UNTIL)).to.have.members(['lasting', 'everywhere']);
    expect(copy.listNamesWithValue(SHOP, 'client', 'card', 0)).to.deep.equal([]);
  });
});
