import { basename } from 'node:path';
import type { Command } from 'commander';
import { suggest } from '../../../evidence/suggest/suggest.ts';
import { UsageError } from '../../exit.ts';
import { draftFrom } from '../new.ts';
import { fromHere } from '../rule-folders.ts';
import { type EvidenceOptions, evidenceOptions, onEvidence } from './evidence-options.ts';
import { printResult } from './print-result.ts';
import { filesOf } from './sweep.ts';

interface SuggestOptions extends EvidenceOptions {
  readonly budget: string;
  readonly write?: string;
}

/** rules suggest: rules that would have stopped more unpaid orders, as a draft that a person decides about. */
export function suggestCommand(rules: Command): void {
  evidenceOptions(rules.command('suggest <version>'))
    .description(
      'look for rules on the earlier half of the orders, and show on the later half what they are worth',
    )
    .requiredOption(
      '--budget <percent>',
      'share of the paid orders that may be refused besides those that the version refuses, like 0.5%',
    )
    .option('--write <version>', 'write what is suggested as a draft of this name, with a case for each rule')
    .action((version: string, options: SuggestOptions) => run(version, options));
}

async function run(version: string, options: SuggestOptions): Promise<void> {
  const budget = parseShare(options.budget);
  const { name, files } = filesOf(version);
  const found = await onEvidence(options, (evidence, onProgress) =>
    suggest(evidence, { version: name, files, budget, onProgress }),
  );
  const texts = found.files === null ? null : new Map(Object.entries(found.files));
  const { write } = options;
  const draft = texts === null || write === undefined ? null : draftFrom(version, write, {}, texts);
  printResult(found, options, { draft, text: nextSteps(name, draft, texts !== null) });
}

function nextSteps(version: string, folder: string | null, found: boolean): string {
  if (!found) return 'No draft was written.';
  if (folder === null) return 'Nothing was written; --write VERSION makes a draft of it.';
  const draft = basename(folder);
  return [
    `${fromHere(folder)} is a draft. Whether a person would refuse payers for this is for a person to say; then:`,
    `  rules check ${draft}`,
    `  rules test ${draft}`,
    `  rules diff ${version} ${draft}`,
    `  rules release ${draft}`,
  ].join('\n');
}

/** `0.5%` as 0.005. */
function parseShare(text: string): number {
  const match = /^(\d+(?:\.\d+)?) ?%$/.exec(text);
  const percent = Number(match?.[1]);
  if (match !== null && percent > 0 && percent < 100) return percent / 100;
  throw new UsageError(`--budget must be a percentage above 0 and below 100, like 0.5%, not "${text}"`);
}
