import { constants } from 'node:fs';
import { access } from 'node:fs/promises';
import { isInstallation } from '../../../access/access-keys.ts';
import type { RuleDesk } from '../../../authoring/desk/rule-desk.ts';
import type { PlatformName } from '../../../client/client-key.ts';
import type { LadderSettings } from '../../../client/ladder.ts';
import type { LoadedRules } from '../../../rollout/loaded-rules.ts';
import {
  type Holdout,
  isRuleVersion,
  type Rule,
  type RuleSet,
  type RuleVersion,
} from '../../../rules/rule-set.ts';
import type { Shape } from '../../../shapes.ts';
import { jsonAnswer, operation } from '../../operation/operation.ts';
import { pathText } from '../../operation/parameters.ts';
import { notFound, refusal } from '../../request/problems.ts';
import {
  FOLDER_EXAMPLE,
  OPENED_FOLDER_EXAMPLE,
  OpenedRuleFolderSchema,
  RuleFolderListSchema,
  type RuleFolderSchema,
} from './rule-folder-shapes.ts';
import { WHEN_UNKNOWN, withinLimits } from './rule-version.ts';

export interface RuleFolderParts {
  readonly loadedRules: LoadedRules;
  readonly desk: RuleDesk;
}

/** The version that a path is about. */
export const VERSION_IN_PATH = pathText('version', 'A rule set, like p2.v10');

export const UNKNOWN_FOLDER = refusal('unknownVersion', WHEN_UNKNOWN, () =>
  notFound('There is no such rule set in the RULES_DIR of this node.'),
);

export const listRuleFolders = operation({
  method: 'get',
  path: '/v1/platform/rules/versions',
  operationId: 'listRuleFolders',
  summary: 'The rule sets on this node',
  description: 'Newest first, also those that are refused because they have problems.',
  tag: 'Rules',
  grant: 'rules:read',
  answers: jsonAnswer('All of RULES_DIR', RuleFolderListSchema, {
    versions: [FOLDER_EXAMPLE],
    writable: true,
  }),
  refusals: [],
  answer: async (_asked, { loadedRules }: RuleFolderParts) => ({
    versions: loadedRules
      .versions()
      .toReversed()
      .map((version) => summary(version, loadedRules)),
    writable: await isWritable(loadedRules.rulesDir),
  }),
});

export const readRuleFolder = operation({
  method: 'get',
  path: '/v1/platform/rules/versions/{version}',
  operationId: 'readRuleFolder',
  summary: 'A rule set with its files',
  description:
    'Its files as text, its problems or its ladder, rules, facts and coverage by cases. A key of a platform is shown neither the sections nor the cases of other platforms: the files say so in their first line.',
  tag: 'Rules',
  grant: 'rules:read',
  parameters: [VERSION_IN_PATH],
  answers: jsonAnswer(
    'The rule set; one that is not sound has problems instead of ladder and coverage',
    OpenedRuleFolderSchema,
    OPENED_FOLDER_EXAMPLE,
  ),
  refusals: [UNKNOWN_FOLDER],
  answer: async ({ ctx, caller }, { loadedRules, desk }: RuleFolderParts): Promise<OpenedRuleFolder> => {
    const version = VERSION_IN_PATH.read(ctx);
    const opened = isRuleVersion(version)
      ? await withinLimits(() => desk.open(caller.platform, version))
      : null;
    if (opened === null || !isRuleVersion(version)) throw UNKNOWN_FOLDER.problem();
    const { files, filesDigest, isWhole, problems, digest, coverage, constants } = opened;
    const ruleSet = digest === null ? null : loadedRules.withDigest(digest);
    return {
      ...summary(version, loadedRules),
      files,
      filesDigest,
      whole: isWhole,
      constants,
      ...(ruleSet === null
        ? { ...UNSOUND, problems }
        : {
            ...outlineOf(ruleSet, caller.platform),
            coverage,
            problems: [],
          }),
    };
  },
});

function isWritable(folder: string): Promise<boolean> {
  return access(folder, constants.W_OK).then(
    () => true,
    () => false,
  );
}

function summary(version: RuleVersion, loadedRules: LoadedRules): Shape<typeof RuleFolderSchema> {
  const ruleSet = loadedRules.get(version);
  return {
    version,
    sound: ruleSet !== null,
    released: ruleSet?.released ?? false,
    digest: ruleSet?.digest ?? null,
    description: ruleSet?.description ?? '',
  };
}

const UNSOUND = { ladder: null, platforms: [], rules: [], facts: [], coverage: null } as const;

/** `2 %`, or `2 %, up to 100 EUR` */
function holdoutText({ share, maxAmounts }: Holdout): string {
  const percent = `${Number((share * 100).toFixed(2))} %`;
  const amounts = Object.entries(maxAmounts ?? {}).map(([currency, amount]) => `${amount} ${currency}`);
  return amounts.length === 0 ? percent : `${percent}, up to ${amounts.join(', ')}`;
}

/** A rule set with its files; an unsound one has problems instead of everything after them. */
type OpenedRuleFolder = Shape<typeof OpenedRuleFolderSchema>;

/** A ladder without the places of its levels, which explanations tell. */
function waitsOf({ levelsMs, ladders, resetAfterMs }: LadderSettings): LadderSettings {
  return { levelsMs, ladders, resetAfterMs };
}

/** What the console draws and asks for: the ladder, the rules with their places, the facts with their kinds. */
function outlineOf(ruleSet: RuleSet, reader: PlatformName) {
  const { groups, signals, verdicts, settings, platforms, facts } = ruleSet;
  const place = (rules: readonly Rule<object>[], gives: (index: number) => string | number) =>
    rules.map(({ name, at, holdout }, index) => ({
      name,
      at,
      gives: gives(index),
      holdout: holdout === undefined ? null : holdoutText(holdout),
    }));
  return {
    ladder: waitsOf(settings.ladder),
    platforms: [...platforms]
      .filter(([name]) => isInstallation(reader) || name === reader)
      .map(([name, { ladder }]) => ({ name, ladder: waitsOf(ladder) })),
    rules: [
      ...place(groups.rules, (index) => groups.rules[index]?.params.group ?? ''),
      ...place(signals.rules, (index) => signals.rules[index]?.params.weight ?? 0),
      ...place(verdicts.rules, (index) => verdicts.rules[index]?.params.verdict ?? ''),
    ],
    facts: facts
      .filter(({ fact }) => fact.kind !== 'concluded')
      .map(({ label, fact: { domain, unit, description } }) => ({ label, domain, unit, description })),
  };
}
