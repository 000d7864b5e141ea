import type { Command } from 'commander';
import { type RuleDiff, ruleDiff } from '../../authoring/diff/rule-diff.ts';
import { formatExample } from '../../rules/proof/relations.ts';
import { EXIT } from '../exit.ts';
import { print } from '../print.ts';
import { soundRuleSet } from './rule-folders.ts';

/** rules diff: what two versions decide differently, and for which payers. */
export function diffCommand(rules: Command): void {
  rules
    .command('diff <before> <after>')
    .description(
      'what differs in meaning between two versions, with example facts; exit code 1 when anything does',
    )
    .option('--json', 'print {before, after, differences, examples, searched, note}')
    .action((before: string, after: string, options: { json?: true }) => {
      const diff = ruleDiff(soundRuleSet(before), soundRuleSet(after));
      print(options.json === true ? JSON.stringify(diff) : diffText(diff));
      if (diff.differences.length > 0) process.exitCode = EXIT.findings;
    });
}

function diffText({ before, after, differences, examples, note }: RuleDiff): string {
  const parts = Map.groupBy(differences, ({ part }) => part);
  const changes = [...parts].map(([part, items]) =>
    [part, ...items.map(({ text }) => `  ${text}`)].join('\n'),
  );
  const width = Math.max(before.length, after.length);
  const payers = examples.map((example, index) =>
    [
      `  ${index + 1}. ${formatExample(example.facts) || 'an ordinary first request'}`,
      `     ${before.padEnd(width)}  ${example.before.text}`,
      `     ${after.padEnd(width)}  ${example.after.text}`,
    ].join('\n'),
  );
  return [...changes, [note, ...payers].join('\n')].join('\n\n');
}
