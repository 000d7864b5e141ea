import type { Command } from 'commander';
import { diffRuleSets } from '../../analysis/diff/diff.ts';
import { type DiffExample, diffExamples, type ExampleAnswer } from '../../analysis/diff/examples.ts';
import type { DiffPart } from '../../analysis/diff/rule-difference.ts';
import { formatExample } from '../../rules/proof/example.ts';
import type { RuleSet } from '../../rules/rule-set.ts';
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
    .option('--json', 'print {before, after, differences, examples}')
    .action((before: string, after: string, options: { json?: true }) =>
      diff(before, after, options.json === true),
    );
}

function diff(beforeName: string, afterName: string, json: boolean): void {
  const before = soundRuleSet(beforeName);
  const after = soundRuleSet(afterName);
  const differences = diffRuleSets(before, after);
  const { examples, searched } =
    differences.length === 0 ? { examples: [], searched: true } : diffExamples(before, after);
  if (json) {
    print(JSON.stringify({ before: before.version, after: after.version, differences, examples }));
  } else if (differences.length === 0) {
    print(`${before.version} and ${after.version} decide alike.`);
  } else {
    const texts = Map.groupBy(differences, ({ part }) => part);
    const parts = [...texts].map(([part, items]) =>
      [TITLES[part], ...items.map(({ text }) => `  ${text}`)].join('\n'),
    );
    print([...parts, describeExamples(examples, searched, before, after)].join('\n\n'));
  }
  if (differences.length > 0) process.exitCode = EXIT.findings;
}

const TITLES = {
  settings: 'Settings (ruleset.yaml)',
  ladder: 'Ladder (ladder.yaml)',
  platforms: 'Platforms (ruleset.yaml)',
  limits: 'Limits (limits.yaml)',
  lists: 'Lists (lists/*.yaml)',
  groups: 'Client groups (groups.yaml)',
  'bot-signals': 'Bot signals (bot-signals.yaml)',
  verdicts: 'Verdicts (verdicts.yaml)',
} as const satisfies Record<DiffPart, string>;

function describeExamples(
  examples: readonly DiffExample[],
  searched: boolean,
  before: RuleSet,
  after: RuleSet,
): string {
  if (examples.length === 0) {
    const none = searched
      ? 'No payer is answered differently at once'
      : 'No payer was found whom the two answer differently at once, and not every one could be ruled out';
    return `${none}; what differs over time shows in: rules backtest --mode closed-loop`;
  }
  const width = Math.max(before.version.length, after.version.length);
  const lines = examples.map(({ facts, before: was, after: is }, index) => {
    return [
      `  ${index + 1}. ${formatExample(facts) || 'an ordinary first request'}`,
      `     ${before.version.padEnd(width)}  ${describeAnswer(was)}`,
      `     ${after.version.padEnd(width)}  ${describeAnswer(is)}`,
    ].join('\n');
  });
  return [
    'Answered differently, for example (facts not named are those of an ordinary first request)',
    ...lines,
  ].join('\n');
}

function describeAnswer({ verdict, rule, clientGroup, isBot }: ExampleAnswer): string {
  return `${verdict} by ${rule}, ${clientGroup}, ${isBot ? 'a bot' : 'no bot'}`;
}
