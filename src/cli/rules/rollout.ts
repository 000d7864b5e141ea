import { type Command, Option } from 'commander';
import { actorOfUser } from '../../access/actor.ts';
import { readConfig } from '../../config.ts';
import {
  type FollowReport,
  nodeName,
  RolloutRefused,
  rollBack,
  rollOut,
  rolloutStatus,
} from '../../rollout/change-rollout.ts';
import { Fleet } from '../../rollout/fleet.ts';
import { whyUnguarded } from '../../rollout/guard.ts';
import { LoadedRules } from '../../rollout/loaded-rules.ts';
import type { Goal } from '../../rollout/rollout.ts';
import { ThreadedReader } from '../../rules/folder/rule-reader.ts';
import { isRuleVersion, RULE_VERSION_FORM } from '../../rules/rule-set.ts';
import { EXIT, UsageError } from '../exit.ts';
import { withOpenStore } from '../open-store.ts';
import { print, printError } from '../print.ts';
import { formatStatus } from './rollout-status.ts';

interface RolloutOptions {
  readonly shadow?: true;
  readonly canary?: string;
  readonly active?: true;
  readonly guard?: string;
  readonly revision?: string;
  readonly acceptDifference?: true;
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

  rules
    .command('rollout <version>')
    .description('bring a version into shadow, canary or active; returns when every node follows')
    .addOption(new Option('--shadow', 'decide on a copy and compare').conflicts(['canary', 'active']))
    .addOption(
      new Option('--canary <percent>', 'decide for so many percent of the clients').conflicts([
        'shadow',
        'active',
      ]),
    )
    .addOption(new Option('--active', 'decide for everybody').conflicts(['shadow', 'canary']))
    .option(
      '--guard <points>',
      'take a canary back by itself when its share of BLOCK, WAIT or bots leaves the active one by more points; needs a canary below 100 percent',
    )
    .requiredOption('--reason <text>', 'why, for the history')
    .option('--revision <number>', SEEN)
    .option(
      '--accept-difference',
      'bring it to more than 20 percent although it answers much otherwise than the active version',
    )
    .option('--json', 'print one JSON object')
    .action((version: string, options: RolloutOptions) => rollout(version, options));

  rules
    .command('rollback')
    .description('take the candidate back; without one, return to the version before')
    .requiredOption('--reason <text>', 'why, for the history')
    .option('--revision <number>', SEEN)
    .option('--json', 'print one JSON object')
    .action((options: RollbackOptions) => rollback(options));
}

const SEEN = 'refuse when the rollout is not at this revision any more, as "rules status" showed it';

async function status(json: boolean): Promise<void> {
  const { seen, now } = await withOpenStore(async (store, clock) => ({
    seen: await rolloutStatus(new Fleet(store), { platform: null, decisionOf: (id) => store.decision(id) }),
    now: clock(),
  }));
  print(json ? JSON.stringify(seen) : formatStatus(seen, now));
}

async function rollout(version: string, options: RolloutOptions): Promise<void> {
  if (!isRuleVersion(version))
    throw new UsageError(`a rule set is named ${RULE_VERSION_FORM}, unlike "${version}"`);
  const goal = goalOf(options);
  const revision = seenRevision(options.revision);
  const { rulesDir } = readConfig();
  const rules = await LoadedRules.read(rulesDir, new ThreadedReader(rulesDir));
  try {
    await report(options.json === true, (fleet, at) => {
      const acceptDifference = options.acceptDifference === true;
      const change = { who: actorOfUser(), at, reason: options.reason, revision, acceptDifference };
      return rollOut(fleet, rules, version, goal, change);
    });
  } finally {
    await rules.close();
  }
}

async function rollback({ reason, json, ...options }: RollbackOptions): Promise<void> {
  const revision = seenRevision(options.revision);
  await report(json === true, (fleet, at) =>
    rollBack(fleet, readConfig().rulesDir, { who: actorOfUser(), at, reason, revision }),
  );
}

async function report(
  json: boolean,
  change: (fleet: Fleet, at: number) => Promise<FollowReport>,
): Promise<void> {
  try {
    const done = await withOpenStore((store, clock) => change(new Fleet(store), clock()));
    print(json ? JSON.stringify(done) : describe(done));
    if (done.lagging.length > 0 || done.following.length === 0) process.exitCode = EXIT.findings;
  } catch (error) {
    if (!(error instanceof RolloutRefused)) throw error;
    printError(`refused: ${error.message}`);
    process.exitCode = EXIT.findings;
  }
}

function describe({ rollout, following, lagging, compared }: FollowReport): string {
  const { revision, active, candidate } = rollout;
  const trial =
    candidate === null
      ? 'nothing on trial'
      : `${candidate.version} in ${candidate.mode}${candidate.mode === 'canary' ? ` ${candidate.percent} %` : ''}`;
  const lines = [`revision ${revision}: ${active.version} is active, ${trial}`];
  if (compared !== null) lines.push(`compared: ${compared}`);
  if (following.length === 0) lines.push('no node follows');
  else lines.push(`${following.length} of ${following.length + lagging.length} nodes follow`);
  for (const node of lagging)
    lines.push(`does not follow: ${nodeName(node)}${node.trouble === null ? '' : `: ${node.trouble}`}`);
  return lines.join('\n');
}

function goalOf({ shadow, canary, active, guard }: RolloutOptions): Goal {
  if (guard !== undefined && canary === undefined) throw new UsageError('--guard goes only with --canary');
  if (shadow === true) return { mode: 'shadow' };
  if (active === true) return { mode: 'active' };
  if (canary === undefined) throw new UsageError('say where to: --shadow, --canary <percent> or --active');
  const percent = percentage(canary, '--canary');
  if (guard === undefined) return { mode: 'canary', percent, guardPoints: null };
  const refusal = whyUnguarded(percent);
  if (refusal !== null) throw new UsageError(`--guard ${refusal}`);
  return { mode: 'canary', percent, guardPoints: percentage(guard, '--guard') };
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
