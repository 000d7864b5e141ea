import { spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import { availableParallelism } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Command } from 'commander';
import { parse } from 'yaml';
import { EXIT_CODES } from '#workbench/commands/exit.ts';
import { COMPILED_MODULES } from '../test/processes/compile-cache.ts';
import { own } from '../test/processes/own-process.ts';
import { filesOf, RUN_OPTIONS } from '../test/run.ts';
import { startStandalone } from '../test/servers/redis.ts';
import { temporaryDirectory } from '../test/servers/temporary-directory.ts';
import { runCommanderProgram } from './run-program.ts';

/**
 * Breaks one behaviour after another in a copy of the sources, and says which test files of `npm test` notice. For
 * each mutation, only the test files that run the broken place are tried. Run it with `npm run mutate`, or `npm run
 * mutate -- src/checkout/access` for a part.
 */

/** An edit that breaks one behaviour. The file has `from` exactly once. */
export type Mutation = Readonly<Record<'file' | 'breaks' | 'from' | 'to', string>>;

/** How often ranges of characters ran, by test file and source file, in each process. */
export type Coverage = Readonly<Record<string, Readonly<Record<string, readonly (readonly Range[])[]>>>>;
type Range = { readonly startOffset: number; readonly endOffset: number; readonly count: number };
type Script = { readonly url: string; readonly functions: readonly { readonly ranges: readonly Range[] }[] };

const ROOT = join(import.meta.dirname, '..');
const LIST = join(import.meta.dirname, 'mutate', 'mutations.yaml');
/** The file with the coverage that was recorded when all mutations were last run. */
const RECORDED = join(ROOT, 'node_modules', '.cache', 'coverage.json');
const MOCHA = fileURLToPath(import.meta.resolve('mocha/bin/mocha.js'));
const JOBS = availableParallelism();
/** The number of test files that are run together, before the next ones. */
const AT_ONCE = 12;
const PATIENCE_MS = 120_000;

async function runMocha(cwd: string, args: readonly string[], more: NodeJS.ProcessEnv = {}) {
  const env = { ...process.env, NODE_COMPILE_CACHE: COMPILED_MODULES, STORES: 'SQLite', ...more };
  const child = own(spawn(process.execPath, [MOCHA, ...args], { cwd, env, stdio: 'ignore' }));
  child.ref();
  const late = setTimeout(() => child.kill('SIGKILL'), PATIENCE_MS);
  await once(child, 'exit');
  clearTimeout(late);
  return child.exitCode;
}

/** Records which sources one test file runs, in its own process. */
export async function recordTestCoverage(root: string, test: string): Promise<Coverage[string]> {
  const folder = temporaryDirectory();
  const exitCode = await runMocha(root, [test], { NODE_V8_COVERAGE: folder, NODE_COMPILE_CACHE: '' });
  if (exitCode !== 0)
    throw new Error(`${test} fails before anything is broken; "npm run test:one -- ${test}" shows why`);
  const ran: Record<string, readonly (readonly Range[])[]> = {};
  for (const name of fs.readdirSync(folder)) {
    const { result }: { result: readonly Script[] } = JSON.parse(fs.readFileSync(join(folder, name), 'utf8'));
    for (const { url, functions } of result.filter((one) => one.url.startsWith(`file://${root}/src/`))) {
      const file = url.slice(`file://${root}/`.length);
      ran[file] = [...(ran[file] ?? []), functions.flatMap(({ ranges }) => ranges)];
    }
  }
  return ran;
}

/** Tells whether the innermost of the ranges around a place ran. */
function hasRun(ranges: readonly Range[], at: number): boolean {
  const around = ranges.filter(({ startOffset, endOffset }) => startOffset <= at && at < endOffset);
  const lengthOf = (one: Range) => one.endOffset - one.startOffset;
  return (around.toSorted((a, b) => lengthOf(a) - lengthOf(b))[0]?.count ?? 0) > 0;
}

/**
 * Returns the test files that ran the place. If none did, as for a script of Redis, returns the test files of the
 * nearest folder that has some.
 */
function listCandidates(coverage: Coverage, { file }: Mutation, at: number): readonly string[] {
  const tests = Object.keys(coverage);
  const ran = tests.filter((test) => coverage[test]?.[file]?.some((ranges) => hasRun(ranges, at)));
  if (ran.length > 0) return ran;
  for (let room = dirname(file); room !== '.'; room = dirname(room)) {
    const near = tests.filter((test) => test.startsWith(`test/${room.replace(/^src\/?/, '')}/`));
    if (near.length > 0) return near;
  }
  return tests;
}

/**
 * Finds the test files that notice a mutation, and counts those that were tried. The tests that run the fewest source
 * files are tried first, and no more are tried when one notices.
 */
export async function findNoticingTests(root: string, coverage: Coverage, mutation: Mutation) {
  const { file, from, to } = mutation;
  const path = join(root, file);
  const text = fs.readFileSync(path, 'utf8');
  const parts = text.split(from);
  if (parts.length !== 2)
    throw new Error(
      `${file} has "${from}" ${parts.length - 1} times, and a mutation needs it once; correct it in scripts/mutate/mutations.yaml`,
    );
  const runsOf = (test: string) => Object.keys(coverage[test] ?? {}).length;
  const all = listCandidates(coverage, mutation, parts[0]?.length ?? 0).toSorted(
    (a, b) => runsOf(a) - runsOf(b),
  );
  let [tried, by]: [number, readonly string[]] = [0, []];
  fs.writeFileSync(path, parts.join(to));
  for (; tried < all.length && by.length === 0; tried += AT_ONCE)
    by = await findFailing(root, all.slice(tried, tried + AT_ONCE));
  fs.writeFileSync(path, text);
  return { tried: Math.min(tried, all.length), by };
}

async function findFailing(root: string, tests: readonly string[]): Promise<readonly string[]> {
  const output = join(temporaryDirectory(), 'result.json');
  const options =
    `--parallel --jobs ${JOBS} --timeout 20000 --reporter json --reporter-option output=${output}`.split(' ');
  if ((await runMocha(root, [...tests, ...options])) === 0) return [];
  const { failures = [] } = fs.existsSync(output) ? JSON.parse(fs.readFileSync(output, 'utf8')) : {};
  const named = failures.map((one: { file?: string }) => one.file?.slice(root.length + 1) ?? 'while loading');
  return named.length > 0 ? [...new Set<string>(named)] : ['without an end'];
}

/**
 * Copies the sources to a folder that is removed with this process. Whatever ends the process, nothing stays broken.
 */
function copySources(): string {
  const root = fs.realpathSync(temporaryDirectory());
  const leftOut = ['.git', 'node_modules', 'dist', 'data'].map((name) => join(ROOT, name));
  fs.cpSync(ROOT, root, { recursive: true, filter: (path) => !leftOut.includes(path) });
  fs.symlinkSync(join(ROOT, 'node_modules'), join(root, 'node_modules'));
  return root;
}

async function recordCoverage(root: string, isPart: boolean): Promise<Coverage> {
  if (isPart && fs.existsSync(RECORDED)) return JSON.parse(fs.readFileSync(RECORDED, 'utf8'));
  const coverage: Record<string, Coverage[string]> = {};
  const left = filesOf('short').values();
  const work = async () => {
    for (const test of left) {
      coverage[test] = await recordTestCoverage(root, test);
      process.stderr.write(`recorded the coverage of ${Object.keys(coverage).length} test files\n`);
    }
  };
  await Promise.all(Array.from({ length: JOBS }, work));
  fs.writeFileSync(RECORDED, JSON.stringify(coverage));
  return coverage;
}

/** Breaks the behaviours in files whose path begins with `path`, and prints which test files notice. */
async function run(path = ''): Promise<void> {
  const all: readonly Mutation[] = parse(fs.readFileSync(LIST, 'utf8'));
  const chosen = all.filter(({ file }) => file.startsWith(path));
  if (chosen.length === 0) {
    console.error(`error: no mutation is in a file whose path begins with "${path}"; ${LIST} lists all`);
    process.exitCode = EXIT_CODES.usage;
    return;
  }
  process.env['SHARED_REDIS'] = (await startStandalone(RUN_OPTIONS)).url;
  const root = copySources();
  const coverage = await recordCoverage(root, path !== '');
  const unnoticed: string[] = [];
  for (const mutation of chosen) {
    const { tried, by } = await findNoticingTests(root, coverage, mutation);
    if (by.length === 0) unnoticed.push(`${mutation.file}: ${mutation.breaks}`);
    console.log(`${by.length} of ${tried} test files notice that this is broken in ${mutation.file}:`);
    console.log(`  ${mutation.breaks}${by.map((test) => `\n    ${test}`).join('')}`);
  }
  console.log(`${chosen.length} mutations, of which no test file notices ${unnoticed.length}`);
  for (const line of unnoticed) console.log(`  ${line}`);
  process.exitCode = unnoticed.length > 0 ? EXIT_CODES.findings : EXIT_CODES.fine;
}

async function main(): Promise<void> {
  const program = new Command('mutate')
    .description(
      'Breaks one behaviour after another in a copy of the sources, and says which test files of "npm test" notice',
    )
    .argument(
      '[path]',
      'take the files whose path begins with this, like src/checkout/access; default: all, which takes about half an hour',
    )
    .addHelpText(
      'after',
      '\nExit code: 0 when every mutation is noticed, 1 when one is not, 2 for a wrong call.',
    )
    .action(run);
  await runCommanderProgram(program);
}

if (import.meta.main) await main();
