import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Command } from 'commander';
import { formatCount } from '#base/count-text.ts';
import { INSTALLATION_PLATFORM } from '#checkout/access/access-keys.ts';
import { readConfig } from '#config.ts';
import { formatExampleFacts } from '#decision/rules/proof/example.ts';
import type { RuleSet } from '#decision/rules/rule-set.ts';
import { explainUnreleasableDraft } from '#state/rule-folders/release.ts';
import { readRuleFiles } from '#state/rule-folders/rule-folder.ts';
import type { ProposedChange, StoredProposal } from '#workbench/approvals/proposals.ts';
import {
  findLostCases,
  findReleaseObstacle,
  formatLostCases,
  listBrokenPromiseMessages,
  type ReleaseObstacle,
  writeRelease,
} from '#workbench/authoring/desk/examine.ts';
import { computeRuleDiff, type RuleDiff } from '#workbench/authoring/diff/rule-diff.ts';
import { findBrokenPromises } from '#workbench/authoring/promises.ts';
import {
  createRuleSchemas,
  formatSchema,
  getSchemaFileName,
} from '#workbench/authoring/schema/rule-schema.ts';
import { EXIT_CODES, FindingsError, UsageError } from '#workbench/commands/exit.ts';
import {
  formatProposedChange,
  WITHOUT_APPROVAL_OPTION,
  withCommandContext,
} from '#workbench/commands/operation-command.ts';
import { print } from '#workbench/commands/print.ts';
import { addCheckCommand, formatProblemLines, toRemarkWithPath } from './check.ts';
import { addEvidenceCommands } from './evidence.ts';
import { addFactsCommand } from './facts.ts';
import { addRestoreRolloutCommand, addRolloutCommands } from './rollout.ts';
import { addNewVersionCommand, listChosenFolders, loadSoundRuleSet, toRelativePath } from './rule-folders.ts';
import { addTestCommand } from './test.ts';

/**
 * Adds the commands with which an analyst brings an edited rule set to the point that it decides: check, test,
 * compare, release and roll out.
 */
export function addRulesCommands(program: Command): void {
  const rules = program.command('rules').description('rule sets: check, test, release and roll out');
  addCheckCommand(rules);
  addFactsCommand(rules);
  addSchemaCommand(rules);
  addTestCommand(rules);
  addNewVersionCommand(rules);
  addDiffCommand(rules);
  addEvidenceCommands(rules);
  addReleaseCommand(rules);
  addRolloutCommands(rules);
  addRestoreRolloutCommand(rules);
}

function addDiffCommand(rules: Command): void {
  rules
    .command('diff <before> <after>')
    .description(
      'show what differs in meaning between two versions, with example facts; exit code 1 when anything differs',
    )
    .option('--json', 'print {before, after, differences, examples, searched, note}')
    .action((before: string, after: string, options: { json?: true }) => {
      const diff = computeRuleDiff(loadSoundRuleSet(before), loadSoundRuleSet(after));
      print(options.json === true ? JSON.stringify(diff) : formatDiff(diff));
      if (diff.differences.length > 0) process.exitCode = EXIT_CODES.findings;
    });
}

function formatDiff({ before, after, differences, examples, note }: RuleDiff): string {
  const parts = Map.groupBy(differences, ({ part }) => part);
  const changes = [...parts].map(([part, items]) =>
    [part, ...items.map(({ text }) => `  ${text}`)].join('\n'),
  );
  const width = Math.max(before.length, after.length);
  const payers = examples.map((example, index) =>
    [
      `  ${index + 1}. ${formatExampleFacts(example.facts) || 'an ordinary first request'}`,
      `     ${before.padEnd(width)}  ${example.before.text}`,
      `     ${after.padEnd(width)}  ${example.after.text}`,
    ].join('\n'),
  );
  return [...changes, [note, ...payers].join('\n')].join('\n\n');
}

interface ReleaseOptions {
  readonly withoutApproval?: true;
  readonly reason: string;
  readonly json?: true;
}

function addReleaseCommand(rules: Command): void {
  rules
    .command('release <version>')
    .description(
      'release a version that check and test find nothing in: it may then decide, and never changes',
    )
    .option('--reason <text>', 'why, for whoever approves it', 'by the command')
    .option(...WITHOUT_APPROVAL_OPTION)
    .option('--json', 'print the release')
    .action((version: string, options: ReleaseOptions) => release(version, options));
}

async function release(version: string, options: ReleaseOptions): Promise<void> {
  const json = options.json === true;
  const [folder = ''] = listChosenFolders([version]);
  const ruleSet = loadSoundRuleSet(version);
  const files = readRuleFiles(folder, []) ?? new Map<string, string>();
  const obstacle = findReleaseObstacle(folder, ruleSet, files);
  if (obstacle !== null) throw toRefusal(obstacle, folder, version, ruleSet);
  const { digest } = ruleSet;
  const change = { what: 'release', version: ruleSet.version, digest, reason: options.reason } as const;
  const needsApproval = readConfig().requiresApproval && options.withoutApproval !== true;
  const proposal = needsApproval ? await propose(change) : null;
  if (proposal !== null) {
    const { proposalId, lines, expiresAt } = proposal;
    const told = { proposalId, expiresAt: new Date(expiresAt).toISOString() };
    return print(json ? JSON.stringify(told) : formatProposedChange(proposalId, lines));
  }
  const made = writeRelease(folder, ruleSet, files);
  const lost = findLostCases(folder, ruleSet, files);
  const breaches = listBrokenPromiseMessages(findBrokenPromises(ruleSet, files));
  if (json) return print(JSON.stringify({ ...made, lostCases: lost, brokenPromises: breaches }));
  print(`${version} is released: sha256:${made.digest}`);
  for (const breach of breaches) print(`note: ${breach}`);
  if (lost !== null) print(`${formatLostCases(lost)}.`);
}

/** Proposes a release. This opens the store, while a release itself only writes to the disk. */
function propose(change: ProposedChange): Promise<StoredProposal | null> {
  const needs = { lists: true, rules: true, archive: true };
  return withCommandContext(needs, {}, INSTALLATION_PLATFORM, ({ parts, caller }) =>
    parts.approvals.propose(INSTALLATION_PLATFORM, change, caller.actor),
  );
}

function toRefusal(obstacle: ReleaseObstacle, folder: string, version: string, ruleSet: RuleSet): Error {
  switch (obstacle.is) {
    case 'draft name':
      return new UsageError(explainUnreleasableDraft(ruleSet.version));
    case 'released':
      return new UsageError(`${version} is released already, with digest ${ruleSet.digest}`);
    case 'findings': {
      const problems = formatProblemLines(
        obstacle.problems.map((problem) => toRemarkWithPath(toRelativePath(folder), problem)),
      );
      return new FindingsError(
        `${version} has findings and is not released; see: rules check ${version}\n${problems}`,
      );
    }
    case 'no cases':
      return new FindingsError(
        `${version} has no cases and is not released; write what it must answer into ${toRelativePath(folder)}/cases, or copy the cases of the version before it`,
      );
    case 'failed cases': {
      const cases = formatCount(obstacle.failed, 'case');
      return new FindingsError(
        `${cases} of ${version} failed; it is not released; see: rules test ${version}`,
      );
    }
    default:
      return obstacle satisfies never;
  }
}

function addSchemaCommand(rules: Command): void {
  rules
    .command('schema')
    .description('write the JSON Schemas of rule files, for editors, into RULES_DIR/schema')
    .option('--json', 'print one JSON object')
    .action(({ json }: { json?: true }) => {
      const written = writeSchemas(join(readConfig().rulesDir, 'schema'));
      if (json === true) print(JSON.stringify({ files: written }));
      else for (const { file, change } of written) print(`${file}: ${change}`);
    });
}

interface WrittenSchema {
  readonly file: string;
  readonly change: 'written' | 'changed' | 'unchanged';
}

function writeSchemas(folder: string): readonly WrittenSchema[] {
  mkdirSync(folder, { recursive: true });
  return [...createRuleSchemas()].map(([kind, schema]) => {
    const path = join(folder, getSchemaFileName(kind));
    const text = formatSchema(schema);
    const before = existsSync(path) ? readFileSync(path, 'utf8') : null;
    if (before !== text) writeFileSync(path, text);
    const change = before === null ? 'written' : before === text ? 'unchanged' : 'changed';
    return { file: toRelativePath(path), change };
  });
}
