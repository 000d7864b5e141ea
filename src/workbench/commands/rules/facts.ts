import { basename } from 'node:path';
import type { Command } from 'commander';
import { NO_DECLARED_ATTRIBUTES } from '#decision/payer/attributes.ts';
import { type FactSummary, listMatchingWords, listQuestionsWithFacts } from '#decision/rules/fact-finder.ts';
import { isRuleVersion } from '#decision/rules/rule-set.ts';
import { FindingsError } from '#workbench/commands/exit.ts';
import { formatTable, print } from '#workbench/commands/print.ts';
import { loadSoundRuleSet } from './rule-folders.ts';

/** Adds `rules facts`, which lists the facts that rules may use, grouped by the question that they answer. */
export function addFactsCommand(rules: Command): void {
  rules
    .command('facts [version] [word...]')
    .description(
      'list the facts that rules may use, by question, each with an example; with a version also its attributes; with words only the facts that match all of them, also by the names of other products',
    )
    .option('--json', 'print {version, questions}')
    .action((version: string | undefined, word: string[], options: { json?: true }) =>
      printFacts(version, word, options.json === true),
    );
}

/** Prints the facts. The first argument is taken as a version if it looks like the name or the folder of a version. */
function printFacts(first: string | undefined, others: readonly string[], json: boolean): void {
  const version = first !== undefined && isRuleVersion(basename(first)) ? first : null;
  const words = version === null && first !== undefined ? [first, ...others] : others;
  const text = words.length === 0 ? null : words.join(' ');
  const declared = version === null ? NO_DECLARED_ATTRIBUTES : loadSoundRuleSet(version).attributes;
  const questions = listQuestionsWithFacts(declared, text);
  if (questions.length === 0) {
    const matching = listMatchingWords(declared, text ?? '').map((word) => `"${word}"`);
    const hint = matching.length === 0 ? '' : `; these words alone match some: ${matching.join(', ')}`;
    throw new FindingsError(
      `no fact matches "${text}"${hint}; "rules facts" prints all. What only the caller knows is an attribute: see "rules facts attribute"`,
    );
  }
  print(json ? JSON.stringify({ version, questions }) : questions.map(formatQuestion).join('\n\n'));
}

function formatQuestion({
  question,
  facts,
  exampleIsFor,
  example,
  declares,
}: ReturnType<typeof listQuestionsWithFacts>[number]): string {
  const declaring = declares === undefined ? [] : ['# ruleset.yaml', ...declares.split('\n'), ''];
  return [
    question,
    '',
    ...indentLines(formatTable(HEADINGS, facts.map(formatCells)).split('\n'), 2),
    '',
    `  ${exampleIsFor}:`,
    '',
    ...indentLines([...declaring, ...example.split('\n')], 4),
  ].join('\n');
}

const HEADINGS = ['fact', 'values', 'asked', 'says'] as const;

function formatCells({ name, values, notes, description }: FactSummary): readonly string[] {
  return [name, values, notes.join('; '), description];
}

function indentLines(lines: readonly string[], by: number): readonly string[] {
  return lines.map((line) => (line === '' ? '' : `${' '.repeat(by)}${line}`));
}
