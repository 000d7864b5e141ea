import { expect } from 'chai';
import { platformName } from '../../src/client/client-key.ts';
import type { Decision } from '../../src/decision/decision.ts';
import { type Candidate, firstRollout, type Rollout } from '../../src/rollout/rollout.ts';
import { NO_COUNTS, type TrialCounts, type TrialFigures } from '../../src/rollout/trial-counts.ts';
import { stageOf, viewOfTrial } from '../../src/rollout/trial-view.ts';
import { DAY_MS } from '../../src/rules/duration.ts';
import { currentRules } from '../service/current-rules.ts';
import { decisionFor, newClient } from '../state/clients.ts';

const { version, digest } = currentRules();

const CANDIDATE: Candidate = {
  ...{ version, digest, mode: 'shadow', percent: 0, trial: 'a trial', since: 1, stageSince: 1 },
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
    Object.fromEntries(decisions.map(({ platform, decisionId }) => [platform, figuresOf(decisionId)])),
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
    const clients = { ...NO_COUNTS.clients, seen: 100, paid: 30, unpaid: 10 };
    const figures = {
      arms: { active: NO_COUNTS, candidate: { ...NO_COUNTS, clients } },
      candidateErrors: 0,
      shadow: { compared: 0, different: 0, differences: [] },
    };
    const counts = { trial: stageOf(canary).trial, platforms: { ours: figures } };
    const view = await viewOfTrial(rolloutOf(canary), canary, counts, null, async () => null);
    expect(view.earliest).to.equal(canary.stageSince + 7 * DAY_MS);
    const { shares } = view;
    const paid = shares.find(({ name }) => name === 'paid');
    expect([paid?.active, paid?.candidate?.value]).to.deep.equal([null, 0.75]);
    expect(shares.find(({ name }) => name === 'BLOCK')?.candidate?.value).to.equal(0);
  });

  it('says that the guard withdraws a canary only where it does: by the clients of all platforms', async () => {
    const canary = { ...CANDIDATE, mode: 'canary', percent: 50, guardPoints: 5 } as const;
    const arm = (blocked: number) => ({
      ...NO_COUNTS,
      clients: { ...NO_COUNTS.clients, seen: 2000, blocked },
    });
    const shadow = { compared: 0, different: 0, differences: [] };
    const figures = (active: number, candidate: number) => ({
      ...{ arms: { active: arm(active), candidate: arm(candidate) }, candidateErrors: 0, shadow },
    });
    const breachOf = async (platform: string | null, platforms: Readonly<Record<string, TrialFigures>>) => {
      const counts = { trial: stageOf(canary).trial, platforms };
      const name = platform === null ? null : platformName(platform);
      return (await viewOfTrial(rolloutOf(canary), canary, counts, name, async () => null)).breach;
    };
    const ours = figures(100, 900);
    expect(await breachOf(null, { ours })).to.match(
      /^BLOCK share 45.0 % of 2000 clients against 5.0 % of 2000/,
    );
    const evened = { ours, theirs: figures(900, 100) };
    expect([await breachOf(null, evened), await breachOf('ours', evened)]).to.deep.equal([null, null]);
  });

  it('forgets an order with its client, and keeps the figure', async () => {
    const after = await view('ours', []);
    expect(after.shadow.differences.map(({ count, sampleOrders }) => [count, sampleOrders])).to.deep.equal([
      [1, []],
    ]);
  });
});

function figuresOf(decisionId: string): Pick<TrialFigures, 'shadow'> {
  const differences = [{ change: 'WAIT/a -> BLOCK/b', count: 1, sampleDecisions: [decisionId] }];
  return { shadow: { compared: 10, different: 1, differences } };
}

function countsOf(shadows: Readonly<Record<string, Pick<TrialFigures, 'shadow'>>>): TrialCounts {
  const platforms = Object.fromEntries(
    Object.entries(shadows).map(([name, { shadow }]) => [
      name,
      { arms: { active: NO_COUNTS, candidate: NO_COUNTS }, candidateErrors: 0, shadow },
    ]),
  );
  return { trial: stageOf(CANDIDATE).trial, platforms };
}
