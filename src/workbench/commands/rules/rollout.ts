import { type Command, Option } from 'commander';
import { formatCount } from '#base/counted.ts';
import { INSTALLATION } from '#checkout/access/access-keys.ts';
import { Fleet, type NodeView } from '#checkout/rollout/fleet.ts';
import { formatClientCounts } from '#checkout/rollout/guard.ts';
import { LoadedRules } from '#checkout/rollout/loaded-rules.ts';
import type { Candidate, RolloutEntry, Share } from '#checkout/rollout/rollout.ts';
import { recallRollout } from '#checkout/rollout/rollout-memory.ts';
import { readConfig, signalSecretsAtHand } from '#config.ts';
import { findEarliestResult, formatObjective, parseObjective } from '#decision/objective.ts';
import { formatTime } from '#decision/payer/instant.ts';
import { createAttributeHmacs } from '#decision/pseudonym.ts';
import { isRuleVersion, type RuleVersion, refuseVersionName } from '#decision/rules/rule-set.ts';
import { readGivenObjective, TRIAL_OPTIONS } from '#history/evidence/objective-options.ts';
import { formatShare } from '#history/evidence/presentation.ts';
import { BadQuestion } from '#history/evidence/question.ts';
import { estimateShare } from '#history/statistics/intervals.ts';
import { ThreadedReader } from '#state/rule-folders/rule-reader.ts';
import type { Store } from '#state/store.ts';
import { formatUserActor } from '#workbench/access/actors.ts';
import {
  type ApprovalOption,
  printProposed,
  proposedBy,
  WITHOUT_APPROVAL,
  whoChanges,
} from '#workbench/commands/approval.ts';
import { EXIT, UsageError } from '#workbench/commands/exit.ts';
import { readDecidedLately } from '#workbench/commands/open-archive.ts';
import { withOpenStore } from '#workbench/commands/open-store.ts';
import { flagOf, parseReason } from '#workbench/commands/options.ts';
import { formatTable, print, printError } from '#workbench/commands/print.ts';
import type { Goal } from '#workbench/rollout/advance.ts';
import {
  type FollowReport,
  formatNodeName,
  RolloutRefused,
  type RolloutStatus,
  readRolloutStatus,
  rollBack,
  rollOut,
} from '#workbench/rollout/change-rollout.ts';
import { BadGoal, parseGoal } from '#workbench/rollout/goal.ts';
import { restoreRollout } from '#workbench/rollout/restore-rollout.ts';
import type { TrialView } from '#workbench/rollout/trial-view.ts';
import { checked, commandOption } from './evidence.ts';

interface RolloutOptions extends ApprovalOption {
  readonly shadow?: true;
  readonly canary?: string;
  readonly also?: readonly string[];
  readonly active?: true;
  readonly guard?: string;
  readonly revision?: string;
  readonly acceptDifference?: true;
  readonly emergency?: true;
  readonly reason: string;
  readonly json?: true;
}

type RollbackOptions = Pick<RolloutOptions, 'reason' | 'revision' | 'json'>;

/** rules status, rollout, rollback: which version decides, and how that changes. */
export function rolloutCommands(rules: Command): void {
  rules
    .command('status')
    .description('which version decides, what is on trial, and what each node has loaded')
    .option('--json', 'print one JSON object')
    .action((options: { json?: true }) => status(options.json === true));

  const command = rules.command('rollout <version>');
  for (const option of TRIAL_OPTIONS) command.addOption(commandOption(option));
  command
    .description('bring a version into shadow, canary or active; returns when every node follows')
    .addOption(new Option('--shadow', 'decide on a copy and compare').conflicts(['canary', 'active']))
    .addOption(
      new Option('--canary <percent>', 'decide for this percentage of the clients').conflicts([
        'shadow',
        'active',
      ]),
    )
    .option(
      '--also <version:percent>',
      'another candidate in the same draw, like p2.v12:10; may be repeated. Candidates that are not named end',
      (text: string, all: readonly string[] = []) => [...all, text],
    )
    .addOption(new Option('--active', 'decide for everybody').conflicts(['shadow', 'canary']))
    .option(
      '--guard <points>',
      'take a canary back automatically when its share of clients with BLOCK, WAIT or the bot flag is this many points above that of the active version, or its share of clients who pay this many below; the canaries must have less than 100 percent in all',
    )
    .requiredOption('--reason <text>', 'why, for the history')
    .option('--revision <number>', SEEN)
    .option(
      '--accept-difference',
      'allow more than 20 percent for a version whose answers differ much from those of the active one',
    )
    .option('--emergency', 'return to a formerly active version without approval; raises an alert')
    .option(...WITHOUT_APPROVAL)
    .option('--json', 'print one JSON object')
    .action((version: string, options: RolloutOptions) => rollout(version, options));

  rules
    .command('rollback [version]')
    .description(
      'take one candidate back, or without a version all of them; without any, return to the version before',
    )
    .requiredOption('--reason <text>', 'why, for the history')
    .option('--revision <number>', SEEN)
    .option('--json', 'print one JSON object')
    .action((version: string | undefined, options: RollbackOptions) => rollback(version, options));
}

/** rules restore-rollout, for a store that lost what its nodes follow. */
export function restoreCommand(rules: Command): void {
  rules
    .command('restore-rollout')
    .description(
      'write back the rollout that nodes follow, where the store has lost it or holds an older one; run it with the DATA_DIR of a node',
    )
    .requiredOption('--reason <text>', 'why, for the history')
    .option('--json', 'print one JSON object')
    .action(({ reason, json }: { readonly reason: string; readonly json?: true }) => {
      const change = { who: formatUserActor(), reason: parseReason(reason) };
      return report(json === true, (store, at) => {
        const remembered = recallRollout(readConfig().dataDir);
        const isOurs = remembered?.installation === store.installation.id;
        const rollout = isOurs ? remembered.rollout : null;
        return restoreRollout(new Fleet(store), rollout, { ...change, at });
      });
    });
}

const SEEN = 'refuse unless the rollout is still at this revision, which "rules status" shows';

async function status(json: boolean): Promise<void> {
  const { seen, now } = await withOpenStore(async (store, clock) => ({
    seen: await readRolloutStatus(new Fleet(store), store.tallies, {
      platform: null,
      decisionOf: (id) => store.decision(id),
    }),
    now: clock(),
  }));
  print(json ? JSON.stringify(seen) : formatStatus(seen, now));
}

async function rollout(version: string, options: RolloutOptions): Promise<void> {
  const named = versionOf(version);
  const goal = goalInOptions(named, options);
  const revision = seenRevision(options.revision);
  const { reason, acceptDifference = false, emergency = false } = options;
  const how = { reason, revision, acceptDifference, emergency };
  const change = { what: 'rollout', version: named, goal, ...how } as const;
  const proposal = await proposedBy(INSTALLATION, change, options);
  if (proposal !== null) return printProposed(INSTALLATION, proposal, options.json === true);
  const config = readConfig();
  const { rulesDir } = config;
  const hmacs = createAttributeHmacs(signalSecretsAtHand(config));
  const rules = await LoadedRules.read(rulesDir, new ThreadedReader(rulesDir), hmacs);
  try {
    await report(options.json === true, (store, at) => {
      const parts = { fleet: new Fleet(store), rules, store, decidedLately: readDecidedLately(store) };
      return rollOut(parts, named, goal, { ...how, who: whoChanges(options), at });
    });
  } finally {
    await rules.close();
  }
}

function versionOf(text: string): RuleVersion {
  if (isRuleVersion(text)) return text;
  throw new UsageError(refuseVersionName(text));
}

async function rollback(
  text: string | undefined,
  { reason, json, ...options }: RollbackOptions,
): Promise<void> {
  const version = text === undefined ? null : versionOf(text);
  const revision = seenRevision(options.revision);
  await report(json === true, (store, at) =>
    rollBack(
      new Fleet(store),
      readConfig().rulesDir,
      { who: formatUserActor(), at, reason, revision },
      version,
    ),
  );
}

async function report(
  json: boolean,
  change: (store: Store, at: number) => Promise<FollowReport>,
): Promise<void> {
  try {
    const done = await withOpenStore((store, clock) => change(store, clock()));
    print(json ? JSON.stringify(done) : describe(done));
    if (done.lagging.length > 0 || done.following.length === 0) process.exitCode = EXIT.findings;
  } catch (error) {
    if (!(error instanceof RolloutRefused)) throw error;
    printError(`refused: ${error.message}`);
    process.exitCode = EXIT.findings;
  }
}

function describe({ rollout, following, lagging, compared }: FollowReport): string {
  const { revision, active, candidates } = rollout;
  const trials = candidates.map(
    ({ version, mode, percent }) => `${version} in ${mode}${mode === 'canary' ? ` ${percent} %` : ''}`,
  );
  const trial = trials.length === 0 ? 'nothing on trial' : trials.join(', ');
  const lines = [`revision ${revision}: ${active.version} is active, ${trial}`];
  if (compared !== null) lines.push(`compared: ${compared}`);
  const [drawn] = candidates.filter(({ mode }) => mode === 'canary');
  if (drawn !== undefined) lines.push(answerText(drawn));
  if (following.length === 0) lines.push('no node follows');
  else lines.push(`${following.length} of ${following.length + lagging.length} nodes follow`);
  for (const node of lagging)
    lines.push(`does not follow: ${formatNodeName(node)}${node.trouble === null ? '' : `: ${node.trouble}`}`);
  return lines.join('\n');
}

/** What somebody said of the objective. */
function judgedBy(options: Readonly<Record<string, unknown>>) {
  const asked = TRIAL_OPTIONS.map((option) => [option.name, checked(option, options)] as const);
  try {
    return readGivenObjective(Object.fromEntries(asked));
  } catch (error) {
    throw error instanceof BadQuestion ? new UsageError(error.message) : error;
  }
}

/** What the experiment judges by, and when it may say something at the earliest. */
function answerText({ stageSince, objective }: Candidate): string {
  const judged = parseObjective(objective ?? null);
  if (judged === null) return 'its objective is damaged: begin the trial again to have it judged';
  const at = formatTime(findEarliestResult(stageSince, judged));
  const longer =
    judged.reversalDays === null ? ', later by the days that reversals take where some were reported' : '';
  return `judged by ${formatObjective(judged)}; the experiment answers at the earliest on ${at}${longer}`;
}

function goalInOptions(version: RuleVersion, options: RolloutOptions): Goal {
  const { canary, also, guard } = options;
  try {
    return parseGoal({
      version,
      mode: modeOf(options),
      percent: canary === undefined ? undefined : percentage(canary, '--canary'),
      guard: guard === undefined ? undefined : percentage(guard, '--guard'),
      also: also?.map(shareOf),
      judged: judgedBy({ ...options }),
    });
  } catch (error) {
    if (!(error instanceof BadGoal)) throw error;
    throw new UsageError(`--${flagOf(error.member === 'rates' ? 'rate' : error.member)} ${error.message}`);
  }
}

function modeOf({ shadow, canary, active }: RolloutOptions): Goal['mode'] {
  if (shadow === true) return 'shadow';
  if (active === true) return 'active';
  if (canary !== undefined) return 'canary';
  throw new UsageError('say where to: --shadow, --canary <percent> or --active');
}

function shareOf(text: string): Share {
  const [version = '', percent] = text.split(':');
  if (percent === undefined)
    throw new UsageError(`--also needs a version and its percent, like p2.v12:10, not "${text}"`);
  return { version: versionOf(version), percent: percentage(percent, '--also') };
}

function seenRevision(text: string | undefined): number | null {
  if (text === undefined) return null;
  if (/^[1-9]\d{0,14}$/.test(text)) return Number(text);
  throw new UsageError(`--revision must be a whole number from 1, not "${text}"`);
}

function percentage(text: string, option: string): number {
  const value = Number(text);
  if (/^\d+(\.\d+)?$/.test(text) && value > 0 && value <= 100) return value;
  throw new UsageError(`${option} must be a number above 0 and up to 100, not "${text}"`);
}

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
  const head = `On trial: ${version}  sha256:${digest}  ${mode}${mode === 'canary' ? ` ${percent} %` : ''} since ${formatTime(candidate.since)}`;
  const errors =
    trial.candidateErrors === 0
      ? ''
      : `\n  the candidate threw ${formatCount(trial.candidateErrors, 'time')}; the active version decided`;
  return mode === 'shadow'
    ? `${head}\n${describeShadow(trial)}${errors}`
    : `${head}\n${describeArms(trial, guardPoints)}${errors}`;
}

function describeShadow({ shadow: { compared, different, differences } }: TrialView): string {
  const part = formatShare(estimateShare(different, compared));
  const lines = [`  ${formatCount(compared, 'verdict')} compared, ${different} differ: ${part}`];
  for (const { change, count, sampleOrders } of differences.slice(0, SHOWN_DIFFERENCES)) {
    lines.push(`  ${String(count).padStart(6)}  ${change}  e.g. order ${sampleOrders.join(', ')}`);
  }
  return lines.join('\n');
}

function describeArms({ arms, shares, breach, gains }: TrialView, guardPoints: number | null): string {
  const clients = `by clients, each counted once by all of its verdicts: ${arms.active.clients.seen} active, ${arms.candidate.clients.seen} candidate`;
  const rows = shares.map(({ name, active, candidate }) => [
    `  ${name}`,
    formatShare(active),
    formatShare(candidate),
  ]);
  const outcomes = `  outcomes of clients: ${formatClientCounts(arms.active.clients)} active; ${formatClientCounts(arms.candidate.clients)} candidate`;
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

function nodesTable(nodes: readonly NodeView[], revision: number, now: number): string {
  const rows = nodes.map((node) => [
    `${node.host}/${node.pid}`,
    node.revision >= revision ? 'yes' : `no: ${node.trouble ?? 'not yet'}`,
    `${Math.max(0, Math.round((now - node.seenAt) / 1000))} s ago`,
    node.versions
      .map(({ version, digest, released }) => `${version} ${digest.slice(0, 8)}${released ? '' : ' draft'}`)
      .join(', '),
  ]);
  return formatTable(['NODE', 'FOLLOWS', 'SEEN', 'LOADED'], rows);
}

function historyTable(history: readonly RolloutEntry[]): string {
  const rows = history
    .toReversed()
    .map(({ at, who, action, from, to, percent, also = [], reason, emergency = false }) => [
      formatTime(at),
      who,
      `${action}${percent === undefined ? '' : ` ${percent} %`}${emergency ? ', emergency' : ''}`,
      [from === null ? to : `${from} -> ${to}`, ...also.map((one) => `${one.version} ${one.percent} %`)].join(
        ', ',
      ),
      reason,
    ]);
  return formatTable(['WHEN', 'WHO', 'WHAT', 'VERSION', 'REASON'], rows);
}
