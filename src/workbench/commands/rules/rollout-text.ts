import { formatCount } from '#base/count-text.ts';
import type { WithMomentsAsText } from '#base/shapes.ts';
import type { NodeView } from '#checkout/rollout/fleet.ts';
import { formatClientsByPayment } from '#checkout/rollout/guard.ts';
import type { Candidate, RolloutHistoryEntry } from '#checkout/rollout/rollout.ts';
import { computeClientInFiguresTime, formatObjective, parseObjective } from '#decision/objective.ts';
import { formatTime, toEpochMs } from '#decision/payer/instant.ts';
import { formatShare } from '#history/evidence/presentation.ts';
import { estimateShare } from '#history/statistics/intervals.ts';
import { formatTable } from '#workbench/commands/print.ts';
import { type FollowReport, formatNodeName, type RolloutStatus } from '#workbench/rollout/change-rollout.ts';
import type { TrialView } from '#workbench/rollout/trial-view.ts';

/** The status of the rollout as an operation answers it, with moments as texts. */
export type RolloutStatusAnswer = WithMomentsAsText<RolloutStatus>;
export type RolloutChangeAnswer = WithMomentsAsText<FollowReport>;
type ToldNode = WithMomentsAsText<NodeView>;
type ToldCandidate = WithMomentsAsText<Candidate>;
type ToldTrial = WithMomentsAsText<TrialView>;
type ToldEntry = WithMomentsAsText<RolloutHistoryEntry>;

/** Formats the result of a change of the rollout, for people. */
export function formatRolloutChange({ rollout, following, lagging, compared }: RolloutChangeAnswer): string {
  const { revision, active, candidates } = rollout;
  const trials = candidates.map(
    ({ version, mode, percent }) => `${version} in ${mode}${mode === 'canary' ? ` ${percent} %` : ''}`,
  );
  const trial = trials.length === 0 ? 'nothing on trial' : trials.join(', ');
  const lines = [`revision ${revision}: ${active.version} is active, ${trial}`];
  if (compared !== null) lines.push(`compared on ${compared}`);
  const [drawn] = candidates.filter(({ mode }) => mode === 'canary');
  if (drawn !== undefined) lines.push(formatEarliestAnswer(drawn));
  if (following.length === 0) lines.push('no node follows');
  else lines.push(`${following.length} of ${following.length + lagging.length} nodes follow`);
  for (const node of lagging)
    lines.push(`does not follow: ${formatNodeName(node)}${node.trouble === null ? '' : `: ${node.trouble}`}`);
  return lines.join('\n');
}

/**
 * Describes the objective (the value of a payer by which the experiment compares versions), and when the experiment
 * can give a result at the earliest.
 */
function formatEarliestAnswer({ stageSince, objective }: ToldCandidate): string {
  const judged = parseObjective(objective ?? null);
  if (judged === null) return 'its objective cannot be read; begin the trial again to have it judged';
  const at = formatTime(computeClientInFiguresTime(parseMoment(stageSince), judged));
  const longer =
    judged.reversalDays === null ? ', later by the days that reversals take where some were reported' : '';
  return `judged by ${formatObjective(judged)}; the experiment answers at the earliest on ${at}${longer}`;
}

const SHOWN_HISTORY = 10;
const SHOWN_DIFFERENCES = 10;

/** Formats `rules status` for people. */
export function formatRolloutStatus(
  { rollout, unreadable, trials, ...seen }: RolloutStatusAnswer,
  now: number,
): string {
  const nodes = seen.nodes ?? [];
  if (unreadable) return formatUnreadableStatus(nodes, now);
  if (rollout === null) return 'No node has ever started on this store.';
  const parts = [
    `Active: ${rollout.active.version}  sha256:${rollout.active.digest}  (revision ${rollout.revision})`,
  ];
  for (const candidate of rollout.candidates) {
    const trial = trials.find(({ version }) => version === candidate.version);
    if (trial !== undefined) parts.push(describeTrial(candidate, trial));
  }
  parts.push(nodes.length === 0 ? 'No node is running.' : formatNodesTable(nodes, rollout.revision, now));
  const stale = nodes.filter(({ hasStaleLists }) => hasStaleLists);
  for (const { host, pid } of stale)
    parts.push(
      `Shared lists on ${host}/${pid} could not be read from the store for more than 10 s; that node decides by the lists as they were then.`,
    );
  const refused = nodes.flatMap((node) =>
    node.refused.map(({ version, problems }) => ({ host: node.host, version, problems })),
  );
  for (const { host, version, problems } of refused)
    parts.push(`Refused on ${host}: ${version}\n  ${problems.join('\n  ')}`);
  parts.push(formatHistoryTable(rollout.history.slice(-SHOWN_HISTORY)));
  return parts.join('\n\n');
}

function formatUnreadableStatus(nodes: readonly ToldNode[], now: number): string {
  const newest = Math.max(0, ...nodes.map(({ revision }) => revision));
  return [
    'The rollout in the store cannot be read. The nodes go on with the rollout that they have; "rules rollback" writes it again, without a candidate.',
    nodes.length === 0 ? 'No node is running.' : formatNodesTable(nodes, newest, now),
  ].join('\n\n');
}

function describeTrial(candidate: ToldCandidate, trial: ToldTrial): string {
  const { version, digest, mode, percent, guardPoints } = candidate;
  const head = `On trial: ${version}  sha256:${digest}  ${mode}${mode === 'canary' ? ` ${percent} %` : ''} since ${formatTime(parseMoment(candidate.since))}`;
  const errors =
    trial.candidateErrors === 0
      ? ''
      : `\n  the candidate failed ${formatCount(trial.candidateErrors, 'time')}; the active version decided`;
  return mode === 'shadow'
    ? `${head}\n${describeShadow(trial)}${errors}`
    : `${head}\n${describeArms(trial, guardPoints)}${errors}`;
}

function describeShadow({ shadow: { compared, different, differences } }: ToldTrial): string {
  const part = formatShare(estimateShare(different, compared));
  const lines = [`  ${formatCount(compared, 'verdict')} compared, ${different} differ: ${part}`];
  for (const { change, count, sampleOrders } of differences.slice(0, SHOWN_DIFFERENCES)) {
    lines.push(`  ${String(count).padStart(6)}  ${change}  e.g. order ${sampleOrders.join(', ')}`);
  }
  return lines.join('\n');
}

function describeArms({ arms, shares, breach, gains }: ToldTrial, guardPoints: number | null): string {
  const clients = `by clients, each counted once by all of its verdicts: ${arms.active.clients.seen} active, ${arms.candidate.clients.seen} candidate`;
  const rows = shares.map(({ name, active, candidate }) => [
    `  ${name}`,
    formatShare(active),
    formatShare(candidate),
  ]);
  const outcomes = `  outcomes of clients: ${formatClientsByPayment(arms.active.clients)} active; ${formatClientsByPayment(arms.candidate.clients)} candidate`;
  const verdicts = `  ${formatCount(arms.active.verdicts, 'verdict')} by the active version, ${arms.candidate.verdicts} by the candidate`;
  const guard =
    guardPoints === null ? '  no guard' : `  guard at ${guardPoints} points: ${breach ?? 'no breach'}`;
  return [
    `  ${clients}`,
    formatTable(['  SHARE, 95 %', 'ACTIVE', 'CANDIDATE'], rows),
    outcomes,
    verdicts,
    guard,
    ...gains.map((gain) => `  better: ${gain}`),
  ].join('\n');
}

function formatNodesTable(nodes: readonly ToldNode[], revision: number, now: number): string {
  const rows = nodes.map((node) => [
    `${node.host}/${node.pid}`,
    node.revision >= revision ? 'yes' : `no: ${node.trouble ?? 'not yet'}`,
    `${Math.max(0, Math.round((now - parseMoment(node.seenAt)) / 1000))} s ago`,
    node.versions
      .map(({ version, digest, released }) => `${version} ${digest.slice(0, 8)}${released ? '' : ' draft'}`)
      .join(', '),
  ]);
  return formatTable(['NODE', 'FOLLOWS', 'SEEN', 'LOADED'], rows);
}

function formatHistoryTable(history: readonly ToldEntry[]): string {
  const rows = history
    .toReversed()
    .map(({ at, who, action, from, to, percent, also = [], reason, emergency = false }) => [
      formatTime(parseMoment(at)),
      who,
      `${action}${percent === undefined ? '' : ` ${percent} %`}${emergency ? ', emergency' : ''}`,
      [from === null ? to : `${from} -> ${to}`, ...also.map((one) => `${one.version} ${one.percent} %`)].join(
        ', ',
      ),
      reason,
    ]);
  return formatTable(['WHEN', 'WHO', 'WHAT', 'VERSION', 'REASON'], rows);
}

function parseMoment(text: string): number {
  return toEpochMs(text) ?? 0;
}
