import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type Router from '@koa/router';
import type { AccessKeys } from '../access/access-keys.ts';
import { runCases } from '../analysis/cases.ts';
import { diffRuleSets } from '../analysis/diff.ts';
import type { PlatformName } from '../client/client-key.ts';
import type { Decision } from '../decision/decision.ts';
import type { LoadedRules } from '../rollout/loaded-rules.ts';
import { listRuleVersions, loadRuleSet, readRuleFiles } from '../rules/library.ts';
import type { RuleFiles } from '../rules/parse.ts';
import type { Problem } from '../rules/problem.ts';
import { isRuleVersion, type Matchable, type RuleSet, type RuleVersion } from '../rules/rule-set.ts';
import type { ScoringService } from '../service.ts';
import { authenticate } from './authenticate.ts';
import { badRequest, notFound } from './problems.ts';
import type { RequestState } from './request-state.ts';

export interface RuleFilesParts {
  readonly service: ScoringService;
  readonly keys: AccessKeys;
  readonly loadedRules: LoadedRules;
  /** The folder of the rule sets. */
  readonly rulesDir: string;
}

/** How many of the platform's newest decisions the hit counts look at. */
const COUNTED_DECISIONS = 500;

/** Coverage takes some tens of milliseconds, so it is worked out once for a digest. */
const KEPT_COVERAGES = 20;

/** Adds what the console shows of the rule sets on this node: their list, their files, their differences. */
export function ruleFilesRoutes(router: Router<RequestState>, parts: RuleFilesParts): void {
  const { service, keys, loadedRules, rulesDir } = parts;
  const coverages = new Map<string, ReturnType<typeof coverageOf>>();

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
    const decisions = mayCount ? await service.latestDecisions(platform, COUNTED_DECISIONS) : [];
    ctx.body = {
      ...summary(version, loadedRules),
      files: [...files].map(([path, text]) => ({ path, text })),
      problems: ruleSet === null ? problemsOf(join(rulesDir, version)) : [],
      ...(ruleSet === null ? UNSOUND : { ...describe(ruleSet), hits: hitsOf(ruleSet, decisions, platform) }),
      coverage: ruleSet === null ? null : cached(coverages, ruleSet, files),
    };
  });

  router.get('/rules/diff', async (ctx) => {
    await authenticate(ctx, keys, 'rules');
    const before = soundVersion(ctx.query['before'], 'before', loadedRules);
    const after = soundVersion(ctx.query['after'], 'after', loadedRules);
    ctx.body = { before: before.version, after: after.version, differences: diffRuleSets(before, after) };
  });
}

function versionsIn(rulesDir: string): readonly RuleVersion[] {
  return existsSync(rulesDir) ? listRuleVersions(rulesDir) : [];
}

function summary(version: RuleVersion, loadedRules: LoadedRules) {
  const ruleSet = loadedRules.get(version);
  return {
    version,
    sound: ruleSet !== null,
    released: ruleSet?.released ?? false,
    digest: ruleSet?.digest ?? null,
    description: ruleSet?.description ?? '',
  };
}

const UNSOUND = { ladder: null, platforms: [], rules: [], facts: [], hits: null } as const;

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

function problemsOf(folder: string): readonly Problem[] {
  const result = loadRuleSet(folder);
  return result.ok ? [] : result.problems;
}

function coverageOf(ruleSet: RuleSet, files: RuleFiles) {
  const { problems, passed, failures, coverage } = runCases(ruleSet, files);
  return { problems, passed, failed: failures.length, coverage };
}

function cached(
  coverages: Map<string, ReturnType<typeof coverageOf>>,
  ruleSet: RuleSet,
  files: RuleFiles,
): ReturnType<typeof coverageOf> {
  const known = coverages.get(ruleSet.digest);
  if (known !== undefined) return known;
  const coverage = coverageOf(ruleSet, files);
  const [oldest] = coverages.keys();
  if (oldest !== undefined && coverages.size >= KEPT_COVERAGES) coverages.delete(oldest);
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
