import { availableParallelism } from 'node:os';
import type { Command } from 'commander';
import { whileHere } from '../../archive/frozen-archive.ts';
import { isEvidence } from '../../evidence/source/evidence.ts';
import type { Verification } from '../../evidence/verify/verification.ts';
import { verifyArchive } from '../../evidence/verify/verify-archive.ts';
import { EXIT } from '../exit.ts';
import { print, printError } from '../print.ts';
import { parseTime, spanOptions } from '../time.ts';
import { leftOutTexts, readArchiveConfig, withArchive } from './archive-folder.ts';

interface VerifyOptions {
  readonly from?: string;
  readonly to?: string;
  readonly json?: true;
}

const PROGRESS_EVERY_MS = 500;

/** archive verify: whether what is archived still follows from its facts and rule sets. */
export function verifyCommand(archive: Command): void {
  spanOptions(archive.command('verify'))
    .description('decide every archived decision again from its facts, and count what does not come out')
    .option('--json', 'print one JSON object')
    .action((options: VerifyOptions) => verify(options));
}

async function verify({ from, to, json }: VerifyOptions): Promise<void> {
  const { archiveDir, rulesDir } = readArchiveConfig();
  let shownAt = 0;
  const span = { from: parseTime(from, '--from'), to: parseTime(to, '--to') };
  const ask = {
    archiveDir,
    rulesDir,
    ...span,
    threads: availableParallelism(),
    onProgress: (checked: number, rows: number) => {
      if (!process.stderr.isTTY || Date.now() - shownAt < PROGRESS_EVERY_MS) return;
      shownAt = Date.now();
      process.stderr.write(`\r${checked} of ${rows} decisions`);
    },
  };
  const isWanted = isEvidence({ ...span, platform: null });
  const verification = await withArchive((archive) =>
    whileHere(
      archive,
      (segment) => segment.table === 'decisions' && isWanted(segment),
      (segmentsDir, missing) => {
        for (const text of leftOutTexts(missing)) printError(text);
        return verifyArchive({ ...ask, segmentsDir, missing });
      },
    ),
  );
  if (shownAt > 0) process.stderr.write('\r');
  print(json === true ? JSON.stringify(verification) : describe(verification));
  if (!isSound(verification)) process.exitCode = EXIT.findings;
}

function isSound({ checked, reproduced, unreadable }: Verification): boolean {
  return checked === reproduced && unreadable.length === 0;
}

function describe(verification: Verification): string {
  const { checked, reproduced, notReproduced, mismatches, withoutRules, damagedRows, unreadable } =
    verification;
  return [
    `${checked} decisions: ${reproduced} reproduced, ${notReproduced} not reproduced.`,
    ...mismatches.map(
      ({ decisionId, orderRef, members }) =>
        `  ${decisionId} about order ${JSON.stringify(orderRef)}: ${members.join(', ')}`,
    ),
    ...Object.entries(withoutRules).map(
      ([name, count]) =>
        `${count} decisions by ${name}: this rule set is neither in the archive nor in RULES_DIR.`,
    ),
    ...(damagedRows === 0 ? [] : [`${damagedRows} rows are damaged.`]),
    ...unreadable.map((name) => `Segment ${name} cannot be read.`),
  ].join('\n');
}
