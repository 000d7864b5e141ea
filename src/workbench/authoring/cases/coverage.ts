import { choice, count, list, percent, plainText, shape, type ValueOf, yesNo } from '#base/shapes.ts';
import { OTHERWISE } from '#decision/decision.ts';
import type { NullableFactValue } from '#decision/facts/fact.ts';
import type { HoldoutRuleFileName, IsHeldOut } from '#decision/holdout.ts';
import type { AttributePseudonymizer } from '#decision/payer/attribute-hmacs.ts';
import { type Comparison, type Condition, listComparisons } from '#decision/rules/condition.ts';
import { formatComparisonTest } from '#decision/rules/condition-text.ts';
import { hashConstants } from '#decision/rules/evaluate/hashed-constants.ts';
import { createMatcher, type Matcher } from '#decision/rules/matcher.ts';
import type { RuleFiles } from '#decision/rules/parse/parse.ts';
import { locateMember } from '#decision/rules/parse/places.ts';
import { type Location, locationSchema } from '#decision/rules/problem.ts';
import { countRules, type MatchableRule, type RuleSet } from '#decision/rules/rule-set.ts';

const testedShare = (description: string) =>
  shape(description, {
    tested: count('Those of them that are tested'),
    total: count('All of them'),
    percent: percent('Rounded down'),
  });

/** How many of the rules or conditions the cases test: tested, total and percent. */
export type CoveredShare = ValueOf<ReturnType<typeof testedShare>>;

const UntestedRuleSchema = shape('A rule, or an `otherwise`, that decided in no case', {
  name: plainText('The name of the rule'),
  at: locationSchema,
  asked: yesNo('Cases asked it; otherwise an earlier rule always answered first'),
});

/** The sides of a condition that no case has shown: that it holds, that it does not hold, or both. */
const UNSEEN_SIDES = ['true', 'false', 'true and false'] as const;

const OneSidedConditionSchema = shape('A condition seen only one way', {
  rule: plainText('The name of the rule'),
  condition: plainText('As written'),
  at: locationSchema,
  missing: choice(UNSEEN_SIDES, 'What no case has shown'),
});

export const CoverageSchema = shape('What the cases exercise', {
  rules: testedShare('Rules that decided in a case'),
  conditions: testedShare('Conditions seen both true and false'),
  untestedRules: list(UntestedRuleSchema, 'The untested rules, in the sequence of asking'),
  oneSidedConditions: list(OneSidedConditionSchema, 'The conditions, in the sequence of asking'),
});

export type Coverage = ValueOf<typeof CoverageSchema>;

interface RuleRecord {
  readonly name: string;
  readonly at: Location;
  asked: boolean;
  /** How often the rule matched without being skipped, or answered as an `otherwise`. */
  counted: number;
  readonly comparisons: readonly ComparisonRecord[];
}

interface ComparisonRecord {
  readonly condition: Comparison;
  readonly matches: Matcher;
  seenTrue: boolean;
  seenFalse: boolean;
}

/**
 * Measures which rules and conditions the cases exercise. Rules after the first match are not evaluated, so their
 * conditions are not counted as seen.
 */
export class CoverageMeter {
  /** The rule set to decide with. It has the same rules, but each rule notes the values that it sees. */
  readonly watchedRules: RuleSet;
  readonly #ruleCount: number;
  readonly #records: RuleRecord[] = [];
  /** The functions that note that a matching rule is skipped, by file and name of the rule. */
  readonly #skips = new Map<string, () => void>();
  readonly #hmacs: AttributePseudonymizer;
  #lastValues: readonly NullableFactValue[] = [];

  /** `files` say where each `otherwise` is written. */
  constructor(rules: RuleSet, files: RuleFiles) {
    const { groups, signals, verdicts, flags } = rules;
    this.#ruleCount = countRules(rules);
    this.#hmacs = rules.attributeHmacs;
    this.watchedRules = {
      ...rules,
      groups: {
        ...groups,
        rules: this.#watchFirstMatch('groups', groups.rules, locateMember(files, 'groups.yaml', OTHERWISE)),
      },
      signals: {
        ...signals,
        exempt: signals.exempt === null ? null : this.#watch('bot-signals', signals.exempt, () => {}),
        rules: signals.rules.map((rule) => this.#watch('bot-signals', rule, () => {})),
      },
      verdicts: {
        ...verdicts,
        rules: this.#watchFirstMatch(
          'verdicts',
          verdicts.rules,
          locateMember(files, 'verdicts.yaml', OTHERWISE),
        ),
      },
      flags: { rules: flags.rules.map((rule) => this.#watchRule(rule, () => {}).watched) },
    };
  }

  /** The values that the rules saw last, including the conclusions from them. */
  get lastValues(): readonly NullableFactValue[] {
    return this.#lastValues;
  }

  /**
   * Returns a test that holds the clients of a case out of these rules. Rules are named by file and name. A rule that
   * matched and was skipped is not counted as tested.
   */
  createHoldOutTest(rules: readonly string[]): IsHeldOut {
    return (rule) => {
      const isHeldOut = rules.includes(rule);
      if (isHeldOut) this.#skips.get(rule)?.();
      return isHeldOut;
    };
  }

  getCoverage(): Coverage {
    const comparisons = this.#records.flatMap(({ name, comparisons }) =>
      comparisons.map((comparison) => ({ rule: name, ...comparison })),
    );
    const untested = this.#records.filter(({ counted }) => counted === 0);
    const oneSided = comparisons.filter(({ seenTrue, seenFalse }) => !seenTrue || !seenFalse);
    return {
      rules: toShare(this.#ruleCount - untested.length, this.#ruleCount),
      conditions: toShare(comparisons.length - oneSided.length, comparisons.length),
      untestedRules: untested.map(({ name, at, asked }) => ({ name, at, asked })),
      oneSidedConditions: oneSided.map(({ rule, condition, seenTrue, seenFalse }) => ({
        rule,
        condition: `${condition.fact.label} ${formatComparisonTest(condition.operator, condition.value, condition.list)}`,
        at: condition.at,
        missing: seenTrue ? 'false' : seenFalse ? 'true' : 'true and false',
      })),
    };
  }

  /**
   * Watches the rules of a file in which the first matching rule decides. If the last rule does not match or is
   * skipped, `otherwise` decides.
   */
  #watchFirstMatch<Params>(
    file: HoldoutRuleFileName,
    rules: readonly MatchableRule<Params>[],
    otherwiseAt: Location,
  ): readonly MatchableRule<Params>[] {
    const otherwise = createRecord(OTHERWISE, otherwiseAt, []);
    const watched = rules.map((rule, index) =>
      this.#watch(file, rule, () => {
        if (index === rules.length - 1) otherwise.counted++;
      }),
    );
    this.#records.push(otherwise);
    return watched;
  }

  /** Watches a rule. `onPassed` is called when the rules after it are asked. */
  #watch<Params>(
    file: HoldoutRuleFileName,
    rule: MatchableRule<Params>,
    onPassed: () => void,
  ): MatchableRule<Params> {
    const { record, watched } = this.#watchRule(rule, onPassed);
    this.#skips.set(`${file}/${rule.name}`, () => {
      record.counted--;
      onPassed();
    });
    return watched;
  }

  #watchRule<Params>(rule: MatchableRule<Params>, onPassed: () => void) {
    const record = createRecord(rule.name, rule.at, createComparisonRecords(rule.condition, this.#hmacs));
    this.#records.push(record);
    const matches = (values: readonly NullableFactValue[]) => {
      this.#lastValues = values;
      const matched = rule.matches(values);
      record.asked = true;
      for (const comparison of record.comparisons) {
        if (comparison.matches(values)) comparison.seenTrue = true;
        else comparison.seenFalse = true;
      }
      if (matched) record.counted++;
      else onPassed();
      return matched;
    };
    return { record, watched: { ...rule, matches } };
  }
}

function createRecord(name: string, at: Location, comparisons: readonly ComparisonRecord[]): RuleRecord {
  return { name, at, asked: false, counted: 0, comparisons };
}

function createComparisonRecords(
  condition: Condition,
  hmacs: AttributePseudonymizer,
): readonly ComparisonRecord[] {
  return listComparisons([condition]).map((comparison) => ({
    condition: comparison,
    matches: createMatcher(hashConstants(comparison, hmacs)),
    seenTrue: false,
    seenFalse: false,
  }));
}

function toShare(tested: number, total: number): CoveredShare {
  return { tested, total, percent: total === 0 ? 100 : Math.floor((tested * 100) / total) };
}
