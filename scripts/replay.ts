import { Command, CommanderError, InvalidArgumentError } from 'commander';
import { formatCount } from '#base/count-text.ts';
import { ListenError } from '#checkout/http/server/listener.ts';
import { NoUsableRuleSet } from '#checkout/rollout/loaded-rules.ts';
import { ConfigError } from '#config.ts';
import { findNearestName } from '#decision/rules/problem.ts';
import { StoreUnavailable } from '#state/store-errors.ts';
import { EXIT_CODES, toExitCode } from '#workbench/commands/exit.ts';
import { createProgressBar } from '#workbench/commands/print.ts';
import { CSV_MEMBERS } from './replay/csv-payments.ts';
import { UnexpectedAnswer } from './replay/driver.ts';
import { InputError } from './replay/recorded-payments.ts';
import { replay } from './replay/replay.ts';
import { formatReplayReport } from './replay/report.ts';
import { summarizeReplay } from './replay/summary.ts';

/** A person ended the replay. The exit code is 128 plus the signal's number, as a shell expects. */
class Interrupted extends Error {
  override readonly name = 'Interrupted';
  readonly exitCode: number;

  constructor(signal: NodeJS.Signals, number: number) {
    super(`${signal} ended the replay before it was complete`);
    this.exitCode = 128 + number;
  }
}

/**
 * Runs `npm run replay -- FILE.ndjson [--data-dir FOLDER] [--json]`, which sends recorded payments to the service.
 * The service's clock follows the times of the data.
 */
async function main(): Promise<void> {
  const program = new Command('replay')
    .description('Replays recorded payments, and prints what these rules would have answered')
    .argument(
      '<file>',
      'a .csv file, or NDJSON with one recorded payment a line; see scripts/replay/README.md',
    )
    .option(
      '--column <member=heading>',
      'the column of a CSV file that holds a member, like clientIdKey=customer; may be repeated',
      collectMembers,
    )
    .option(
      '--constant <member=value>',
      'the value of a member in every row of a CSV file, like method=card; may be repeated',
      collectMembers,
    )
    .option(
      '--value <member:text=value>',
      'what a text in a CSV file stands for, like outcome:paid=PAID; may be repeated',
      collectMemberTexts,
    )
    .option(
      '--data-dir <folder>',
      'keep the store in this folder, for the commands "journal export" and "decisions find"',
    )
    .option('--json', 'print one JSON object')
    .exitOverride()
    .showHelpAfterError()
    .action((path: string, options: Options) => run(path, options));
  try {
    await program.parseAsync();
  } catch (error) {
    process.exitCode = explain(error);
  }
}

/** Adds `NAME=VALUE` to the pairs of an option that may be given several times. */
function collectPairs(text: string, pairs: Pairs = new Map()): Pairs {
  const at = text.indexOf('=');
  if (at < 1 || at === text.length - 1) throw new InvalidArgumentError('It must look like NAME=VALUE.');
  return new Map([...pairs, [text.slice(0, at), text.slice(at + 1)]]);
}

/** Adds `MEMBER=VALUE`. An unknown member is refused, because it would change nothing. */
function collectMembers(text: string, pairs?: Pairs): Pairs {
  const collected = collectPairs(text, pairs);
  for (const member of collected.keys()) requireMember(member);
  return collected;
}

/** Adds `MEMBER:TEXT=VALUE`. */
function collectMemberTexts(text: string, pairs?: Pairs): Pairs {
  const collected = collectPairs(text, pairs);
  for (const replaced of collected.keys()) {
    const [member = '', ...rest] = replaced.split(':');
    if (rest.join(':') === '') throw new InvalidArgumentError('It must look like MEMBER:TEXT=VALUE.');
    requireMember(member);
  }
  return collected;
}

function requireMember(member: string): void {
  if (CSV_MEMBERS.includes(member)) return;
  const nearest = findNearestName(member, CSV_MEMBERS);
  const meant = nearest === null ? '' : ` Did you mean "${nearest}"?`;
  throw new InvalidArgumentError(
    `There is no member "${member}".${meant} The members are ${CSV_MEMBERS.join(', ')}.`,
  );
}

type Pairs = ReadonlyMap<string, string>;

interface Options {
  readonly column?: Pairs;
  readonly constant?: Pairs;
  readonly value?: Pairs;
  readonly dataDir?: string;
  readonly json?: true;
}

async function run(path: string, options: Options): Promise<void> {
  const { column = new Map(), constant = new Map(), value = new Map(), dataDir, json } = options;
  const progress = await createProgressBar();
  const settings = {
    env: process.env,
    dataDir: dataDir ?? null,
    mapping: { columns: column, constants: constant, values: value },
    signal: createInterruption(),
    onProgress: progress.show,
  };
  const replayed = await replay(path, settings).finally(() => progress.stop());
  const summary = summarizeReplay(replayed);
  console.log(json === true ? JSON.stringify(summary) : formatReplayReport(path, replayed, summary));
  const { badLines } = replayed;
  if (badLines.length === 0) return;
  for (const line of badLines.slice(0, BAD_LINES_SHOWN)) console.error(line);
  const others = badLines.length - BAD_LINES_SHOWN;
  if (others > 0) console.error(`and ${formatCount(others, 'more line')} that could not be replayed`);
  process.exitCode = EXIT_CODES.findings;
}

const BAD_LINES_SHOWN = 20;

/**
 * Returns a signal that aborts on SIGINT and SIGTERM. A signal may come twice, from the terminal and from npm.
 * Cleaning up finishes all the same.
 */
function createInterruption(): AbortSignal {
  const controller = new AbortController();
  process.on('SIGINT', () => controller.abort(new Interrupted('SIGINT', 2)));
  process.on('SIGTERM', () => controller.abort(new Interrupted('SIGTERM', 15)));
  return controller.signal;
}

/** Prints what went wrong and returns the exit code. Bugs keep their stack. */
function explain(error: unknown): number {
  if (error instanceof CommanderError) return toExitCode(error);
  const expected = [InputError, UnexpectedAnswer, Interrupted, ConfigError, NoUsableRuleSet, ListenError];
  const isExpected = [...expected, StoreUnavailable].some((kind) => error instanceof kind);
  console.error(isExpected && error instanceof Error ? `error: ${error.message}` : error);
  if (error instanceof Interrupted) return error.exitCode;
  return error instanceof InputError ? EXIT_CODES.usage : EXIT_CODES.environment;
}

await main();
