import { expect } from 'chai';
import { GoalError, parseGoal } from '#workbench/rollout/goal.ts';
import { versionOf } from '../../checkout/rollout/rule-folders.ts';

type Asked = Parameters<typeof parseGoal>[0];

const NOTHING = { percent: undefined, guard: undefined, also: undefined, judged: {} } as const;

function goal(mode: Asked['mode'], more: Partial<Asked> = {}) {
  try {
    return parseGoal({ version: versionOf('p2.v11'), mode, ...NOTHING, ...more });
  } catch (error) {
    return error instanceof GoalError ? `${error.member} ${error.message}` : error;
  }
}

const also = (count: number, percent = 1) =>
  Array.from({ length: count }, (_, index) => ({ version: versionOf(`p2.v${20 + index}`), percent }));

describe('the goal of a rollout', () => {
  it('has a percent, a guard, others beside it and an objective only as a canary', () => {
    expect(goal('shadow')).to.deep.equal({ mode: 'shadow' });
    for (const [member, given] of [
      ['percent', { percent: 5 }],
      ['guard', { guard: 5 }],
      ['also', { also: also(1) }],
      ['reversalCost', { judged: { reversalCost: 15 } }],
    ] as const)
      for (const mode of ['shadow', 'active'] as const)
        expect(goal(mode, given)).to.equal(`${member} goes only with a canary`);
  });

  it('is a canary only with a percent', () => {
    expect(goal('canary', { guard: 5 })).to.equal('percent is required for a canary');
    expect(goal('canary', { percent: 5, guard: 2, judged: { margin: 0.5 } })).to.deep.equal({
      mode: 'canary',
      percent: 5,
      guardPoints: 2,
      also: [],
      objective: '{"margin":0.5}',
    });
  });

  it('shares at most all clients between at most ten candidates, and leaves some to a guard', () => {
    expect(goal('canary', { percent: 1, also: also(9) })).to.include({ percent: 1 });
    expect(goal('canary', { percent: 1, also: also(10) })).to.equal(
      'also names 10 candidates; at most 9 are allowed',
    );
    expect(goal('canary', { percent: 60, also: also(1, 60) })).to.equal(
      'also gives candidates 120 percent of the clients; choose at most 100 in all',
    );
    expect(goal('canary', { percent: 60, also: also(1, 40), guard: 5 })).to.equal(
      'guard compares the canary with clients of the active version, and at 100 percent there are none; choose fewer percent, or leave the guard out',
    );
  });
});
