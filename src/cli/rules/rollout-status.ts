import { timeText } from '../../client/instant.ts';
import { shareText } from '../../evidence/shown.ts';
import type { RolloutStatus } from '../../rollout/change-rollout.ts';
import type { NodeView } from '../../rollout/fleet.ts';
import { fatesOf } from '../../rollout/guard.ts';
import type { Candidate, RolloutEntry } from '../../rollout/rollout.ts';
import type { TrialView } from '../../rollout/trial-view.ts';
import { shareInterval } from '../../statistics/share-interval.ts';
import { table } from '../table.ts';

const SHOWN_HISTORY = 10;
const SHOWN_DIFFERENCES = 10;

/** `rules status` for people. */
export function formatStatus({ rollout, unreadable, trials, ...seen }: RolloutStatus, now: number): string {
  const nodes = seen.nodes ?? [];
  if (unreadable) return unreadableStatus(nodes, now);
  if (rollout === null) return 'No node has ever started on this store.';
  const parts = [
    `Active: ${rollout.active.version}  sha256:${rollout.active.digest}  (revision ${rollout.revision})`,
  ];
  for (const candidate of rollout.candidates) {
    const trial = trials.find(({ version }) => version === candidate.version);
    if (trial !== undefined) parts.push(describeTrial(candidate, trial));
  }
  parts.push(nodes.length === 0 ? 'No node is running.' : nodesTable(nodes, rollout.revision, now));
  const stale = nodes.filter(({ hasStaleLists }) => hasStaleLists);
  for (const { host, pid } of stale)
    parts.push(
      `Shared lists on ${host}/${pid} could not be compared with the store for more than 10 s; changes since then do not count there.`,
    );
  const refused = nodes.flatMap((node) =>
    node.refused.map(({ version, problems }) => ({ host: node.host, version, problems })),
  );
  for (const { host, version, problems } of refused)
    parts.push(`Refused on ${host}: ${version}\n  ${problems.join('\n  ')}`);
  parts.push(historyTable(rollout.history.slice(-SHOWN_HISTORY)));
  return parts.join('\n\n');
}

function unreadableStatus(nodes: readonly NodeView[], now: number): string {
  const newest = Math.max(0, ...nodes.map(({ revision }) => revision));
  return [
    'What the store holds as the rollout cannot be read. The nodes continue with what they have; "rules rollback" rewrites it from them, without a candidate.',
    nodes.length === 0 ? 'No node is running.' : nodesTable(nodes, newest, now),
  ].join('\n\n');
}

function describeTrial(candidate: Candidate, trial: TrialView): string {
  const { version, digest, mode, percent, guardPoints } = candidate;
  const head = `On trial: ${version}  sha256:${digest}  ${mode}${mode === 'canary' ? ` ${percent} %` : ''} since ${timeText(candidate.since)}`;
  const errors =
    trial.candidateErrors === 0
      ? ''
      : `\n  the candidate threw ${trial.candidateErrors} times; the active version decided`;
  return mode === 'shadow'
    ? `${head}\n${describeShadow(trial)}${errors}`
    : `${head}\n${describeArms(trial, guardPoints)}${errors}`;
}

function describeShadow({ shadow: { compared, different, differences } }: TrialView): string {
  const part = shareText(shareInterval(different, compared));
  const lines = [`  ${compared} verdicts compared, ${different} differ: ${part}`];
  for (const { change, count, sampleOrders } of differences.slice(0, SHOWN_DIFFERENCES)) {
    lines.push(`  ${String(count).padStart(6)}  ${change}  e.g. order ${sampleOrders.join(', ')}`);
  }
  return lines.join('\n');
}

function describeArms({ arms, shares, breach, gains }: TrialView, guardPoints: number | null): string {
  const clients = `by clients, each counted once by all of its verdicts: ${arms.active.clients.seen} active, ${arms.candidate.clients.seen} candidate`;
  const rows = shares.map(({ name, active, candidate }) => [
    `  ${name}`,
    shareText(active),
    shareText(candidate),
  ]);
  const outcomes = `  outcomes of clients: ${fatesOf(arms.active.clients)} active; ${fatesOf(arms.candidate.clients)} candidate`;
  const verdicts = `  ${arms.active.verdicts} verdicts by the active version, ${arms.candidate.verdicts} by the candidate`;
  const guard =
    guardPoints === null ? '  no guard' : `  guard at ${guardPoints} points: ${breach ?? 'no breach'}`;
  return [
    `  ${clients}`,
    table(['  SHARE, 95 %', 'ACTIVE', 'CANDIDATE'], rows),
    outcomes,
    verdicts,
    guard,
    ...gains.map((gain) => `  better: ${gain}`),
  ].join('\n');
}

function nodesTable(nodes: readonly NodeView[], revision: number, now: number): string {
  const rows = nodes.map((node) => [
    `${node.host}/${node.pid}`,
    node.revision >= revision ? 'yes' : `no: ${node.trouble ?? 'not yet'}`,
    `${Math.max(0, Math.round((now - node.seenAt) / 1000))} s ago`,
    node.versions
      .map(({ version, digest, released }) => `${version} ${digest.slice(0, 8)}${released ? '' : ' draft'}`)
      .join(', '),
  ]);
  return table(['NODE', 'FOLLOWS', 'SEEN', 'LOADED'], rows);
}

function historyTable(history: readonly RolloutEntry[]): string {
  const rows = history
    .toReversed()
    .map(({ at, who, action, from, to, percent, also = [], reason }) => [
      timeText(at),
      who,
      percent === undefined ? action : `${action} ${percent} %`,
      [from === null ? to : `${from} -> ${to}`, ...also.map((one) => `${one.version} ${one.percent} %`)].join(
        ', ',
      ),
      reason,
    ]);
  return table(['WHEN', 'WHO', 'WHAT', 'VERSION', 'REASON'], rows);
}
