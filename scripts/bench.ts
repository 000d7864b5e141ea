import { Command, CommanderError, Option } from 'commander';
import { EXIT_CODES, toExitCode } from '#workbench/commands/exit.ts';
import { startStandalone } from '../test/servers/redis.ts';
import { temporaryDirectory } from '../test/servers/temporary-directory.ts';
import { issueKey } from '../test/service/issued-key.ts';
import {
  createFailedFigure,
  type Figure,
  formatFigureTable,
  joinRuns,
  judge,
  sortRatiosFirst,
} from './bench/figure.ts';
import { describeMachine, readMachine } from './bench/load.ts';
import { measureArchiveSize } from './bench/measures/archive/archive.ts';
import { measureBacktest } from './bench/measures/archive/backtest.ts';
import { measureOrderLookup } from './bench/measures/archive/orders.ts';
import { measureArrivals } from './bench/measures/arrivals.ts';
import { measureCost } from './bench/measures/cost.ts';
import { measureCostOfMoreClients } from './bench/measures/growth.ts';
import { measureRedisWorkPerVerdict } from './bench/measures/instructions.ts';
import { measureKeptDecisions } from './bench/measures/kept-decisions.ts';
import { measureProcesses } from './bench/measures/processes.ts';
import { measureRoundTrips } from './bench/measures/round-trips.ts';
import { measureRules } from './bench/measures/rules.ts';
import { measureShipping } from './bench/measures/shipping.ts';
import { measureSqlite } from './bench/measures/sqlite.ts';
import { measureTruth } from './bench/measures/truth/truth.ts';
import { type BenchPlan, FULL_EFFORT, QUICK_EFFORT } from './bench/plan.ts';

/** Measures one part. It yields figures as they become known, or returns all figures at the end. */
type Measure = (plan: BenchPlan) => AsyncGenerator<Figure> | Promise<readonly Figure[]>;

const PARTS: ReadonlyMap<string, Measure> = new Map<string, Measure>([
  ['rules', measureRules],
  ['cost', measureOnRedis],
  ['arrivals', measureArrivals],
  ['processes', measureProcesses],
  ['sqlite', measureSqlite],
  ['growth', measureCostOfMoreClients],
  ['decisions', measureKeptDecisions],
  ['archive', measureArchiveSize],
  ['backtest', measureBacktest],
  ['orders', measureOrderLookup],
  ['shipping', measureShipping],
  ['truth', measureTruth],
]);

interface Options {
  readonly json?: true;
  readonly quick?: true;
  readonly archive?: string;
  readonly runs: number;
  readonly parts: readonly string[];
}

/** Runs `npm run bench [-- --quick] [--json] [--runs N] [--parts rules,cost]`, and prints one table. */
async function main(): Promise<void> {
  const program = new Command('bench')
    .description(
      'Measures the service, beside the servers that it is compared with; see scripts/bench/README.md',
    )
    .option('--quick', 'take a few minutes: fewer rounds and smaller stores, not for the record')
    .option('--json', 'print the figures as one JSON object')
    .option('--archive <folder>', 'keep the made-up archive in this folder, or use the one that is there')
    .option(
      '--runs <count>',
      'repeat everything this many times, and show the lowest and the highest value',
      parseWholeNumber,
      1,
    )
    .addOption(
      new Option('--parts <list>', `parts to measure, of ${[...PARTS.keys()].join(',')}`)
        .argParser(parseParts)
        .default([...PARTS.keys()], 'all'),
    )
    .exitOverride()
    .showHelpAfterError()
    .action(run);
  try {
    await program.parseAsync();
  } catch (error) {
    process.exitCode = explain(error);
  }
  // Pooled connections of finished measurements must not keep the process alive.
  process.exit();
}

async function run({ json, quick, runs, parts, archive }: Options): Promise<void> {
  const machine = readMachine();
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.once(signal, () => process.exit(EXIT_CODES.environment));
  const measured: (readonly Figure[])[] = [];
  for (let count = 0; count < runs; count++) {
    const plan = {
      ...(quick ? QUICK_EFFORT : FULL_EFFORT),
      dataDir: temporaryDirectory(),
      archivesDir: archive ?? temporaryDirectory(),
      onProgress: (text: string) => process.stderr.write(`${text}\n`),
    };
    measured.push(await measure(parts, plan));
  }
  const figures = joinRuns(measured);
  if (json) {
    const judged = sortRatiosFirst(figures).map((figure) => ({ ...figure, judgement: judge(figure) }));
    console.log(JSON.stringify({ machine, quick: quick === true, figures: judged }));
  } else {
    console.log(`${describeMachine(machine)}${quick ? ', quick' : ''}\n\n${formatFigureTable(figures)}`);
  }
}

async function measure(parts: readonly string[], plan: BenchPlan): Promise<readonly Figure[]> {
  const figures: Figure[] = [];
  for (const [part, measured] of PARTS) {
    if (!parts.includes(part)) continue;
    plan.onProgress(`${part}: begins`);
    try {
      // A figure is printed as soon as it is known, because a part may take minutes and its last step may fail.
      for await (const figure of await measured(plan)) {
        figures.push(figure);
        plan.onProgress(formatFigureTable([figure]).split('\n').at(-1) ?? '');
      }
    } catch (error) {
      // The other parts go on, because their figures took minutes.
      console.error(`${part}: could not be measured to its end; the other parts go on`, error);
      figures.push(createFailedFigure(part, error));
      process.exitCode = EXIT_CODES.environment;
    }
  }
  return figures;
}

async function measureOnRedis(plan: BenchPlan): Promise<readonly Figure[]> {
  const redis = await startStandalone();
  try {
    const place = { redisUrl: redis.url, dataDir: plan.dataDir };
    const onRedis = { ...place, redisPort: redis.nodes[0]?.port ?? 0, accessKey: await issueKey(place) };
    const cost = await measureCost(plan, onRedis);
    plan.onProgress('cost: counting Redis commands');
    return [...cost, ...(await measureRoundTrips(onRedis)), ...(await measureRedisWorkPerVerdict())];
  } finally {
    await redis.stop();
  }
}

function parseWholeNumber(text: string): number {
  if (/^[1-9]\d{0,7}$/.test(text)) return Number(text);
  throw new CommanderError(
    EXIT_CODES.usage,
    'bench.number',
    `error: --runs must be a whole number from 1 to 99999999, not "${text}"`,
  );
}

function parseParts(text: string): readonly string[] {
  const asked = text.split(',');
  const unknown = asked.find((name) => !PARTS.has(name));
  if (unknown === undefined) return asked;
  const all = [...PARTS.keys()].join(', ');
  throw new CommanderError(
    EXIT_CODES.usage,
    'bench.part',
    `error: there is no part "${unknown}"; choose from ${all}`,
  );
}

/** Prints what went wrong and returns the exit code. A missed target is a finding, not a failure. */
function explain(error: unknown): number {
  if (error instanceof CommanderError) {
    if (error.code.startsWith('bench.')) console.error(error.message);
    return toExitCode(error);
  }
  console.error(error);
  return EXIT_CODES.environment;
}

await main();
