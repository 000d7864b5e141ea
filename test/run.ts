import { globSync, readFileSync, statSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { hasProgram } from './servers/needed-programs.ts';
import { startStandalone } from './servers/redis.ts';
import { APPEND_ONLY } from './servers/redis-process.ts';

/** How the Redis of a run is started: each worker empties a database of its own. */
export const RUN_OPTIONS: readonly string[] = [...APPEND_ONLY, '--databases', '256'];

/** Suites of services, which know which stores they are to run on. */
const ON_STORES = /\bdescribeOn[A-Z]\w+\(/;

/** Folders that need no store, and the rules of the house. */
const QUICK = /^test\/((decision|workbench\/authoring)\/|tidy\.test)/;

/**
 * What `npm test` takes is all files but the long ones; what `npm run test:long` takes is these, and services on each
 * store; what `npm run test:quick` takes is a part of the first.
 */
export function filesOf(run: 'short' | 'long' | 'quick'): readonly string[] {
  const isLong = (file: string) => file.endsWith('.long.test.ts');
  const isTaken = (file: string) => {
    if (run === 'long') return isLong(file) || ON_STORES.test(readFileSync(file, 'utf8'));
    return !isLong(file) && (run === 'short' || QUICK.test(file));
  };
  // A large one that began last would keep the run waiting.
  return globSync('test/**/*.test.ts')
    .filter(isTaken)
    .toSorted((one, other) => statSync(other).size - statSync(one).size);
}

/** Mocha runs in this process, so that whatever ends this one ends all of it. */
async function run([first = '', ...rest]: readonly string[]): Promise<void> {
  const named = first === 'long' || first === 'quick' ? first : null;
  if (named !== 'long') process.env['STORES'] = 'SQLite';
  if (hasProgram('redis-server')) process.env['SHARED_REDIS'] = (await startStandalone(RUN_OPTIONS)).url;
  const options = (named === null ? [first, ...rest] : rest).filter(Boolean);
  // One more than there are cores, because some tests wait for a server.
  const workers = ['--parallel', '--jobs', String(availableParallelism() + 1)];
  process.argv.splice(2, Number.POSITIVE_INFINITY, ...filesOf(named ?? 'short'), ...workers, ...options);
  await import(import.meta.resolve('mocha/bin/mocha.js'));
}

if (import.meta.main) await run(process.argv.slice(2));
