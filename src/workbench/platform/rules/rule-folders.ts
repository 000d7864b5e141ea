import { constants } from 'node:fs';
import { access } from 'node:fs/promises';
import { Type } from '#base/json-schema.ts';
import * as s from '#base/shapes.ts';
import { isInstallation } from '#checkout/access/access-keys.ts';
import {
  createTaggedOperations,
  declareJsonAnswer,
  declareJsonBody,
  declareOperation,
  type GrantedRequest,
} from '#checkout/http/operation/operation.ts';
import { declareRefusal, HttpProblem, runRefusingKnownErrors } from '#checkout/http/request/problems.ts';
import type { LoadedRules } from '#checkout/rollout/loaded-rules.ts';
import { FACT_DOMAIN_SCHEMAS } from '#decision/facts/fact.ts';
import type { PlatformName } from '#decision/payer/client-key.ts';
import type { LadderSettings } from '#decision/payer/ladder.ts';
import { locationSchema, RuleProblemSchema } from '#decision/rules/problem.ts';
import {
  DIGEST_PATTERN,
  type Holdout,
  type Rule,
  type RuleSet,
  type RuleVersion,
  ruleVersionSchema,
} from '#decision/rules/rule-set.ts';
import { WrittenConstantSchema } from '#decision/rules/text/constant.ts';
import { ProposalRefused } from '#workbench/approvals/proposals.ts';
import { CaseResultsSchema } from '#workbench/authoring/cases/cases.ts';
import { LostCasesOrNullSchema } from '#workbench/authoring/desk/examine.ts';
import { DraftRefused } from '#workbench/authoring/draft.ts';
import { declareApprovalOperation } from '#workbench/platform/approval-operation.ts';
import { createHangUpSignal } from '#workbench/platform/hang-up.ts';
import type { RuleParts } from '#workbench/platform/parts.ts';
import {
  BAD_VERSION,
  RULE_SET_TOO_HEAVY,
  runRefusingTooHeavyWork,
  UNKNOWN_VERSION,
  VERSION_IN_PATH,
} from './rule-version.ts';

const RuleFolderSchema = s.named(
  'RuleFolder',
  s.shape('A rule set on this node', {
    version: ruleVersionSchema,
    sound: s.yesNo('False: it has problems, and decides nothing'),
    released: s.yesNo('False for a draft, and for a version that has problems'),
    digest: s.nullable(s.digestText('SHA-256 over its files; null when it has problems')),
    description: s.plainText("The analyst's words; empty when it has problems", 'A longer first wait.'),
  }),
);

export const RuleFolderListSchema = s.named(
  'RuleFolderList',
  s.shape('The rule sets on this node', {
    versions: s.list(RuleFolderSchema, 'Newest first'),
    writable: s.yesNo('False: this node cannot write to RULES_DIR, so no draft can be stored there'),
  }),
);

const LadderSettingsSchema = s.shape('Waits of the cooldown ladder', {
  levelsMs: s.list(Type.Integer({ minimum: 1 }), 'Wait of level 1, 2 and so on, in milliseconds'),
  ladders: Type.Record(s.list(Type.Integer({ minimum: 1 }), 'The same, of one ladder'), {
    description: 'The ladders that rules name, by name',
  }),
  resetAfterMs: Type.Integer({
    minimum: 1,
    description: 'A client who asks for nothing this long starts again without a wait',
  }),
  resetsAfterMs: Type.Record(
    Type.Integer({ minimum: 1, description: 'The same, after waits on one ladder' }),
    {
      description: 'For the named ladders that differ in it, by name',
    },
  ),
});

const problems = s.list(RuleProblemSchema, 'The problems, in the sequence of reading');

export const OpenedRuleFolderSchema = s.named(
  'OpenedRuleFolder',
  s.shape('A rule set with its files', {
    ...RuleFolderSchema.properties,
    filesDigest: s.nullable(
      s.plainText(
        'SHA-256 over its files, also when they have problems; null when a file cannot be read, or is not shown',
      ),
    ),
    whole: s.yesNo('False: a long text was cut'),
    files: s.list(
      s.shape('A file', {
        path: s.plainText('Below the folder', 'ladder.yaml'),
        text: s.plainText('The current state', 'levels: [40s, 5m, 30m]\nresetAfter: 24h\n'),
      }),
      'All but release.json',
    ),
    problems,
    ladder: s.nullable(LadderSettingsSchema),
    platforms: s.list(
      s.shape('A platform with a ladder of its own', {
        name: s.plainText('Its name', 'asked-too-early'),
        ladder: LadderSettingsSchema,
      }),
      'Empty when there is none',
    ),
    rules: s.list(
      s.shape('A rule', {
        name: s.plainText('Its name', 'asked-too-early'),
        at: locationSchema,
        gives: Type.Unsafe<string | number>({
          type: ['string', 'number'],
          description: 'A group, a weight or a verdict',
        }),
        holdout: s.nullable(
          s.plainText('The share of the clients for whom the rule is skipped, and up to which amounts'),
        ),
      }),
      'The rules by file, in the sequence in which they are asked',
    ),
    facts: s.list(
      s.shape('A fact that the rules ask for', {
        label: s.plainText('With its window, like "verdicts(10m)"', 'attemptOpen'),
        domain: s.oneOf('type', FACT_DOMAIN_SCHEMAS, 'What values the fact can have'),
        unit: s.nullable(s.plainText('The unit of its values; null: none')),
        description: s.plainText('What it counts', 'A requisite was granted and is not paid yet'),
      }),
      'Each once',
    ),
    constants: s.list(WrittenConstantSchema, 'The constants, in the sequence of the files'),
    coverage: s.nullable(CaseResultsSchema),
  }),
);

const listRuleFolders = declareOperation({
  route: 'get /v1/platform/rules/versions',
  summary: 'The rule sets on this node',
  description:
    'Lists the versions in RULES_DIR, newest first, including those that are refused because they have problems.',
  grant: 'rules:read',
  answers: declareJsonAnswer('All of RULES_DIR', RuleFolderListSchema),
  answer: async (_asked, { loadedRules }: RuleParts) => ({
    versions: loadedRules
      .listVersions()
      .toReversed()
      .map((version) => toSummary(version, loadedRules)),
    writable: await access(loadedRules.rulesDir, constants.W_OK).then(
      () => true,
      () => false,
    ),
  }),
});

const readRuleFolder = declareOperation({
  route: 'get /v1/platform/rules/versions/{version}',
  summary: 'A rule set with its files',
  description:
    'Shows its files as text, and its problems or its ladder, rules, facts and coverage by cases. A key of a platform does not see the sections and cases of other platforms; the first line of such a file says so.',
  grant: 'rules:read',
  parameters: [VERSION_IN_PATH],
  answers: declareJsonAnswer(
    'The rule set; one that has problems has no ladder and no coverage',
    OpenedRuleFolderSchema,
  ),
  refusals: [BAD_VERSION, UNKNOWN_VERSION, RULE_SET_TOO_HEAVY],
  answer: async (
    { ctx, caller },
    { loadedRules, desk }: RuleParts,
  ): Promise<s.ValueOf<typeof OpenedRuleFolderSchema>> => {
    const version = VERSION_IN_PATH.read(ctx);
    const opened = await runRefusingTooHeavyWork(() =>
      desk.open(caller.platform, version, createHangUpSignal(ctx)),
    );
    if (opened === null) throw UNKNOWN_VERSION.problem(version);
    const { files, filesDigest, isWhole, problems, digest, coverage, constants } = opened;
    const ruleSet = digest === null ? null : loadedRules.findByDigest(digest);
    return {
      ...toSummary(version, loadedRules),
      files,
      filesDigest,
      whole: isWhole,
      constants,
      ...(ruleSet === null
        ? { ...UNSOUND, problems }
        : { ...createOutline(ruleSet, caller.platform), coverage, problems: [] }),
    };
  },
});

function toSummary(version: RuleVersion, loadedRules: LoadedRules): s.ValueOf<typeof RuleFolderSchema> {
  const ruleSet = loadedRules.findByVersion(version);
  return {
    version,
    sound: ruleSet !== null,
    released: ruleSet?.released ?? false,
    digest: ruleSet?.digest ?? null,
    description: ruleSet?.description ?? '',
  };
}

const UNSOUND = { ladder: null, platforms: [], rules: [], facts: [], coverage: null } as const;

/** Formats a holdout as `2 %` or `2 %, up to 100 EUR`. */
function formatHoldout({ share, maxAmounts }: Holdout): string {
  const percent = `${Number((share * 100).toFixed(2))} %`;
  const amounts = Object.entries(maxAmounts ?? {}).map(([currency, amount]) => `${amount} ${currency}`);
  return amounts.length === 0 ? percent : `${percent}, up to ${amounts.join(', ')}`;
}

/** Returns a ladder without the positions of its levels in the files. Explanations show these positions. */
function pickWaits({ levelsMs, ladders, resetAfterMs, resetsAfterMs }: LadderSettings): LadderSettings {
  return { levelsMs, ladders, resetAfterMs, resetsAfterMs };
}

/**
 * Returns the parts of a rule set that the console shows: the ladder, the rules with their positions in the files,
 * and the facts with their kinds of values.
 */
function createOutline(ruleSet: RuleSet, reader: PlatformName) {
  const { groups, signals, verdicts, flags, settings, platforms, facts } = ruleSet;
  const place = (rules: readonly Rule<object>[], gives: (index: number) => string | number) =>
    rules.map(({ name, at, holdout }, index) => ({
      name,
      at,
      gives: gives(index),
      holdout: holdout === undefined ? null : formatHoldout(holdout),
    }));
  return {
    ladder: pickWaits(settings.ladder),
    platforms: [...platforms]
      .filter(([name]) => isInstallation(reader) || name === reader)
      .map(([name, { ladder }]) => ({ name, ladder: pickWaits(ladder) })),
    rules: [
      ...place(groups.rules, (index) => groups.rules[index]?.params.group ?? ''),
      ...place(signals.rules, (index) => signals.rules[index]?.params.weight ?? 0),
      ...place(verdicts.rules, (index) => verdicts.rules[index]?.params.verdict ?? ''),
      ...place(flags.rules, (index) => flags.rules[index]?.params.flag ?? ''),
    ],
    facts: facts
      .filter(({ fact }) => fact.kind !== 'concluded')
      .map(({ label, fact: { domain, unit, description } }) => ({ label, domain, unit, description })),
  };
}

const ReleaseBodySchema = Type.Object({
  digest: s.withExample(
    Type.String({ pattern: DIGEST_PATTERN, description: 'The digest of the files that were read' }),
    s.DIGEST_EXAMPLE,
  ),
  reason: s.text(1000, 'Why, for the audit log', 'longer first wait'),
});

const ReleasedVersionSchema = s.named(
  'ReleasedVersion',
  s.shape('A version that may decide, and never changes', {
    version: ruleVersionSchema,
    digest: s.digestText('SHA-256 over its files'),
    lostCases: LostCasesOrNullSchema,
  }),
);

const RELEASE_REFUSED = declareRefusal(
  'release-refused',
  'The version cannot be released: it has findings, failed cases or no cases, is already released, or was changed meanwhile.',
  (detail: string) => new HttpProblem(409, 'release refused', detail),
  '2 cases of p2.v11 failed; correct the rules, or what the cases expect, first',
);

const releaseVersion = declareApprovalOperation({
  route: 'post /v1/platform/rules/versions/{version}/release',
  summary: 'Release a version',
  description:
    'Releases the version, as the command "rules release" does, if it has no findings and all its cases pass. From then on its files never change, and it decides once somebody rolls it out.',
  grant: 'operate',
  parameters: [VERSION_IN_PATH],
  body: declareJsonBody('ReleaseBody', ReleaseBodySchema),
  answers: declareJsonAnswer('The released version', ReleasedVersionSchema),
  refusals: [BAD_VERSION, RELEASE_REFUSED, RULE_SET_TOO_HEAVY],
  readChange: async (asked) => readReleaseChange(asked),
  answer: async (asked, { approvals }: RuleParts) => {
    const change = await readReleaseChange(asked);
    const { platform, actor } = asked.caller;
    const release = () =>
      runRefusingTooHeavyWork(() => approvals.release({ platform, who: actor.text }, change));
    const lost = await runRefusingKnownErrors(
      release,
      RELEASE_REFUSED.problem,
      DraftRefused,
      ProposalRefused,
    );
    return { version: change.version, digest: change.digest, lostCases: lost };
  },
});

async function readReleaseChange({ ctx, body }: GrantedRequest<s.ValueOf<typeof ReleaseBodySchema>>) {
  return { what: 'release', version: VERSION_IN_PATH.read(ctx), ...(await body()) } as const;
}

export const RULE_FOLDER_OPERATIONS = createTaggedOperations('Rules', {
  listRuleFolders,
  readRuleFolder,
  releaseVersion,
});
