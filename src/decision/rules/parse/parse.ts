import { escapeInvisibleCharacters } from '#base/invisible-characters.ts';
import { CLIENT_GROUPS } from '#decision/decision-words.ts';
import { NO_DECLARED_ATTRIBUTES } from '#decision/payer/attributes.ts';
import {
  isPlatformName,
  PLATFORM_NAME_FORM_TEXT,
  PLATFORM_NAME_PATTERN,
} from '#decision/payer/client-key.ts';
import type { ClientGroup } from '#decision/payer/client-state.ts';
import type { Smoothing } from '#decision/payer/payment-score.ts';
import { findNearestName, formatNameHint, type RuleProblem, sortProblems } from '#decision/rules/problem.ts';
import { BREACH_DESCRIPTIONS, type MeantBreaches, PROMISE_BREACHES } from '#decision/rules/promises.ts';
import {
  isRuleVersion,
  type ParsedRules,
  type PlatformSettings,
  RULE_VERSION_FORM,
  RULE_VERSION_PATTERN,
} from '#decision/rules/rule-set.ts';
import { ATTRIBUTES_FORM } from './attributes.ts';
import { listEqualPriorityProblems } from './equal-priorities.ts';
import { FactRefs } from './fact-refs.ts';
import {
  amountsForm,
  CONSTANT_DESCRIPTIONS,
  CURRENCY_FORM,
  type Form,
  mappingForm,
  namedMembersForm,
  numberForm,
  optionalForm,
  parsedTextForm,
  textForm,
  withCheck,
  withDefault,
  withMessageName,
  withSchemaAdditions,
  yesNoForm,
} from './form.ts';
import { RuleLadders } from './rule-ladders.ts';
import { RuleLists } from './rule-lists.ts';
import { flagsFileForm, groupsFileForm, signalsFileForm, verdictsFileForm, WEIGHT_RANGE } from './rules.ts';
import { YamlFile } from './yaml-file.ts';

/** The texts of a rule set's files by their path inside its folder, like `verdicts.yaml` or `cases/ladder.yaml`. */
export type RuleFiles = ReadonlyMap<string, string>;

export type ParseResult =
  | { readonly ok: true; readonly rules: ParsedRules }
  | { readonly ok: false; readonly problems: readonly RuleProblem[] };

/** The most files of a rule set, including its cases and lists. */
export const RULE_SET_FILES_MAX = 500;

export const RULE_FILE_NAMES: readonly string[] = [
  'ruleset.yaml',
  'groups.yaml',
  'bot-signals.yaml',
  'verdicts.yaml',
  'ladder.yaml',
  'limits.yaml',
  'flags.yaml',
];

const NO_FLAGS: ParsedRules['flags'] = { rules: [] };

const FILES_NAMING_LISTS = ['groups.yaml', 'bot-signals.yaml', 'verdicts.yaml', 'flags.yaml'] as const;

const NO_LIMITS: ParsedRules['limits'] = new Map();

/**
 * Parses a rule set. Returns the rules if all files are sound. Otherwise returns every problem with its place.
 * `folder` is the name of the rule set's folder, and the rule set's `ruleVersion` must equal it.
 */
export function parseRuleSet(folder: string, files: RuleFiles): ParseResult {
  if (files.size > RULE_SET_FILES_MAX) return { ok: false, problems: [reportTooManyFiles(files)] };
  const problems: RuleProblem[] = [];
  const unread = refuseUnknownFiles(files, problems);
  const open = <T>(name: string, form: Form<T>) =>
    unread.has(name) ? null : readFile(files, name, problems, form, unread);
  const ladders = new RuleLadders();
  const ladder = open('ladder.yaml', ladders.fileForm);
  const ruleSet = open('ruleset.yaml', createRuleSetFileForm(folder, ladders));
  // Each file adds the facts that it asks for, so the sequence of these calls gives the sequence of the values in a
  // decision.
  const refs = new FactRefs(ruleSet?.attributes ?? null);
  const named = new Map([...files].filter(([path]) => FILE_NAME.test(path)));
  const ruleLists = new RuleLists(named, problems);
  const names = { refs, lists: ruleLists, ladders };
  const groups = open('groups.yaml', groupsFileForm(names));
  const signals = open('bot-signals.yaml', signalsFileForm(names));
  const flags = files.has('flags.yaml') ? open('flags.yaml', flagsFileForm(names)) : NO_FLAGS;
  const others = [groups, signals, flags].flatMap((file) => file?.rules.map(({ name }) => name) ?? []);
  const verdicts = open('verdicts.yaml', verdictsFileForm(names, others));
  // A file that cannot be read might use any list. If ruleset.yaml is not sound, attributes are not known, and a rule
  // about an attribute might use any list, too. In these cases no list is reported as unused.
  if (ruleSet !== null && !FILES_NAMING_LISTS.some((name) => unread.has(name))) ruleLists.checkUnused();
  if (verdicts !== null) ladders.checkUnused();
  const limitsNeeded = files.has('limits.yaml') || wantsLimits(ruleSet);
  const limits = limitsNeeded ? open('limits.yaml', LIMITS_FILE_FORM) : NO_LIMITS;
  const allSound = problems.length === 0;
  if (!allSound || !ladder || !ruleSet || !groups || !signals || !verdicts || !flags || !limits) {
    return { ok: false, problems: sortProblems(problems) };
  }
  const settings = { ...ruleSet.settings, ladder };
  const platforms = new Map(
    [...ruleSet.platforms].map(([name, own]) => [name, overrideSettings(settings, own)]),
  );
  const { ruleVersion: version, description, meant, attributes } = ruleSet;
  const facts = refs.listAll();
  const lists = ruleLists.getUsedLists();
  const rules = {
    version,
    description,
    settings,
    platforms,
    attributes,
    facts,
    groups,
    signals,
    verdicts,
    flags,
    limits,
    lists,
    meant,
  };
  // This check comes last, because only an otherwise sound rule set shows whether two rules can both be first.
  const unclear = listEqualPriorityProblems(rules);
  return unclear.length === 0 ? { ok: true, rules } : { ok: false, problems: sortProblems(unclear) };
}

/**
 * Reads one file. Returns null if the file is not sound. A file that is missing or is not YAML is also added to
 * `unread`.
 */
function readFile<T>(
  files: RuleFiles,
  name: string,
  problems: RuleProblem[],
  form: Form<T>,
  unread: Set<string>,
): T | null {
  const text = files.get(name);
  if (text === undefined) {
    problems.push({ at: { file: name, line: 1, column: 1 }, message: 'the file is missing' });
    unread.add(name);
    return null;
  }
  const file = new YamlFile(name, text, problems);
  if (file.root !== null) return form.read(file, file.root, name);
  unread.add(name);
  return null;
}

function reportTooManyFiles(files: RuleFiles): RuleProblem {
  const file = [...files.keys()][RULE_SET_FILES_MAX] ?? '';
  const message = `a rule set has at most ${RULE_SET_FILES_MAX} files, including cases and lists; join some of them`;
  return { at: { file, line: 1, column: 1 }, message };
}

/** Matches a file directly in `cases` or `lists`, whatever characters its name has. */
const SUBFOLDER_FILE = /^(?:cases|lists)\/[^/]+\.yaml$/;
/** Only ASCII names, because every operating system accepts them, and letters of other alphabets may look alike. */
const FILE_NAME = /^(?:cases|lists)\/[A-Za-z0-9][A-Za-z0-9._-]{0,99}\.yaml$/;

/**
 * Reports files with unknown names. Returns the expected files that exist under another name, so that they are not
 * reported as missing as well.
 */
function refuseUnknownFiles(files: RuleFiles, problems: RuleProblem[]): Set<string> {
  const misnamed = new Set<string>();
  for (const path of files.keys()) {
    if (RULE_FILE_NAMES.includes(path) || FILE_NAME.test(path)) continue;
    const missing = RULE_FILE_NAMES.filter((name) => !files.has(name) && !misnamed.has(name));
    const meant = findNearestName(path, missing);
    if (meant !== null) misnamed.add(meant);
    problems.push({
      at: { file: escapeInvisibleCharacters(path), line: 1, column: 1 },
      message: explainFileName(path, meant),
    });
  }
  return misnamed;
}

function explainFileName(path: string, meant: string | null): string {
  if (meant !== null) return `unknown file, and ${meant} is missing; rename it to ${meant}`;
  if (SUBFOLDER_FILE.test(path))
    return 'a file of cases or a list is named in letters, digits, points, hyphens and underscores, at most 100 before .yaml, and begins with a letter or a digit, like cases/ladder.yaml; rename it';
  return `unknown file${formatNameHint(path, RULE_FILE_NAMES)}; tests go into cases/*.yaml, lists into lists/*.yaml`;
}

function wantsLimits(ruleSet: RuleSetFile | null): boolean {
  if (ruleSet === null) return false;
  const { settings, platforms } = ruleSet;
  return settings.scoringLimits || [...platforms.values()].some((own) => own.scoringLimits === true);
}

/** The values that the prior of a smoothing may have. */
export const PRIOR_RANGE = { min: 0, max: 1 } as const;

const DEFAULT_SMOOTHING: Smoothing = { prior: 0.5, weight: 2 };

type RuleSetFile = NonNullable<ReturnType<ReturnType<typeof createRuleSetFileForm>['read']>>;

/** The form of `ruleset.yaml`. `folder` is the name that its ruleVersion must equal. */
export function createRuleSetFileForm(folder: string, ladders: RuleLadders) {
  const { currency, timeZone, smoothing, scoringLimits } = SETTINGS;
  const settings = mappingForm(
    'The settings of all platforms.',
    {
      currency,
      timeZone: withDefault(timeZone, 'UTC'),
      smoothing: withDefault(smoothing, DEFAULT_SMOOTHING),
      scoringLimits,
    },
    (own) => own,
  );
  const platform = mappingForm(
    'The settings that differ for this platform.',
    {
      currency: optionalForm(currency),
      timeZone: optionalForm(timeZone),
      smoothing: optionalForm(smoothing),
      scoringLimits: optionalForm(scoringLimits),
      ladder: optionalForm(ladders.platformForm),
    },
    (own): PlatformOverrides => own,
  );
  const platforms = namedMembersForm(
    'Settings of single platforms, by name.',
    { pattern: PLATFORM_NAME_PATTERN },
    platform,
    {
      nameItem: (name) => `platform "${name}"`,
      refuseName: (name) =>
        isPlatformName(name) ? null : `a platform name has ${PLATFORM_NAME_FORM_TEXT}, unlike "${name}"`,
    },
  );
  const whole = mappingForm(
    'A rule set.',
    {
      ruleVersion: withCheck(VERSION, (version, file, node) =>
        version === folder
          ? version
          : file.report(node, `ruleVersion "${version}" must equal the name of its folder, "${folder}"`),
      ),
      description: textForm('What this version is for.'),
      settings,
      attributes: withDefault(ATTRIBUTES_FORM, NO_DECLARED_ATTRIBUTES),
      platforms: withDefault(platforms, NO_PLATFORMS),
      meant: withDefault(MEANT, NOTHING_MEANT),
    },
    (file) => file,
  );
  return withMessageName('the rule set', whole);
}

/** The settings that one platform overrides. */
type PlatformOverrides = { readonly [Name in keyof PlatformSettings]: PlatformSettings[Name] | undefined };

const NO_PLATFORMS: ReadonlyMap<string, PlatformOverrides> = new Map();

/** Returns the settings of a platform: its own settings, and those of the rule set for the rest. */
function overrideSettings(base: PlatformSettings, own: PlatformOverrides): PlatformSettings {
  return {
    currency: own.currency ?? base.currency,
    timeZone: own.timeZone ?? base.timeZone,
    smoothing: own.smoothing ?? base.smoothing,
    scoringLimits: own.scoringLimits ?? base.scoringLimits,
    ladder: own.ladder ?? base.ladder,
  };
}

const NOTHING_MEANT: MeantBreaches = {};

const MEANT = mappingForm(
  'Promises of the interface or the guide that this version breaks on purpose, each with a reason.',
  Object.fromEntries(
    PROMISE_BREACHES.map((name) => [name, optionalForm(textForm(BREACH_DESCRIPTIONS[name]))]),
  ),
  (breaches): MeantBreaches => breaches,
);

const VERSION = parsedTextForm(
  { pattern: RULE_VERSION_PATTERN, description: "Equals the folder's name." },
  (text) => (isRuleVersion(text) ? text : null),
  (text) => `"${text}" must be ${RULE_VERSION_FORM}`,
);

/** An offset such as +02:00 is not a time zone, because it has no summer time. */
const TIME_ZONE = withSchemaAdditions(
  parsedTextForm(
    {
      pattern: '\\S',
      description:
        'The time zone of hourOfDay and dayOfWeek, as an IANA name like Europe/Berlin; UTC when left out.',
    },
    (name) => (isTimeZone(name) ? name : null),
    (name) => {
      const hint = formatNameHint(name, ['UTC', ...Intl.supportedValuesOf('timeZone')]);
      const near = hint.startsWith('; did you mean') ? hint : '';
      return `must be an IANA name, like Europe/Berlin or UTC, not "${name}"${near}`;
    },
  ),
  { examples: ['UTC', 'Europe/Berlin', 'America/Sao_Paulo', 'Asia/Kolkata'] },
);

function isTimeZone(name: string): boolean {
  if (!/^[A-Z]/.test(name)) return false;
  try {
    return new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions().timeZone !== '';
  } catch {
    return false;
  }
}

const SMOOTHING = mappingForm(
  CONSTANT_DESCRIPTIONS.smoothing,
  { prior: numberForm(PRIOR_RANGE), weight: numberForm(WEIGHT_RANGE) },
  ({ prior, weight }, { file, node }): Smoothing | null => {
    // Every new client has the score 0.5000, whatever the prior is. The first outcome must not move the score in the
    // wrong direction.
    if (weight * (0.5 - prior) > 0.5) {
      return file.report(
        node,
        'a first paid order would lower the score of 0.5000 that every new client has; raise prior or lower weight until weight * (0.5 - prior) is at most 0.5',
      );
    }
    if (weight * (prior - 0.5) > 0.5) {
      return file.report(
        node,
        'a first unpaid order would raise the score of 0.5000 that every new client has; lower prior or weight until weight * (prior - 0.5) is at most 0.5',
      );
    }
    return { prior, weight };
  },
);

const SETTINGS = {
  currency: CURRENCY_FORM,
  timeZone: TIME_ZONE,
  smoothing: SMOOTHING,
  scoringLimits: yesNoForm('Whether score answers carry payLimitValue.'),
};

const limitsOf = (group: ClientGroup) =>
  withMessageName(`limits of ${group}`, amountsForm('The highest amount at once, by currency.', 'the limit'));

const GROUP_LIMITS = mappingForm(
  'payLimitValue by client group.',
  Object.fromEntries(CLIENT_GROUPS.map((group) => [group, limitsOf(group)])),
  (limits) => new Map(CLIENT_GROUPS.map((group) => [group, formatLimits(limits[group] ?? new Map())])),
);

/** The form of `limits.yaml`: the items of payLimitValue, like `EUR:250.00`, by group. */
export const LIMITS_FILE_FORM = mappingForm(
  'The highest amount that a payer should be allowed to pay at once.',
  { limits: withMessageName('"limits"', GROUP_LIMITS) },
  ({ limits }): ParsedRules['limits'] => limits,
);

function formatLimits(limits: ReadonlyMap<string, string>): readonly string[] {
  return [...limits].map(([currency, amount]) => `${currency}:${amount}`);
}
