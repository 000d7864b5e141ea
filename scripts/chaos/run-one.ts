import { missingPrograms } from './processes/each-store.ts';
import type { ScenarioRun } from './scenario.ts';
import { scenarios } from './scenarios.ts';

/**
 * One scenario in a process of its own, as scripts/chaos.ts starts it: `run-one.ts NAME [--quick]`. Its
 * figures go to standard output as JSON, what it says meanwhile to standard error.
 */
async function main(): Promise<void> {
  process.on('SIGINT', () => process.exit(130));
  process.on('SIGTERM', () => process.exit(143));
  // Keeps the process alive. Its children do not, and a scenario may wait for nothing else.
  setInterval(() => {}, 1000);
  const [name, ...flags] = process.argv.slice(2);
  const scenario = scenarios.find((one) => one.name === name);
  if (scenario === undefined) throw new Error(`there is no scenario "${name}"`);
  const run: ScenarioRun = {
    quick: flags.includes('--quick'),
    report: (line) => process.stderr.write(`  ${scenario.name}: ${line}\n`),
  };
  const missing = missingPrograms(scenario.needs ?? [], run);
  const figures = missing === null ? await scenario.run(run) : [missing];
  process.stdout.write(JSON.stringify(figures), () => process.exit(0));
}

main().catch((error: unknown) => {
  console.error(error);
  process.exit(1);
});
