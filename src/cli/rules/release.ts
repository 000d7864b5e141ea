import type { Command } from 'commander';
import { INSTALLATION } from '../../access/access-keys.ts';
import { type ReleaseObstacle, releaseObstacle, writeRelease } from '../../authoring/desk/release-version.ts';
import { draftNameRefusal } from '../../rules/folder/release.ts';
import { readRuleFiles } from '../../rules/folder/rule-folder.ts';
import type { RuleSet } from '../../rules/rule-set.ts';
import { type ApprovalOption, printProposed, proposedBy, WITHOUT_APPROVAL } from '../approval.ts';
import { FindingsError, UsageError } from '../exit.ts';
import { print } from '../print.ts';
import { placed, problemLines } from './check.ts';
import { chosenFolders, fromHere, soundRuleSet } from './rule-folders.ts';

interface ReleaseOptions extends ApprovalOption {
  readonly reason: string;
  readonly json?: true;
}

/** rules release: from then on a version may decide, and never changes. */
export function releaseCommand(rules: Command): void {
  rules
    .command('release <version>')
    .description(
      'fix a version for good, when check and test find nothing: it may decide then, and never changes',
    )
    .option('--reason <text>', 'why, for whoever approves it', 'by the command')
    .option(...WITHOUT_APPROVAL)
    .option('--json', 'print the release')
    .action((version: string, options: ReleaseOptions) => release(version, options));
}

async function release(version: string, options: ReleaseOptions): Promise<void> {
  const json = options.json === true;
  const [folder = ''] = chosenFolders([version]);
  const ruleSet = soundRuleSet(version);
  const files = readRuleFiles(folder, []) ?? new Map<string, string>();
  const obstacle = releaseObstacle(folder, ruleSet, files);
  if (obstacle !== null) throw refusalOf(obstacle, folder, version, ruleSet);
  const { digest } = ruleSet;
  const change = { what: 'release', version: ruleSet.version, digest, reason: options.reason } as const;
  const proposal = await proposedBy(INSTALLATION, change, options);
  if (proposal !== null) return printProposed(INSTALLATION, proposal, json);
  const made = writeRelease(folder, ruleSet, files);
  print(json ? JSON.stringify(made) : `${version} is released: sha256:${made.digest}`);
}

function refusalOf(obstacle: ReleaseObstacle, folder: string, version: string, ruleSet: RuleSet): Error {
  switch (obstacle.is) {
    case 'draft name':
      return new UsageError(draftNameRefusal(ruleSet.version));
    case 'released':
      return new UsageError(`${version} is released already, with digest ${ruleSet.digest}`);
    case 'findings': {
      const problems = problemLines(obstacle.problems.map((problem) => placed(fromHere(folder), problem)));
      return new FindingsError(
        `${version} has findings and is not released; see: rules check ${version}\n${problems}`,
      );
    }
    case 'no cases':
      return new FindingsError(
        `${version} has no cases and is not released; write into ${fromHere(folder)}/cases what it must answer, or copy the cases of the version before it`,
      );
    case 'failed cases': {
      const cases = obstacle.failed === 1 ? '1 case' : `${obstacle.failed} cases`;
      return new FindingsError(
        `${cases} of ${version} failed; it is not released; see: rules test ${version}`,
      );
    }
    default:
      return obstacle satisfies never;
  }
}
