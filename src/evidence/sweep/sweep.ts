import { NamedError } from '../../named-error.ts';
import { parseDuration } from '../../rules/duration.ts';
import { type Constant, constantAtPath, withConstants } from '../../rules/folder/constant.ts';
import { draftOf } from '../../rules/folder/draft.ts';
import type { RuleFiles } from '../../rules/parse/parse.ts';
import type { Problem } from '../../rules/problem.ts';
import { BackgroundWork } from '../../work/background-work.ts';
import { atOnce } from '../../work/turns.ts';
import type { OnProgress } from '../backtest/backtest.ts';
import type { OutcomeAssumption } from '../backtest/lives.ts';
import type { Evidence } from '../source/evidence.ts';
import { reversalsOf } from '../source/reversals.ts';
import type { SweepReport } from './sweep-report.ts';
import type { SweepWorks } from './sweep-thread.ts';
import { halfOfOrders, paretoFront, type TrialResult } from './trial.ts';

interface Sweep {
  readonly version: string;
  readonly combinations: readonly Combination[];
  readonly outcomes: OutcomeAssumption;
  /** How many work at once. */
  readonly threads: number;
  readonly onProgress?: OnProgress;
  /** Ends the work early, with the signal's reason thrown. */
  readonly signal?: AbortSignal;
}

const THREAD = new URL('./sweep-thread.ts', import.meta.url);

/** What one thread may keep, besides its engine. */
const THREAD_MIB_MAX = 2048;

/** Replays history once for each combination, several at once, and compares what they do to the orders. */
export async function sweep(evidence: Evidence, ask: Sweep): Promise<SweepReport> {
  const { version, combinations, outcomes } = ask;
  const splitAt = await halfOfOrders(evidence);
  const results = await runThreads(evidence, ask, splitAt);
  const [first] = results;
  if (first === undefined) throw new Error('a sweep needs at least one combination');
  const tried = results.flatMap(({ tradeOffs }) => tradeOffs);
  const heldOut = results.flatMap((result) => result.heldOut);
  const opened = results.flatMap((result) => result.opened);
  const stopped = results.flatMap((result) => result.stopped);
  const [earlier, later] = [
    paretoFront(tried.map((one) => one.earlier)),
    paretoFront(tried.map((one) => one.later)),
  ];
  return {
    kind: 'sweep',
    version,
    outcomes,
    span: evidence.span,
    splitAt,
    parts: first.parts,
    reversals: await reversalsOf(evidence),
    emptyLists: first.emptyLists,
    combinations: tried.flatMap((tradeOff, place) => {
      const combination = combinations[place];
      if (combination === undefined) return [];
      const { values, present } = combination;
      const onFront = { earlier: earlier[place] === true, later: later[place] === true };
      return [
        {
          values,
          present,
          ...tradeOff,
          onFront,
          heldOut: heldOut[place] ?? [],
          opened: opened[place] ?? 0,
          stopped: stopped[place] ?? null,
        },
      ];
    }),
  };
}

/** The results of all threads in the order of the combinations. */
async function runThreads(evidence: Evidence, ask: Sweep, splitAt: number): Promise<readonly TrialResult[]> {
  const { combinations, version, outcomes, signal } = ask;
  signal?.throwIfAborted();
  const threads = Math.max(1, Math.min(ask.threads, combinations.length));
  const shares = sharesOf(combinations, threads);
  const present = combinations.find((combination) => combination.present)?.files ?? new Map();
  const done = shares.map(() => 0);
  const all = evidence.span.decisions * shares.length;
  const turns = atOnce(shares.length);
  const elsewhere = new BackgroundWork<SweepWorks>(THREAD, {
    where: 'thread',
    memoryMiB: THREAD_MIB_MAX,
    turns,
  });
  try {
    return await Promise.all(
      shares.map((share, place) => {
        const tried = share.map(({ files }) => files);
        const where = { ...evidence.ask, threads: 1 };
        const onProgress = (some: number) => {
          done[place] = some;
          ask.onProgress?.(
            done.reduce((sum, one) => sum + one, 0),
            all,
          );
        };
        const task = { ask: where, version, present, tried, outcomes, splitAt };
        return elsewhere.run('try', task, { ...(signal === undefined ? {} : { signal }), onProgress });
      }),
    );
  } finally {
    // One that failed takes the others with it.
    await elsewhere.close();
  }
}

function sharesOf(
  combinations: readonly Combination[],
  threads: number,
): readonly (readonly Combination[])[] {
  const size = Math.ceil(combinations.length / threads);
  return Array.from({ length: Math.ceil(combinations.length / size) }, (_, share) =>
    combinations.slice(share * size, (share + 1) * size),
  );
}

/** The sweep is not possible as asked for; the message says what is wrong and what is allowed. */
export class BadVariation extends NamedError {}

/** One constant and the values that it is given in turn, as they would stand in the file. */
export interface Variation {
  readonly constant: Constant;
  readonly values: readonly string[];
}

/** One choice of values: a rule set to try. */
interface Combination {
  /** By the paths of the constants. */
  readonly values: Readonly<Record<string, string>>;
  /** The values are those of the version that is varied. */
  readonly present: boolean;
  readonly files: RuleFiles;
}

/** The most rule sets of one sweep. */
const COMBINATIONS_MAX = 200;

const VARY_FORM =
  'PATH=VALUES, like groups.blocked-by-unpaid-chain.unpaidChain=2..8 or ladder.levels[0]=15s,30s,60s';

/** `PATH=2..8`, `PATH=2..8:2` (every second one) or `PATH=15s,30s`. Throws BadVariation or UnknownConstant. */
export function parseVariation(files: RuleFiles, text: string): Variation {
  const at = text.indexOf('=');
  const [path, list] = [text.slice(0, at).trim(), text.slice(at + 1).trim()];
  if (at < 1 || list === '') throw new BadVariation(`--vary is ${VARY_FORM}, unlike "${text}"`);
  const constant = constantAtPath(files, path);
  const values = valuesOf(list, text);
  return { constant, values: [...new Set(values)] };
}

function valuesOf(list: string, text: string): readonly string[] {
  const range = /^(-?\d+)\.\.(-?\d+)(?::(\d+))?$/.exec(list);
  if (range === null) {
    const values = list.split(',').map((value) => value.trim());
    const bad = values.find((value) => !/^[\w.+-]+$/.test(value));
    if (bad === undefined) return values;
    throw new BadVariation(`"${bad}" in "${text}" is no number, duration or word; --vary is ${VARY_FORM}`);
  }
  const [first, last, step] = [Number(range[1]), Number(range[2]), Number(range[3] ?? 1)];
  if (last < first || step === 0)
    throw new BadVariation(
      `"${list}" in "${text}" is no range; the smaller number comes first, like 2..8 or 2..8:2`,
    );
  const count = Math.floor((last - first) / step) + 1;
  if (count > COMBINATIONS_MAX)
    throw new BadVariation(
      `"${list}" in "${text}" has ${count} values; a sweep tries at most ${COMBINATIONS_MAX}`,
    );
  return Array.from({ length: count }, (_, index) => String(first + index * step));
}

/**
 * Every choice of one value of each variation, the version as it stands first. Throws BadVariation with the
 * problems of the first choice that is not a sound rule set.
 */
export function combinationsOf(
  version: string,
  files: RuleFiles,
  variations: readonly Variation[],
): readonly Combination[] {
  const count = variations.reduce((product, { values }) => product * values.length, 1);
  if (count > COMBINATIONS_MAX)
    throw new BadVariation(`${count} combinations are asked for; a sweep tries at most ${COMBINATIONS_MAX}`);
  const paths = variations.map(({ constant }) => constant.path);
  const twice = paths.find((path, index) => paths.indexOf(path) !== index);
  if (twice !== undefined)
    throw new BadVariation(`${twice} is varied twice; give all its values in one --vary`);
  const choices = variations.reduce<readonly Choice[]>(
    (known, { constant, values }) =>
      known.flatMap((choice) => values.map((value) => [...choice, [constant, value] as const])),
    [[]],
  );
  const asItStands = variations.map(({ constant }) => [constant, constant.text] as const);
  const others = choices.filter((choice) => !choice.every(([constant, value]) => isSame(constant, value)));
  return [asItStands, ...others].map((choice, index) => combinationOf(version, files, choice, index === 0));
}

type Choice = readonly (readonly [Constant, string])[];

/** `60s` and `1m` are the same duration. */
function isSame({ text }: Constant, value: string): boolean {
  const [one, other] = [parseDuration(text), parseDuration(value)];
  return text === value || (one !== null && one === other);
}

function combinationOf(version: string, files: RuleFiles, choice: Choice, present: boolean): Combination {
  const values = Object.fromEntries(choice.map(([{ path }, value]) => [path, value]));
  const edited = withConstants(files, choice);
  const draft = draftOf(version, edited);
  if (draft.ok) return { values, present, files: edited };
  throw new BadVariation(`${describe(values)} is no sound rule set: ${problemText(draft.problems)}`);
}

function describe(values: Combination['values']): string {
  return Object.entries(values)
    .map(([path, value]) => `${path}=${value}`)
    .join(' ');
}

function problemText(problems: readonly Problem[]): string {
  return problems.map(({ at, message }) => `${at.file}:${at.line}:${at.column}  ${message}`).join('; ');
}
