import { writeFileSync } from 'node:fs';
import { Command, CommanderError } from 'commander';
import { EXIT_CODES, toExitCode } from '#workbench/commands/exit.ts';
import { createExamplePayments } from './example-data/example-payments.ts';

/** Runs `npm run example-data -- FILE.ndjson [--seed N]`, which makes payments to learn with, for `npm run replay`. */
function main(): void {
  const program = new Command('example-data')
    .description('Makes up four weeks of payments, with which the evidence commands can be learnt')
    .argument('<file>', 'the file to write: NDJSON with one payment a line, for "npm run replay"')
    .option('--seed <number>', 'another number makes other payments; the guide uses 1', '1')
    .exitOverride()
    .showHelpAfterError()
    .action(write);
  try {
    program.parse();
  } catch (error) {
    process.exitCode = explain(error);
  }
}

/** Bad arguments, or a file that cannot be written. */
class Refusal extends Error {}

function write(path: string, { seed }: { readonly seed: string }): void {
  const payments = createExamplePayments(parseSeed(seed));
  try {
    writeFileSync(path, payments.map((payment) => `${JSON.stringify(payment)}\n`).join(''));
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new Refusal(`${path} cannot be written: ${why}; name a file in a folder that you may write to`, {
      cause,
    });
  }
  const clients = new Set(payments.map(({ clientIdKey }) => clientIdKey)).size;
  console.log(`${path}: wrote ${payments.length} made-up payments of ${clients} payers (seed ${seed}).`);
}

function parseSeed(text: string): number {
  if (/^\d{1,9}$/.test(text)) return Number(text);
  throw new Refusal(`--seed must be a whole number of up to nine digits, like 1, not "${text}"`);
}

/** Prints what is wrong and returns the exit code. Bugs keep their stack. */
function explain(error: unknown): number {
  if (error instanceof CommanderError) return toExitCode(error);
  if (!(error instanceof Refusal)) throw error;
  console.error(`error: ${error.message}`);
  return EXIT_CODES.usage;
}

main();
