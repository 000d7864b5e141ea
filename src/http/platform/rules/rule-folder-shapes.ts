import { RuleCoverageSchema } from '../../../authoring/cases/cases.ts';
import type { FactDomain } from '../../../facts/fact.ts';
import { Type } from '../../../json-schema.ts';
import { ConstantSchema } from '../../../rules/folder/constant.ts';
import { location, ProblemSchema } from '../../../rules/problem.ts';
import { ruleVersion } from '../../../rules/rule-set.ts';
import { always, list, named, nullable, oneOf, shape, word, yesNo } from '../../../shapes.ts';
import { DIGEST_EXAMPLE } from '../../openapi/decision-shapes.ts';

/** The rule sets of a node as they are answered. */

export const RuleFolderSchema = named(
  'RuleFolder',
  shape('A rule set on this node', {
    version: ruleVersion,
    sound: yesNo('False: it has problems, and decides nothing'),
    released: yesNo('False for a draft, and for one that is not sound'),
    digest: nullable(word('SHA-256 over its files; null when it is not sound')),
    description: word("The analyst's words; empty when it is not sound"),
  }),
);

export const RuleFolderListSchema = named(
  'RuleFolderList',
  shape('The rule sets on this node', {
    versions: list(RuleFolderSchema, 'Newest first'),
    writable: yesNo('False: this node may not write to RULES_DIR, so that no draft can be kept there'),
  }),
);

const LadderSettingsSchema = shape('Waits of the cooldown ladder', {
  levelsMs: list(Type.Integer({ minimum: 1 }), 'Wait of level 1, 2 and so on, in milliseconds'),
  ladders: Type.Record(list(Type.Integer({ minimum: 1 }), 'The same, of one ladder'), {
    description: 'The ladders that rules name, by name',
  }),
  resetAfterMs: Type.Integer({
    minimum: 1,
    description: 'A client who asks for nothing this long starts afresh',
  }),
});

const domain = Type.Unsafe<FactDomain>(
  oneOf(
    'type',
    {
      number: named(
        'NumberDomain',
        shape('A number', {
          type: always('number'),
          integer: yesNo('Whole numbers only'),
          min: Type.Number(),
          max: Type.Number(),
        }),
      ),
      boolean: named('BooleanDomain', shape('true or false', { type: always('boolean') })),
      enum: named(
        'EnumDomain',
        shape('One of some words', { type: always('enum'), values: list(Type.String(), 'The words') }),
      ),
      text: named('TextDomain', shape('A text', { type: always('text') })),
    },
    'What values the fact can have',
  ),
);

const problems = list(ProblemSchema, 'In the order of reading');

export const OpenedRuleFolderSchema = named(
  'OpenedRuleFolder',
  shape('A rule set with its files', {
    ...RuleFolderSchema.properties,
    filesDigest: nullable(
      word('SHA-256 over its files, sound or not; null when something cannot be read, or is not shown'),
    ),
    whole: yesNo('False: a text was cut, because it is long'),
    files: list(
      shape('A file', { path: word('Below the folder'), text: word('As it stands') }),
      'All but release.json',
    ),
    problems,
    ladder: nullable(LadderSettingsSchema),
    platforms: list(
      shape('A platform with a ladder of its own', { name: word('Its name'), ladder: LadderSettingsSchema }),
      'Empty when there is none',
    ),
    rules: list(
      shape('A rule', {
        name: word('Its name'),
        at: location,
        gives: Type.Unsafe<string | number>({
          type: ['string', 'number'],
          description: 'A group, a weight or a verdict',
        }),
        holdout: nullable(word('The share of the clients for whom it is skipped, and up to which amounts')),
      }),
      'By file, in the order of asking',
    ),
    facts: list(
      shape('A fact that the rules ask for', {
        label: word('With its window, like "verdicts(10m)"'),
        domain,
        unit: nullable(word('Of its values; null: none')),
        description: word('What it counts'),
      }),
      'What may be given as `facts` to what-if',
    ),
    constants: list(ConstantSchema, 'In the order of the files'),
    coverage: nullable(RuleCoverageSchema),
  }),
);

export const FOLDER_EXAMPLE = {
  version: 'p2.v11',
  sound: true,
  released: true,
  digest: DIGEST_EXAMPLE,
  description: 'A longer first wait.',
} as const;

export const OPENED_FOLDER_EXAMPLE = {
  ...FOLDER_EXAMPLE,
  filesDigest: DIGEST_EXAMPLE,
  whole: true,
  files: [{ path: 'ladder.yaml', text: 'levels: [40s, 5m, 30m]\nresetAfter: 24h\n' }],
  problems: [],
  ladder: { levelsMs: [40_000, 300_000, 1_800_000], ladders: {}, resetAfterMs: 86_400_000 },
  platforms: [],
  rules: [
    {
      name: 'asked-too-early',
      at: { file: 'verdicts.yaml', line: 12, column: 5 },
      gives: 'WAIT',
      holdout: null,
    },
  ],
  facts: [
    {
      label: 'attemptOpen',
      domain: { type: 'boolean' },
      unit: null,
      description: 'A requisite was granted and is not paid yet',
    },
  ],
  constants: [{ path: 'ladder.levels[0]', file: 'ladder.yaml', text: '40s', from: 9, to: 12 }],
  coverage: {
    problems: [],
    passed: 12,
    failed: 0,
    failures: [],
    coverage: {
      rules: { tested: 9, total: 9, percent: 100 },
      conditions: { tested: 20, total: 20, percent: 100 },
      untestedRules: [],
      oneSidedConditions: [],
    },
  },
} as const;
