import { expect } from 'chai';
import { formatStatus } from '../../../src/cli/rules/rollout.ts';
import type { NodeView } from '../../../src/rollout/fleet.ts';
import type { RolloutEntry } from '../../../src/rollout/rollout.ts';
import { temporaryDirectory } from '../../servers/temporary-directory.ts';
import { currentRules } from '../../service/current-rules.ts';
import { scoring } from '../scoring.ts';

describe('rules rollout', () => {
  const run = (...args: readonly string[]) =>
    scoring(['rules', 'rollout', 'p2.v10', ...args, '--reason', 'a test'], {
      DATA_DIR: temporaryDirectory(),
      REDIS_URL: '',
    });

  it('refuses a guard for a canary that leaves nobody to compare with, and says what to do', async () => {
    const { exitCode, stdout, stderr } = await run('--canary', '100', '--guard', '5');
    expect([exitCode, stdout]).to.deep.equal([2, '']);
    expect(stderr).to.include(
      '--guard compares the canary with clients of the active version, and 100 percent leave none of those; choose fewer percent, or leave the guard out',
    );
  });

  it('takes a guard at any smaller canary, and no guard at one of 100 percent', async () => {
    for (const options of [
      ['--canary', '99.9', '--guard', '5'],
      ['--canary', '100'],
    ]) {
      const { exitCode, stderr } = await run(...options);
      expect(exitCode).to.equal(1);
      expect(stderr).to.include('refused: no node has ever started on this store');
    }
  });

  it('takes other candidates of the same draw, and refuses shares that cannot be drawn', async () => {
    expect((await run('--help')).stdout)
      .to.include('may be repeated')
      .and.not.include('default:');
    const canary = ['--canary', '60', '--also', 'p2.v12:30'];
    expect((await run(...canary)).stderr).to.include('refused: there is no rule set p2.v12');
    for (const [message, options] of [
      [
        '--also gives away 150 percent of the clients; choose 100 or fewer in all',
        [...canary, '--also', 'p2.v13:60'],
      ],
      ['--also names p2.v12 twice; each candidate has one share', [...canary, '--also', 'p2.v12:1']],
      [
        '--also needs a version and its percent, like p2.v12:10, not "p2.v12"',
        '--canary 60 --also p2.v12'.split(' '),
      ],
      ['--also goes only with --canary', '--active --also p2.v12:1'.split(' ')],
      ['options that say what a trial is judged by need --canary', '--active --margin 0.3'.split(' ')],
      ['--margin is a number that is not allowed: much', '--canary 5 --margin much'.split(' ')],
      [
        'rate must be a currency and what a unit of it is worth, like USD=0.92, not "USD"',
        '--canary 5 --rate USD'.split(' '),
      ],
      ['--guard compares the canary with clients', [...canary, '--also', 'p2.v13:10', '--guard', '5']],
    ] as const) {
      const { exitCode, stderr } = await run(...options);
      expect(exitCode).to.equal(2);
      expect(stderr).to.include(message);
    }
  });
});

const { version, digest } = currentRules();
const ACTIVE = { version, digest };

/** The report of a node. */
function report(pid: number, hasStaleLists = false): NodeView {
  return {
    nodeId: `node-${pid}`,
    host: 'h',
    pid,
    startedAt: 0,
    seenAt: 0,
    revision: 1,
    active: ACTIVE,
    versions: [],
    refused: [],
    trouble: null,
    hasStaleLists,
  };
}

const status = (...nodes: readonly NodeView[]) => statusAfter([], nodes);

const statusAfter = (history: readonly RolloutEntry[], nodes: readonly NodeView[] = []) =>
  formatStatus(
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
    const entry = { at: 0, who: 'ann', action: 'active', from: null, to: version, digest } as const;
    const shown = (marked: object) =>
      statusAfter([{ ...entry, reason: 'r', ...marked }])
        .split('\n')
        .at(-1);
    expect(shown({ emergency: true })).to.match(/ {2}ann {2}active, emergency {2}p2\.v10 +r$/);
    expect(shown({})).to.match(/ {2}ann {2}active {2}p2\.v10 +r$/);
  });

  it('says which nodes have stale shared lists, and nothing while every node follows them', () => {
    expect(status(report(1), report(2, true), report(3, false)).match(/^Shared lists .*$/gm)).to.deep.equal([
      'Shared lists on h/2 could not be compared with the store for more than 10 s; changes since then do not count there.',
    ]);
    expect(status(report(1), report(2))).not.to.include('Shared lists');
  });
});
