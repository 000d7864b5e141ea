import { expect } from 'chai';
import type { WithMomentsAsText } from '#base/shapes.ts';
import type { NodeView } from '#checkout/rollout/fleet.ts';
import type { RolloutHistoryEntry } from '#checkout/rollout/rollout.ts';
import { formatRolloutStatus } from '#workbench/commands/rules/rollout-text.ts';
import { currentRules } from '../../../service/current-rules.ts';

const { version, digest } = currentRules();
const ACTIVE = { version, digest };

/** The report of a node. */
const AT = '1970-01-01T00:00:00Z';

function report(pid: number, hasStaleLists = false): WithMomentsAsText<NodeView> {
  return {
    nodeId: `node-${pid}`,
    host: 'h',
    pid,
    startedAt: AT,
    seenAt: AT,
    revision: 1,
    active: ACTIVE,
    versions: [],
    refused: [],
    trouble: null,
    hasStaleLists,
  };
}

const status = (...nodes: readonly WithMomentsAsText<NodeView>[]) => statusAfter([], nodes);

const statusAfter = (
  history: readonly WithMomentsAsText<RolloutHistoryEntry>[],
  nodes: readonly WithMomentsAsText<NodeView>[] = [],
) =>
  formatRolloutStatus(
    {
      rollout: { revision: 1, active: ACTIVE, candidates: [], ended: [], history },
      unreadable: false,
      nodes,
      trials: [],
      previous: null,
    },
    1000,
  );

describe('rules status', () => {
  it('marks a return that one person made alone in an emergency', () => {
    const entry = { at: AT, who: 'ann', action: 'active', from: null, to: version, digest } as const;
    const shown = (marked: object) =>
      statusAfter([{ ...entry, reason: 'r', ...marked }])
        .split('\n')
        .at(-1);
    expect(shown({ emergency: true })).to.match(/ {2}ann {2}active, emergency {2}p2\.v10 +r$/);
    expect(shown({})).to.match(/ {2}ann {2}active {2}p2\.v10 +r$/);
  });

  it('says which nodes have stale shared lists, and nothing while every node follows them', () => {
    expect(status(report(1), report(2, true), report(3, false)).match(/^Shared lists .*$/gm)).to.deep.equal([
      'Shared lists on h/2 could not be read from the store for more than 10 s; that node decides by the lists as they were then.',
    ]);
    expect(status(report(1), report(2))).not.to.include('Shared lists');
  });
});
