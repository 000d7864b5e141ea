import { findMissingProgramsFigure } from './processes/each-store.ts';
import type { ScenarioRun } from './scenario.ts';
import { scenarios } from './scenarios.ts';

/**
 * Runs one scenario in this process: `run-one.ts NAME [--quick]`, as scripts/chaos.ts starts it. Prints the figures
 * to standard output as JSON, and progress to standard error.
 */
async function main(): Promise<void> {
  process.on('SIGINT', () => process.exit(130));
  process.on('SIGTERM', () => process.exit(143));
  // The interval keeps the process alive. Child processes do not, and a scenario may wait for nothing else.
  setInterval(() => {}, 1000);
  const [name, ...flags] = process.argv.slice(2);
  const scenario = scenarios.find((one) => one.name === name);
  if (scenario === undefined) throw new Error(`there is no scenario "${name}"`);
  const run: ScenarioRun = {
    quick: flags.includes('--quick'),
    report: (line) => process.stderr.write(`  ${scenario.name}: ${line}\n`),
  };
  const missing = findMissingProgramsFigure(scenario.needs ?? [], run);
  const figures = missing === null ? await scenario.run(run) : [missing];
  process.stdout.write(JSON.stringify(figures), () => process.exit(0));
}

main().catch((error: unknown) => {
  console.error(error);
  process.exit(1);
});
