import { formatDuration } from '#base/duration.ts';
import { OTHERWISE } from '#decision/decision.ts';
import type { NullableFactValue } from '#decision/facts/fact.ts';
import { type Condition, listConditionFacts } from '#decision/rules/condition.ts';
import { joinWords } from '#decision/rules/condition-text.ts';
import type { RuleFiles } from '#decision/rules/parse/parse.ts';
import { locateMember } from '#decision/rules/parse/places.ts';
import type { Location, RuleProblem } from '#decision/rules/problem.ts';
import { type MeantBreaches, PROMISE_BREACHES, type PromiseBreach } from '#decision/rules/promises.ts';
import { createComparison, FactsByName, not } from '#decision/rules/proof/built-conditions.ts';
import { type ExampleFacts, selectExampleFacts } from '#decision/rules/proof/example.ts';
import {
  collectKnowledge,
  FACTS_COUNTING_EVERY_REQUEST,
  formatSignalFactLabel,
} from '#decision/rules/proof/knowledge.ts';
import { Reasoner } from '#decision/rules/proof/reasoner.ts';
import { getPlatformSettings, type ParsedRules, type Rule, type Verdict } from '#decision/rules/rule-set.ts';
import { matchesFacts } from './analyze-rules.ts';

/** A promise that a rule set breaks. */
export interface BrokenPromise extends RuleProblem {
  readonly promise: PromiseBreach;
  /** A payer who shows the breach. Null if no payer is needed to see it. */
  readonly example: ExampleFacts | null;
}

interface Breach {
  readonly at: Location;
  /** The effect of the breach, and the rules that cause it. */
  readonly what: string;
  /** What to do if the breach is not intended. */
  readonly remedy: string;
  readonly example: ExampleFacts | null;
}

/** The result of a search. `undecided` means that the search took too long. */
type Finding = Breach | 'none' | 'undecided';

/**
 * Finds the promises of the interface or the guide that a rule set breaks, each with a payer who shows the breach.
 * Also returns a remark for each breach that `ruleset.yaml` declares as intended (`meant`) although the rule set does
 * not have it.
 */
export function findBrokenPromises(
  rules: ParsedRules,
  files: RuleFiles,
): readonly (BrokenPromise | RuleProblem)[] {
  const proof = new PromiseProof(rules, files);
  const found: Readonly<Record<PromiseBreach, Finding>> = {
    firstRequestWaits: proof.firstRequestWaits(),
    botPasses: proof.passes('a payer who is flagged as a bot', proof.facts.is('isBot', true)),
    blockedPasses: proof.passes('a payer in the group BLOCKED', proof.facts.is('clientGroup', 'BLOCKED')),
    trustedIsFlagged: proof.trustedIsFlagged(),
    trustedIsRefused: proof.trustedIsRefused(),
    earlyRequestIsGranted: proof.earlyRequestIsGranted(),
    firstLevelIsShort: findShortFirstLevel(rules),
  };
  const meantAt = (name: PromiseBreach) => locateMember(files, 'ruleset.yaml', 'meant', name);
  return PROMISE_BREACHES.flatMap((name) => listRemarks(name, found[name], rules.meant, meantAt(name)));
}

function listRemarks(
  promise: PromiseBreach,
  finding: Finding,
  meant: MeantBreaches,
  meantAt: Location,
): readonly (BrokenPromise | RuleProblem)[] {
  const why = meant[promise];
  if (finding === 'undecided') {
    const message = `it could not be decided in reasonable time whether the promise "${promise}" holds`;
    return [{ at: meantAt, message }];
  }
  if (finding === 'none') {
    const message = `"${promise}" stands under "meant", but no rule breaks this promise; remove it from "meant"`;
    return why === undefined ? [] : [{ at: meantAt, message }];
  }
  const { at, what, remedy, example } = finding;
  const message =
    why === undefined
      ? `${what}; ${remedy}, or say in ruleset.yaml why it is intended: meant: { ${promise}: "why" }`
      : `${what}; this is intended: ${why}`;
  return [{ at, message, promise, example }];
}

/** A payer who waits for less than this does not reconsider. */
const FIRST_LEVEL_MS_MIN = 10_000;

function findShortFirstLevel(rules: ParsedRules): Finding {
  const platforms = [...rules.platforms.keys()];
  const all = ['', ...platforms].flatMap((platform) => {
    const { levelsMs, ladders, levelsAt } = getPlatformSettings(rules, platform).ladder;
    return [['', levelsMs] as const, ...Object.entries(ladders)].map(([name, levels]) => ({
      name,
      platform,
      ms: levels[0] ?? FIRST_LEVEL_MS_MIN,
      at: levelsAt[name]?.[0],
    }));
  });
  const short = all.find(({ ms }) => ms < FIRST_LEVEL_MS_MIN);
  if (short?.at === undefined) return 'none';
  const { name, platform, ms, at } = short;
  const ladder = name === '' ? 'the ladder' : `the ladder "${name}"`;
  const whose = platform === '' ? '' : ` of ${platform}`;
  return {
    at,
    what: `level 1 of ${ladder}${whose} is ${formatDuration(ms)}, and the interface (section 3.2) has tens of seconds`,
    remedy: `write ${formatDuration(FIRST_LEVEL_MS_MIN)} or more`,
    example: null,
  };
}

/** The answer of a rule of verdicts.yaml, or of `otherwise`. */
interface GivenAnswer {
  readonly name: string;
  readonly at: Location;
  readonly verdict: Verdict;
  /** The conditions of the rule. Empty for `otherwise`. */
  readonly conditions: readonly Condition[];
  /** The conditions of the rules that are asked before. */
  readonly before: readonly Condition[];
}

interface Shown {
  readonly answer: GivenAnswer;
  readonly facts: ReadonlyMap<string, NullableFactValue>;
}

/** A question: can some payers get an answer that breaks a promise? */
interface Question {
  readonly what: string;
  /** The source of the promise, and what it says. */
  readonly law?: string;
  /** The conditions that hold for these payers and whose facts the example shows. */
  readonly given: readonly Condition[];
  /** Further conditions that hold for these payers. */
  readonly implied?: readonly Condition[];
  readonly isBreach: (verdict: Verdict) => boolean;
  readonly remedy: string;
}

const WAIT_REMEDY = 'ask in the rule for attemptOpen, ladderLevel or waitRemainingSeconds, too';

const NAMES_SHOWN = 3;

class PromiseProof {
  readonly facts: FactsByName;
  readonly #rules: ParsedRules;
  readonly #aVerdict: Reasoner;
  readonly #answers: readonly GivenAnswer[];

  constructor(rules: ParsedRules, files: RuleFiles) {
    this.facts = new FactsByName(rules.facts);
    this.#rules = rules;
    this.#aVerdict = new Reasoner(collectKnowledge(rules, 'a verdict'));
    const { rules: asked, otherwise } = rules.verdicts;
    const conditions = asked.map(({ condition }) => condition);
    this.#aVerdict.prepare(conditions);
    this.#answers = [
      ...asked.map(({ name, at, condition, params }, index) => {
        return {
          name,
          at,
          verdict: params.verdict,
          conditions: [condition],
          before: conditions.slice(0, index),
        };
      }),
      {
        name: OTHERWISE,
        at: locateMember(files, 'verdicts.yaml', OTHERWISE),
        verdict: otherwise.verdict,
        conditions: [],
        before: conditions,
      },
    ];
  }

  /**
   * Finds out whether a first request can get WAIT. The interface treats a request after a payment or a long absence
   * as a first one, too.
   */
  firstRequestWaits(): Finding {
    const { facts } = this;
    const nothingDue = [
      facts.is('attemptOpen', false),
      facts.is('ladderLevel', 0),
      facts.is('waitRemainingSeconds', 0),
      facts.is('waitServed', false),
    ];
    const isFirst = not(facts.known('secondsSinceLastVerdict'));
    const found = this.#breach({
      what: 'a first request can get WAIT',
      law: 'the interface (section 3.2) has no wait before it',
      given: [isFirst],
      implied: [...nothingDue, ...this.#nothingBefore()],
      isBreach: (verdict) => verdict === 'WAIT',
      remedy: WAIT_REMEDY,
    });
    if (found !== 'none') return found;
    return this.#breach({
      what: 'a request after a payment or a long absence can get WAIT',
      law: 'the interface (section 3.2) treats it as a first one, without a wait',
      given: nothingDue,
      implied: [facts.known('secondsSinceLastVerdict')],
      isBreach: (verdict) => verdict === 'WAIT',
      remedy: WAIT_REMEDY,
    });
  }

  passes(who: string, given: Condition): Finding {
    return this.#breach({
      what: `${who} can get another answer than BLOCK`,
      given: [given],
      isBreach: (verdict) => verdict !== 'BLOCK',
      remedy: 'give the rule that blocks them a higher priority',
    });
  }

  trustedIsFlagged(): Finding {
    const { facts } = this;
    const given = [facts.is('overrideGroup', 'TRUSTED'), facts.is('isBot', true)];
    const found = new Reasoner(collectKnowledge(this.#rules, 'a known client')).find(given);
    if (found.kind !== 'witness') return found.kind;
    const signals = this.#signalsOf(found.facts);
    const [first] = signals;
    if (first === undefined) return 'none';
    return {
      at: first.at,
      what: `a payer whom a person trusts can be flagged as a bot${formatNames(signals)}`,
      remedy:
        'exempt them in bot-signals.yaml: exempt: { any: [{ fact: overrideGroup, operator: equal, value: TRUSTED }] }',
      example: this.#exampleOf(found.facts, given),
    };
  }

  /**
   * Finds out whether a trusted payer can get BLOCK for another reason than a bot flag. A bot flag is reported
   * separately.
   */
  trustedIsRefused(): Finding {
    const { facts } = this;
    return this.#breach({
      what: 'a payer whom a person trusts can get BLOCK',
      given: [facts.is('overrideGroup', 'TRUSTED')],
      implied: [facts.is('isBot', false)],
      isBreach: (verdict) => verdict === 'BLOCK',
      remedy:
        'add { fact: overrideGroup, operator: notEqual, value: TRUSTED } to the rule, or let groups.yaml ask for trusted payers first',
    });
  }

  /**
   * Finds out whether an early request can be granted. Payers whom a person trusts are left out, because the guide
   * explains how to let them never wait.
   */
  earlyRequestIsGranted(): Finding {
    const { facts } = this;
    return this.#breach({
      what: 'who asks before a wait is over can be shown a requisite',
      law: 'the interface (section 3.2) has the next level of the ladder',
      given: [facts.above('waitRemainingSeconds', 0)],
      implied: [not(facts.is('overrideGroup', 'TRUSTED'))],
      isBreach: (verdict) => verdict === 'GET_NEW' || verdict === 'GET_SAME_STICKY',
      remedy: 'put a WAIT rule for waitRemainingSeconds above 0 before it',
    });
  }

  /** Lists the conditions that counts of earlier requests and answers are 0. */
  #nothingBefore(): readonly Condition[] {
    const { facts } = this;
    const none = ['attempts', 'waits', 'blocks', 'earlyRequests'].flatMap((name) => facts.listWindows(name));
    const itself = ['verdicts', ...FACTS_COUNTING_EVERY_REQUEST].flatMap((name) => facts.listWindows(name));
    return [
      ...none.map((count) => createComparison(count, 'equal', 0)),
      ...itself.map((count) => createComparison(count, 'equal', 1)),
    ];
  }

  #breach({ what, law, given, implied = [], isBreach, remedy }: Question): Finding {
    const shown: Shown[] = [];
    let isDecided = true;
    for (const answer of this.#answers.filter(({ verdict }) => isBreach(verdict))) {
      const found = this.#aVerdict.find([...given, ...implied, ...answer.conditions], answer.before);
      if (found.kind === 'witness') shown.push({ answer, facts: found.facts });
      if (found.kind === 'undecided') isDecided = false;
    }
    const [first] = shown;
    if (first === undefined) return isDecided ? 'none' : 'undecided';
    const names = formatNames(shown.map(({ answer }) => answer));
    return {
      at: first.answer.at,
      what: `${what}${names}${law === undefined ? '' : `, and ${law}`}`,
      remedy,
      example: this.#exampleOf(first.facts, [...given, ...first.answer.conditions]),
    };
  }

  /** Picks the facts that the conditions ask for, and the facts from which the group and the bot flag follow. */
  #exampleOf(facts: ReadonlyMap<string, NullableFactValue>, conditions: readonly Condition[]): ExampleFacts {
    const asked = new Set(listConditionFacts(conditions).map(({ name }) => name));
    const groups = this.#rules.groups.rules.filter(({ condition }) => matchesFacts(condition, facts));
    const reasons = [
      ...(asked.has('clientGroup') ? groups.slice(0, 1) : []),
      ...(asked.has('isBot') && facts.get('isBot') === true ? this.#signalsOf(facts) : []),
    ];
    return selectExampleFacts(facts, [...conditions, ...reasons.map(({ condition }) => condition)]);
  }

  #signalsOf(facts: ReadonlyMap<string, NullableFactValue>): readonly Rule<unknown>[] {
    return this.#rules.signals.rules.filter(({ name }) => facts.get(formatSignalFactLabel(name)) === true);
  }
}

/** Names the rules, like ` ("some-rule" and 2 more)`. */
function formatNames(some: readonly { readonly name: string }[]): string {
  const names = some.slice(0, NAMES_SHOWN).map(({ name }) => `"${name}"`);
  const others = some.length - names.length;
  return ` (${joinWords(others > 0 ? [...names, `${others} more`] : names, 'and')})`;
}
