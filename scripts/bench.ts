import { Command, CommanderError } from 'commander';
import { commanderExit, EXIT } from '../src/cli/exit.ts';
import { startStandalone } from '../test/servers/redis.ts';
import { temporaryDirectory } from '../test/servers/temporary-directory.ts';
import { issueKey } from '../test/service/issued-key.ts';
import { type Figure, figureTable, joinRuns, judge, notMeasured, ratiosFirst } from './bench/figure.ts';
import { describeMachine, thisMachine } from './bench/load.ts';
import { measureArchive } from './bench/measures/archive/archive.ts';
import { measureBacktest } from './bench/measures/archive/backtest.ts';
import { measureOrders } from './bench/measures/archive/orders.ts';
import { measureCost } from './bench/measures/cost.ts';
import { measureGrowth } from './bench/measures/growth.ts';
import { measureProcesses } from './bench/measures/processes.ts';
import { measureRoundTrips } from './bench/measures/round-trips.ts';
import { measureRules } from './bench/measures/rules.ts';
import { measureShipping } from './bench/measures/shipping.ts';
import { measureSqlite } from './bench/measures/sqlite.ts';
import { measureTruth } from './bench/measures/truth/truth.ts';

const PARTS = [
  'rules',
  'cost',
  'processes',
  'sqlite',
  'growth',
  'archive',
  'backtest',
  'orders',
  'shipping',
  'truth',
] as const;

type Part = (typeof PARTS)[number];

/** How much is measured. */
const FULL = {
  rounds: 5,
  seconds: 3,
  sampleMs: 100,
  clients: 200_000,
  hotVerdicts: 10_000,
  sharing: 100_000,
  decisions: 1_000_000,
  searched: 10_000_000,
  shippingRounds: 4,
  draws: 700,
  seeds: 20,
  payers: 1000,
};

type Effort = { readonly [Measure in keyof typeof FULL]: number };

const QUICK: Effort = {
  rounds: 2,
  seconds: 1,
  sampleMs: 20,
  clients: 20_000,
  hotVerdicts: 1000,
  sharing: 5000,
  decisions: 50_000,
  searched: 100_000,
  shippingRounds: 1,
  draws: 70,
  seeds: 2,
  payers: 500,
};

interface Options {
  readonly json?: true;
  readonly quick?: true;
  readonly archive?: string;
  readonly runs: number;
  readonly parts: readonly Part[];
}

/** `npm run bench [-- --quick] [--json] [--runs N] [--parts rules,cost]`: one table. */
async function main(): Promise<void> {
  const program = new Command('bench')
    .description('Measures the service beside what it is compared with; see scripts/bench/README.md')
    .option('--quick', 'a run of about a minute: fewer rounds, smaller stores')
    .option('--json', 'print one JSON object')
    .option('--archive <folder>', 'keep the made-up archive there, and take it when it is there already')
    .option('--runs <count>', 'do all of it so often, and show the spread', wholeNumber, 1)
    .option('--parts <list>', `what to measure, of ${PARTS.join(',')}`, partList, PARTS)
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
  const effort = quick ? QUICK : FULL;
  const machine = thisMachine();
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.once(signal, () => process.exit(EXIT.environment));
  const measured: (readonly Figure[])[] = [];
  for (let count = 0; count < runs; count++) measured.push(await measure(parts, effort, archive));
  const figures = joinRuns(measured);
  if (json) {
    const judged = ratiosFirst(figures).map((figure) => ({ ...figure, judgement: judge(figure) }));
    console.log(JSON.stringify({ machine, quick: quick === true, figures: judged }));
  } else {
    console.log(`${describeMachine(machine)}${quick ? ', quick' : ''}\n\n${figureTable(figures)}`);
  }
}

/** Figures as they become known, or all of a part at its end. */
type FiguresOfPart = AsyncGenerator<Figure> | Promise<readonly Figure[]>;

async function measure(
  parts: readonly Part[],
  effort: Effort,
  folder = temporaryDirectory(),
): Promise<readonly Figure[]> {
  const onProgress = (text: string) => process.stderr.write(`${text}\n`);
  const dataDir = temporaryDirectory();
  const figures: Figure[] = [];
  const made = { ...effort, folder, onProgress };
  const measures: Readonly<Record<Part, () => FiguresOfPart>> = {
    rules: () => measureRules(effort.sampleMs),
    cost: () => measureOnRedis(effort, dataDir, onProgress),
    processes: () => measureProcesses({ ...effort, dataDir, onProgress }),
    sqlite: () => measureSqlite({ ...effort, dataDir, onProgress }),
    growth: () => measureGrowth({ ...effort, onProgress }),
    archive: () => measureArchive(made),
    backtest: () => measureBacktest(made),
    orders: () => measureOrders(made),
    shipping: () => measureShipping({ ...effort, onProgress }),
    truth: () => measureTruth(effort),
  };
  for (const part of parts) {
    onProgress(`${part}: starting`);
    try {
      // Printed as soon as it is known: a part may take minutes, and its last step may fail.
      for await (const figure of await measures[part]()) {
        figures.push(figure);
        onProgress(figureTable([figure]).split('\n').at(-1) ?? '');
      }
    } catch (error) {
      // The figures of the other parts took minutes.
      console.error(`${part}: could not be measured`, error);
      figures.push(notMeasured(part, error));
      process.exitCode = EXIT.environment;
    }
  }
  return figures;
}

async function measureOnRedis(
  effort: Effort,
  dataDir: string,
  onProgress: (text: string) => void,
): Promise<readonly Figure[]> {
  const redis = await startStandalone();
  try {
    const redisPort = redis.nodes[0]?.port ?? 0;
    const accessKey = await issueKey({ redisUrl: redis.url, dataDir });
    const cost = await measureCost({ ...effort, redisPort, dataDir, accessKey, onProgress });
    onProgress('cost: counting commands');
    const roundTrips = await measureRoundTrips(redisPort, dataDir, accessKey);
    return [...cost, ...roundTrips];
  } finally {
    await redis.stop();
  }
}

function wholeNumber(text: string): number {
  if (/^[1-9]\d{0,7}$/.test(text)) return Number(text);
  throw new CommanderError(
    EXIT.usage,
    'bench.number',
    `error: not a whole number from 1 to 99999999: ${text}`,
  );
}

function partList(text: string): readonly Part[] {
  const asked = text.split(',');
  const unknown = asked.find((name) => !PARTS.some((part) => part === name));
  if (unknown === undefined) return PARTS.filter((part) => asked.includes(part));
  throw new CommanderError(EXIT.usage, 'bench.part', `error: "${unknown}" is not one of ${PARTS.join(', ')}`);
}

/** Prints what went wrong and gives the exit code; a missed target is a finding, not a failure. */
function explain(error: unknown): number {
  if (error instanceof CommanderError) {
    if (error.code.startsWith('bench.')) console.error(error.message);
    return commanderExit(error);
  }
  console.error(error);
  return EXIT.environment;
}

await main();
