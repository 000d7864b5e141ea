import { expect } from 'chai';
import {
  type FoundDecisions,
  findInPages,
  LOOKED_AT_DECISIONS_MAX,
  PAGE_DECISIONS_MAX,
} from '../../../src/archive/read/found-decisions.ts';
import { parseDecisionId } from '../../../src/client/client-key.ts';
import type { Decision } from '../../../src/decision/decision.ts';
import { decisionFor, newClient, T0 } from '../../state/clients.ts';

const CLIENT = newClient();

/** `count` decisions, newest first; every `rareEvery`-th is by the rule "rare". */
function decisions(count: number, rareEvery: number): readonly Decision[] {
  return Array.from({ length: count }, (_, index) => ({
    ...decisionFor(CLIENT, count - index, 'order', T0 + count - index),
    ...((index + 1) % rareEvery === 0 ? { rule: 'rare' } : {}),
  }));
}

/** Gives the decisions in pages, and counts how many pages were asked for. */
function paged(all: readonly Decision[]) {
  const pages = { given: 0 };
  const nextPage = async () =>
    all.slice(pages.given * PAGE_DECISIONS_MAX, ++pages.given * PAGE_DECISIONS_MAX);
  return { pages, nextPage };
}

/** How many decisions were looked at, back to when, whether these are all, and where to go on. */
const toldOf = (
  { decisions, backTo, complete, ...rest }: FoundDecisions['lookedAt'],
  next: string | null,
) => {
  expect(rest).to.deep.equal({});
  return [decisions, backTo, complete, next];
};

describe('a search back through decisions', () => {
  it('goes on over pages until nothing is left', async () => {
    const all = decisions(2 * PAGE_DECISIONS_MAX + 1, PAGE_DECISIONS_MAX);
    const { decisions: found, next, lookedAt } = await findInPages(paged(all).nextPage, { rule: 'rare' }, 10);
    expect(found.length).to.equal(2);
    expect(toldOf(lookedAt, next)).to.deep.equal([all.length, T0 + 1, true, null]);
  });

  it('reads one more page after a full last one', async () => {
    const { pages, nextPage } = paged(decisions(PAGE_DECISIONS_MAX, PAGE_DECISIONS_MAX));
    const { next, lookedAt } = await findInPages(nextPage, { rule: 'none' }, 10);
    expect(pages.given).to.equal(2);
    expect(toldOf(lookedAt, next)).to.deep.equal([PAGE_DECISIONS_MAX, T0 + 1, true, null]);
  });

  it('reads no more pages than the limit needs, and does not claim to have seen all', async () => {
    const all = decisions(5 * PAGE_DECISIONS_MAX, 10);
    const { pages, nextPage } = paged(all);
    const { decisions: found, next, lookedAt } = await findInPages(nextPage, { rule: 'rare' }, 3);
    expect(found.length).to.equal(3);
    expect(pages.given).to.equal(1);
    expect(toldOf(lookedAt, next)).to.deep.equal([
      30,
      T0 + 5 * PAGE_DECISIONS_MAX - 29,
      false,
      all[29]?.decisionId,
    ]);
  });

  it('does not claim to have seen all when the limit falls before the last decision', async () => {
    const all = decisions(3, 2);
    const { next, lookedAt } = await findInPages(paged(all).nextPage, { rule: 'rare' }, 1);
    expect(toldOf(lookedAt, next)).to.deep.equal([2, T0 + 2, false, all[1]?.decisionId]);
  });

  it('gives up after a number of decisions, however many are left', async () => {
    const all = decisions(LOOKED_AT_DECISIONS_MAX + PAGE_DECISIONS_MAX, 1_000_000);
    const { pages, nextPage } = paged(all);
    const { decisions: found, next, lookedAt } = await findInPages(nextPage, { rule: 'rare' }, 1);
    expect(found).to.deep.equal([]);
    // One more page shows that the last millisecond has ended.
    expect(pages.given * PAGE_DECISIONS_MAX).to.equal(LOOKED_AT_DECISIONS_MAX + PAGE_DECISIONS_MAX);
    expect(toldOf(lookedAt, next)).to.deep.equal([
      LOOKED_AT_DECISIONS_MAX,
      T0 + PAGE_DECISIONS_MAX + 1,
      false,
      all[LOOKED_AT_DECISIONS_MAX - 1]?.decisionId,
    ]);
  });

  it('names no place to continue from when it did not come as far as the search before', async () => {
    const all = decisions(LOOKED_AT_DECISIONS_MAX + PAGE_DECISIONS_MAX, 1_000_000);
    const after = parseDecisionId(all.at(-2)?.decisionId ?? '') ?? undefined;
    const filter = after === undefined ? {} : { after };
    const { next, lookedAt } = await findInPages(paged(all).nextPage, filter, 1);
    expect([lookedAt.complete, next]).to.deep.equal([false, null]);
  });
});
