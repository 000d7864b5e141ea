import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { Command } from 'commander';
import { EXIT_CODES } from '#workbench/commands/exit.ts';
import { allPass, type Figure, formatResultTable, type ScenarioResult } from './chaos/figure.ts';
import type { Scenario } from './chaos/scenario.ts';
import { scenarios } from './chaos/scenarios.ts';
import { runCommanderProgram } from './run-program.ts';

interface Options {
  readonly quick?: true;
  readonly json?: true;
}

/** How long, in ms, a scenario may take to end its processes after it was told to. */
const END_LIMIT_MS = 10_000;
const RUN_ONE = join(import.meta.dirname, 'chaos', 'run-one.ts');

let current: ChildProcess | null = null;
let interrupted: NodeJS.Signals | null = null;

/**
 * Runs `npm run chaos [-- NAME..] [--quick] [--json]`, which causes faults of the service and prints the figures of
 * each.
 */
async function main(): Promise<void> {
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.on(signal, () => {
      interrupted = signal;
      current?.kill('SIGTERM');
    });
  }
  const list = scenarios.map(({ name, does }) => `  ${name}\n      ${does}`).join('\n');
  const program = new Command('chaos')
    .description('Breaks the service on purpose, on 127.0.0.1 only, and prints what was measured')
    .argument('[names...]', 'scenarios to run; default: all, which takes about half an hour')
    .option(
      '--quick',
      'fewer rounds and shorter loads; shows that the scenarios work, not how good the service is',
    )
    .option('--json', 'print the figures as JSON')
    .addHelpText(
      'after',
      `\nScenarios:\n${list}\n\nExit code: 0 when all targets are met, 1 when some are missed, 2 for a wrong call.`,
    )
    .action(run);
  await runCommanderProgram(program);
}

async function run(names: readonly string[], { quick, json }: Options): Promise<void> {
  const unknown = names.find((name) => !scenarios.some((scenario) => scenario.name === name));
  if (unknown !== undefined) {
    const known = scenarios.map(({ name }) => name).join(', ');
    console.error(`error: there is no scenario "${unknown}"; choose from ${known}`);
    process.exitCode = EXIT_CODES.usage;
    return;
  }
  const chosen = scenarios.filter(({ name }) => names.length === 0 || names.includes(name));
  const outcomes: ScenarioResult[] = [];
  for (const scenario of chosen) {
    if (interrupted !== null) break;
    process.stderr.write(`${scenario.name}: ${scenario.does}\n`);
    outcomes.push(await runApart(scenario, quick === true));
  }
  console.log(json === true ? JSON.stringify(outcomes) : formatResultTable(outcomes));
  process.exitCode = interrupted === null ? chooseExitCode(outcomes) : 130;
}

function chooseExitCode(outcomes: readonly ScenarioResult[]): number {
  return allPass(outcomes) ? EXIT_CODES.fine : EXIT_CODES.findings;
}

/** Runs a scenario in a process of its own, so that a hang or a crash affects no other scenario. */
async function runApart(scenario: Scenario, quick: boolean): Promise<ScenarioResult> {
  const args = [RUN_ONE, scenario.name, ...(quick ? ['--quick'] : [])];
  // The process has its own process group. Ctrl-C then reaches it only through this process, which waits for it.
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'], detached: true });
  current = child;
  let late = false;
  const limit = setTimeout(() => {
    late = true;
    child.kill('SIGTERM');
  }, scenario.limitSeconds * 1000);
  const lastLimit = setTimeout(() => child.kill('SIGKILL'), scenario.limitSeconds * 1000 + END_LIMIT_MS);
  const exited = once(child, 'exit');
  const output = await text(child.stdout);
  await exited;
  clearTimeout(limit);
  clearTimeout(lastLimit);
  current = null;
  const figures: readonly Figure[] = child.exitCode === 0 ? JSON.parse(output) : [];
  return { scenario: scenario.name, figures, trouble: describeTrouble(child, late, scenario.limitSeconds) };
}

function describeTrouble({ exitCode }: ChildProcess, late: boolean, limitSeconds: number): string | null {
  if (late) return `no, ended after its limit of ${limitSeconds} s`;
  if (interrupted !== null) return `no, ended by ${interrupted}`;
  return exitCode === 0 ? null : 'no, it failed; standard error above says why';
}

await main();
