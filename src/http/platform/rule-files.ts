import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type Router from '@koa/router';
import { LRUCache } from 'lru-cache';
import type { AccessKeys } from '../../access/access-keys.ts';
import { runCases } from '../../analysis/cases/cases.ts';
import { type Difference, diffRuleSets } from '../../analysis/diff/diff.ts';
import { type DiffExample, diffExamplesWithin } from '../../analysis/diff/examples.ts';
import type { PlatformName } from '../../client/client-key.ts';
import type { LadderSettings } from '../../client/ladder.ts';
import type { Decision } from '../../decision/decision.ts';
import type { LoadedRules } from '../../rollout/loaded-rules.ts';
import { listRuleVersions, loadRuleSet, readRuleFiles } from '../../rules/folder/rule-folder.ts';
import type { RuleFiles } from '../../rules/parse/parse.ts';
import type { Problem } from '../../rules/problem.ts';
import { isRuleVersion, type Matchable, type RuleSet, type RuleVersion } from '../../rules/rule-set.ts';
import type { Records } from '../../service/records.ts';
import { authenticate } from '../request/authenticate.ts';
import { badRequest, notFound } from '../request/problems.ts';
import type { RequestState } from '../request/request-state.ts';

export interface RuleFilesParts {
  readonly records: Records;
  readonly keys: AccessKeys;
  readonly loadedRules: LoadedRules;
  /** The folder of the rule sets. */
  readonly rulesDir: string;
}

/** How many of the platform's newest decisions the hit counts look at. */
const COUNTED_DECISIONS = 500;

/** Coverage takes some tens of milliseconds, so it is worked out once for a digest. */
const KEPT_COVERAGES = 20;

/** The search for examples takes less than a second, and is ended after this on a busy node. */
const EXAMPLES_LIMIT_MS = 3000;
const KEPT_DIFFS = 20;

/** By digest. */
type Coverages = LRUCache<string, ReturnType<typeof coverageOf>>;

/** In what two versions differ, and payers whom they answer differently. */
export interface RuleDiff {
  readonly before: RuleVersion;
  readonly after: RuleVersion;
  readonly differences: readonly Difference[];
  readonly examples: readonly DiffExample[];
  /** False: time was up before everything was tried. */
  readonly searched: boolean;
}

export interface RuleFolderSummary {
  readonly version: RuleVersion;
  readonly sound: boolean;
  readonly released: boolean;
  readonly digest: string | null;
  readonly description: string;
}

/** Adds what the console shows of the rule sets on this node: their list, their files, their differences. */
export function ruleFilesRoutes(router: Router<RequestState>, parts: RuleFilesParts): void {
  const { records, keys, loadedRules, rulesDir } = parts;
  const coverages: Coverages = new LRUCache({ max: KEPT_COVERAGES });
  const diffs = new RuleDiffs();

  router.get('/rules/versions', async (ctx) => {
    await authenticate(ctx, keys, 'rules');
    ctx.body = {
      versions: versionsIn(rulesDir)
        .toReversed()
        .map((version) => summary(version, loadedRules)),
    };
  });

  router.get('/rules/versions/:version', async (ctx) => {
    const { platform, operations } = await authenticate(ctx, keys, 'rules');
    const version = ctx.params['version'] ?? '';
    const files = isRuleVersion(version) ? readRuleFiles(join(rulesDir, version), []) : null;
    if (files === null || !isRuleVersion(version))
      throw notFound('There is no such rule set in the RULES_DIR of this node.');
    const ruleSet = loadedRules.get(version);
    const mayCount = operations.includes('decisions');
    const found = mayCount ? await records.findDecisions(platform, {}, COUNTED_DECISIONS) : null;
    ctx.body = {
      ...summary(version, loadedRules),
      files: [...files].map(([path, text]) => ({ path, text })),
      ...(ruleSet === null
        ? { ...UNSOUND, problems: problemsOf(join(rulesDir, version)) }
        : {
            ...describe(ruleSet),
            hits: found === null ? null : hitsOf(ruleSet, found.decisions, platform),
            coverage: cached(coverages, ruleSet, files),
            problems: [],
          }),
    } satisfies OpenedRuleFolder;
  });

  router.get('/rules/diff', async (ctx) => {
    await authenticate(ctx, keys, 'rules');
    const before = soundVersion(ctx.query['before'], 'before', loadedRules);
    const after = soundVersion(ctx.query['after'], 'after', loadedRules);
    ctx.body = await diffs.of(before, after);
  });
}

function versionsIn(rulesDir: string): readonly RuleVersion[] {
  return existsSync(rulesDir) ? listRuleVersions(rulesDir) : [];
}

function summary(version: RuleVersion, loadedRules: LoadedRules): RuleFolderSummary {
  const ruleSet = loadedRules.get(version);
  return {
    version,
    sound: ruleSet !== null,
    released: ruleSet?.released ?? false,
    digest: ruleSet?.digest ?? null,
    description: ruleSet?.description ?? '',
  };
}

const UNSOUND = { ladder: null, platforms: [], rules: [], facts: [], hits: null, coverage: null } as const;

/** A rule set with its files; one that is not sound has problems instead of all that follows them. */
export interface OpenedRuleFolder extends RuleFolderSummary {
  readonly files: readonly { readonly path: string; readonly text: string }[];
  readonly problems: readonly Problem[];
  readonly ladder: LadderSettings | null;
  readonly platforms: Readonly<ReturnType<typeof describe>['platforms']>;
  readonly rules: Readonly<ReturnType<typeof describe>['rules']>;
  readonly facts: Readonly<ReturnType<typeof describe>['facts']>;
  /** Null also when the key may not read decisions. */
  readonly hits: ReturnType<typeof hitsOf> | null;
  readonly coverage: ReturnType<typeof coverageOf> | null;
}

/** What the console draws and asks for: the ladder, the rules with their places, the facts with their kinds. */
function describe(ruleSet: RuleSet) {
  const { groups, signals, verdicts, settings, platforms, facts } = ruleSet;
  const place = (rules: readonly Matchable<object>[], gives: (index: number) => string | number) =>
    rules.map(({ name, at }, index) => ({ name, at, gives: gives(index) }));
  return {
    ladder: settings.ladder,
    platforms: [...platforms].map(([name, { ladder }]) => ({ name, ladder })),
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

/** How often each rule held, and how often it decided, over the newest decisions made with this very digest. */
function hitsOf(ruleSet: RuleSet, newest: readonly Decision[], platform: PlatformName) {
  const { groups, signals, verdicts, facts, digest } = ruleSet;
  const mine = newest.filter((decision) => decision.digest === digest);
  const rows = mine.map((decision) => facts.map(({ label }) => decision.facts[label] ?? false));
  const count = (rules: readonly Matchable<object>[], firstOnly: boolean) => {
    const first = rows.map((values) => rules.findIndex((rule) => rule.matches(values)));
    return rules.map((rule, index) => {
      const held = rows.filter((values) => rule.matches(values)).length;
      const decided = firstOnly ? first.filter((place) => place === index).length : held;
      return { file: rule.at.file, name: rule.name, line: rule.at.line, held, decided };
    });
  };
  return {
    platform,
    decisions: mine.length,
    rules: [...count(groups.rules, true), ...count(signals.rules, false), ...count(verdicts.rules, true)],
  };
}

/** Diffs of the last pairs that were asked for; whoever asks for a pair meanwhile waits for the same search. */
class RuleDiffs {
  readonly #kept = new LRUCache<string, Promise<RuleDiff>>({ max: KEPT_DIFFS });

  of(before: RuleSet, after: RuleSet): Promise<RuleDiff> {
    const key = `${before.digest} ${after.digest}`;
    const known = this.#kept.get(key);
    if (known !== undefined) return known;
    const diff = this.#search(before, after);
    this.#kept.set(key, diff);
    const forget = () => this.#kept.delete(key);
    // What a busy node did not finish may be asked for again.
    diff.then(({ searched }) => searched || forget(), forget);
    return diff;
  }

  async #search(before: RuleSet, after: RuleSet): Promise<RuleDiff> {
    const differences = diffRuleSets(before, after);
    const found =
      differences.length === 0
        ? { examples: [], searched: true }
        : await diffExamplesWithin(before, after, EXAMPLES_LIMIT_MS);
    return { before: before.version, after: after.version, differences, ...found };
  }
}

function problemsOf(folder: string): readonly Problem[] {
  const result = loadRuleSet(folder);
  return result.ok ? [] : result.problems;
}

function coverageOf(ruleSet: RuleSet, files: RuleFiles) {
  const { problems, passed, failures, coverage } = runCases(ruleSet, files);
  return { problems, passed, failed: failures.length, coverage };
}

function cached(coverages: Coverages, ruleSet: RuleSet, files: RuleFiles): ReturnType<typeof coverageOf> {
  const known = coverages.get(ruleSet.digest);
  if (known !== undefined) return known;
  const coverage = coverageOf(ruleSet, files);
  coverages.set(ruleSet.digest, coverage);
  return coverage;
}

/** The rule set that a request names; 400 when it cannot be compared, 404 when there is none. */
export function soundVersion(
  given: string | string[] | undefined,
  name: string,
  loadedRules: LoadedRules,
): RuleSet {
  if (typeof given !== 'string' || !isRuleVersion(given))
    throw badRequest(`${name} must be a rule version, once, like p2.v10.`);
  const ruleSet = loadedRules.get(given);
  if (ruleSet !== null) return ruleSet;
  const refused = loadedRules.refused().some(({ version }) => version === given);
  if (refused) throw badRequest(`${given} has problems; mend it first. The console's page Rules lists them.`);
  throw notFound(`There is no rule set ${given} on this node.`);
}
