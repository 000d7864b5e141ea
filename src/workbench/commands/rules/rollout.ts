import { type Command, Option } from 'commander';
import { createMomentWriter } from '#base/shapes.ts';
import { Fleet } from '#checkout/rollout/fleet.ts';
import type { VersionShare } from '#checkout/rollout/rollout.ts';
import { recallRollout } from '#checkout/rollout/rollout-memory.ts';
import { readConfig } from '#config.ts';
import { describeBadVersionName, isRuleVersion, type RuleVersion } from '#decision/rules/rule-set.ts';
import { readGivenObjective, TRIAL_OBJECTIVE_OPTIONS } from '#history/evidence/objective-options.ts';
import { BadQuestion } from '#history/evidence/question.ts';
import { formatOsUserActor } from '#workbench/access/actors.ts';
import { EXIT_CODES, StateForbidsChangeError, UsageError } from '#workbench/commands/exit.ts';
import { withOpenStore } from '#workbench/commands/open-store.ts';
import { addOperationCommand, type CommandOptions } from '#workbench/commands/operation-command.ts';
import { parseReason, toOptionName } from '#workbench/commands/options.ts';
import { print } from '#workbench/commands/print.ts';
import { changeRollout, readRollout, rollBackRollout } from '#workbench/platform/rules/rollout.ts';
import type { RolloutGoal } from '#workbench/rollout/advance.ts';
import { FollowReportSchema, RolloutRefused } from '#workbench/rollout/change-rollout.ts';
import { GoalError, parseGoal } from '#workbench/rollout/goal.ts';
import { restoreRolloutInStore } from '#workbench/rollout/restore-rollout.ts';
import { createCommandOption, toUsageError } from './evidence.ts';
import {
  formatRolloutChange,
  formatRolloutStatus,
  type RolloutChangeAnswer,
  type RolloutStatusAnswer,
} from './rollout-text.ts';

/** Adds `rules status`, `rollout` and `rollback`, which show and change which version decides. */
export function addRolloutCommands(rules: Command): void {
  addOperationCommand<RolloutStatusAnswer>(rules, {
    operation: readRollout,
    formatAnswer: (status, { parts }) => formatRolloutStatus(status, parts.clock()),
  });

  addOperationCommand<RolloutChangeAnswer>(rules, {
    operation: changeRollout,
    needs: { rules: true, archive: true },
    omittedInputs: ['mode', 'percent', 'also', 'rates'],
    options: [
      new Option('--shadow', 'decide on copies of requests, and only compare').conflicts([
        'canary',
        'active',
      ]),
      new Option('--canary <percent>', 'decide for this percentage of the clients').conflicts([
        'shadow',
        'active',
      ]),
      new Option(
        '--also <version:percent>',
        'another candidate in the same draw, like p2.v12:10; may be repeated. Trials of candidates that are not named end',
      ).argParser((text: string, all: readonly string[] = []) => [...all, text]),
      new Option('--active', 'decide for everybody').conflicts(['shadow', 'canary']),
      ...TRIAL_OBJECTIVE_OPTIONS.filter(({ name }) => name === 'rate').map(createCommandOption),
    ],
    toInputs: readGoal,
    formatAnswer: formatRolloutChange,
    afterPrint: endOfChange,
  });

  addOperationCommand<RolloutChangeAnswer>(rules, {
    operation: rollBackRollout,
    optionalArguments: ['version'],
    toInputs: ({ version }) => (version === undefined ? {} : { version: parseVersion(String(version)) }),
    formatAnswer: formatRolloutChange,
    afterPrint: endOfChange,
  });
}

/** Adds `rules restore-rollout`, for a store that lost the rollout that its nodes follow. */
export function addRestoreRolloutCommand(rules: Command): void {
  rules
    .command('restore-rollout')
    .summary('write the rollout that nodes follow back to a store that has lost it')
    .description(
      'Writes the rollout that nodes follow back to a store that has lost it or holds an older one. Run it with the DATA_DIR of a node.',
    )
    .requiredOption('--reason <text>', 'why, for the history')
    .option('--json', 'print one JSON object')
    .action(async ({ reason, json }: { readonly reason: string; readonly json?: true }) => {
      const following = await restore(parseReason(reason));
      print(json === true ? JSON.stringify(following) : formatRolloutChange(following));
      endOfChange(following);
    });
}

async function restore(reason: string): Promise<RolloutChangeAnswer> {
  try {
    const done = await withOpenStore((store, clock) => {
      const remembered = recallRollout(readConfig().dataDir);
      const isOurs = remembered?.installation === store.installation.id;
      const rollout = isOurs ? remembered.rollout : null;
      return restoreRolloutInStore(new Fleet(store), rollout, {
        who: formatOsUserActor(),
        reason,
        at: clock(),
      });
    });
    return JSON.parse(JSON.stringify(createMomentWriter(FollowReportSchema)(done)));
  } catch (error) {
    throw error instanceof RolloutRefused ? new StateForbidsChangeError(error.message) : error;
  }
}

/** Sets the exit code for findings if a node does not follow the change, or if no node follows it. */
function endOfChange({ following, lagging }: RolloutChangeAnswer): void {
  if (lagging.length > 0 || following.length === 0) process.exitCode = EXIT_CODES.findings;
}

function parseVersion(text: string): RuleVersion {
  if (isRuleVersion(text)) return text;
  throw new UsageError(describeBadVersionName(text));
}

/**
 * Returns the members of the request's body that describe the wanted rollout. They are checked before the store is
 * opened.
 */
function readGoal(options: CommandOptions, given: Readonly<Record<string, unknown>>) {
  const { canary, also, rate } = options;
  const version = parseVersion(String(options['version']));
  const asked = {
    mode: readMode(options),
    percent: canary === undefined ? undefined : parsePercentage(String(canary), '--canary'),
    also: Array.isArray(also) ? also.map((one) => parseShare(String(one))) : undefined,
    ...(rate === undefined ? {} : readObjective({ rate })),
  };
  const guard = typeof given['guard'] === 'number' ? given['guard'] : undefined;
  const { mode, percent, also: others, ...rates } = asked;
  const judged = {
    ...Object.fromEntries(JUDGED.flatMap((name) => (given[name] === undefined ? [] : [[name, given[name]]]))),
    ...rates,
  };
  try {
    parseGoal({ version, mode, percent, guard, also: others, judged });
  } catch (error) {
    if (!(error instanceof GoalError)) throw error;
    throw new UsageError(
      `--${toOptionName(error.member === 'rates' ? 'rate' : error.member)} ${error.message}`,
    );
  }
  return { version, ...asked };
}

/** The members of the objective (how much a payer is worth) that have options of their own. */
const JUDGED = TRIAL_OBJECTIVE_OPTIONS.map(({ name }) => name).filter((name) => name !== 'rate');

function readObjective(options: Readonly<Record<string, unknown>>) {
  try {
    return readGivenObjective(options);
  } catch (error) {
    throw error instanceof BadQuestion ? toUsageError(error, TRIAL_OBJECTIVE_OPTIONS) : error;
  }
}

function readMode({ shadow, canary, active }: CommandOptions): RolloutGoal['mode'] {
  if (shadow === true) return 'shadow';
  if (active === true) return 'active';
  if (canary !== undefined) return 'canary';
  throw new UsageError('name the stage: --shadow, --canary <percent> or --active');
}

function parseShare(text: string): VersionShare {
  const [version = '', percent] = text.split(':');
  if (percent === undefined)
    throw new UsageError(`--also needs a version and its percent, like p2.v12:10, not "${text}"`);
  return { version: parseVersion(version), percent: parsePercentage(percent, '--also') };
}

function parsePercentage(text: string, option: string): number {
  const value = Number(text);
  if (/^\d+(\.\d+)?$/.test(text) && value > 0 && value <= 100) return value;
  throw new UsageError(`${option} must be a number above 0 and up to 100, not "${text}"`);
}
