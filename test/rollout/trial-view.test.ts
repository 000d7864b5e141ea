import { expect } from 'chai';
import { platformName } from '../../src/client/client-key.ts';
import type { Decision } from '../../src/decision/decision.ts';
import { type Candidate, firstRollout, type Rollout } from '../../src/rollout/rollout.ts';
import type { TrialCounts } from '../../src/rollout/trial-counts.ts';
import { stageOf, viewOfTrial } from '../../src/rollout/trial-view.ts';
import { DAY_MS } from '../../src/rules/duration.ts';
import { currentRules } from '../service/current-rules.ts';
import { decisionFor, newClient } from '../state/clients.ts';

const { version, digest } = currentRules();

const CANDIDATE: Candidate = {
  version,
  digest,
  mode: 'shadow',
  percent: 0,
  trial: 'a trial',
  since: 1,
  stageSince: 1,
  guardPoints: null,
  slices: [],
};

/** With one candidate. */
function rolloutOf(candidate: Candidate): Rollout {
  return { ...firstRollout({ version, digest }, 1), candidates: [candidate] };
}

describe('the view of a trial', () => {
  const decisions = ['ours', 'theirs'].map((name) =>
    decisionFor(newClient(platformName(name)), 1, `order-${name}`),
  );
  const counted = countsOf(
    CANDIDATE,
    ...decisions.flatMap(({ platform, decisionId }): readonly Figure[] => [
      [platform, 'shadow', 'compared', 10],
      [platform, 'shadow', 'different', 1],
      [platform, 'change', 'WAIT/a -> BLOCK/b', 1],
      [platform, 'sample', 'WAIT/a -> BLOCK/b', decisionId, 1],
    ]),
  );
  const view = (platform: string | null, kept: readonly Decision[] = decisions) =>
    viewOfTrial(
      rolloutOf(CANDIDATE),
      CANDIDATE,
      counted,
      platform === null ? null : platformName(platform),
      async (id) => {
        return kept.find(({ decisionId }) => decisionId === id) ?? null;
      },
    );
  const ordersOf = ({ shadow }: Awaited<ReturnType<typeof view>>) =>
    shadow.differences.flatMap(({ sampleOrders }) => sampleOrders);

  it('shows a platform its own figures and orders, and the owner of the installation all', async () => {
    const ours = await view('ours');
    expect(ours.shadow.compared).to.equal(10);
    expect(ordersOf(ours)).to.deep.equal(['order-ours']);
    const all = await view(null);
    expect(all.shadow.compared).to.equal(20);
    expect(ordersOf(all)).to.have.members(['order-ours', 'order-theirs']);
  });

  it("shows a platform without figures none, and nobody else's", async () => {
    const none = await view('newcomer');
    expect(none.shadow).to.deep.include({ compared: 0, different: 0, differences: [] });
  });

  it('gives when a canary is answered about, and the paid share among its clients with a known outcome', async () => {
    const canary = { ...CANDIDATE, mode: 'canary', percent: 50 } as const;
    const clients = ['ours', 'arms', 'candidate', 'clients'] as const;
    const counts = countsOf(
      canary,
      [...clients, 'seen', 100],
      [...clients, 'paid', 30],
      [...clients, 'unpaid', 10],
    );
    const view = await viewOfTrial(rolloutOf(canary), canary, counts, null, async () => null);
    expect(view.earliest).to.equal(canary.stageSince + 7 * DAY_MS);
    const { shares } = view;
    const paid = shares.find(({ name }) => name === 'paid');
    expect([paid?.active, paid?.candidate?.value]).to.deep.equal([null, 0.75]);
    expect(shares.find(({ name }) => name === 'BLOCK')?.candidate?.value).to.equal(0);
  });

  it('says that the guard withdraws a canary only where it does: by the clients of all platforms', async () => {
    const canary = { ...CANDIDATE, mode: 'canary', percent: 50, guardPoints: 5 } as const;
    const arms = (platform: string, blocked: Readonly<Record<'active' | 'candidate', number>>) =>
      Object.entries(blocked).flatMap(([arm, number]): readonly Figure[] => [
        [platform, 'arms', arm, 'clients', 'seen', 2000],
        [platform, 'arms', arm, 'clients', 'blocked', number],
      ]);
    const breachOf = async (platform: string | null, figures: readonly Figure[]) => {
      const name = platform === null ? null : platformName(platform);
      const counts = countsOf(canary, ...figures);
      return (await viewOfTrial(rolloutOf(canary), canary, counts, name, async () => null)).breach;
    };
    const ours = arms('ours', { active: 100, candidate: 900 });
    expect(await breachOf(null, ours)).to.match(/^BLOCK share 45.0 % of 2000 clients against 5.0 % of 2000/);
    const evened = [...ours, ...arms('theirs', { active: 900, candidate: 100 })];
    expect([await breachOf(null, evened), await breachOf('ours', evened)]).to.deep.equal([null, null]);
  });

  it('forgets an order with its client, and keeps the figure', async () => {
    const after = await view('ours', []);
    expect(after.shadow.differences.map(({ count, sampleOrders }) => [count, sampleOrders])).to.deep.equal([
      [1, []],
    ]);
  });
});

/** The path to a figure, and the figure. */
type Figure = readonly [...path: string[], count: number];

function countsOf(candidate: Candidate, ...figures: readonly Figure[]): TrialCounts {
  const tally = Object.fromEntries(
    figures.map((figure) => [JSON.stringify(figure.slice(0, -1)), Number(figure.at(-1))]),
  );
  return { trial: stageOf(candidate).trial, tally };
}
