import type Router from '@koa/router';
import { Type } from 'typebox';
import type { AccessKeys } from '../../access/access-keys.ts';
import { explain, type RulesAccount } from '../../analysis/explain/explain.ts';
import type { Decision } from '../../decision/decision.ts';
import type { FactDomain, FactValue } from '../../facts/fact.ts';
import type { LoadedRules } from '../../rollout/loaded-rules.ts';
import type { RuleSet } from '../../rules/rule-set.ts';
import type { Records } from '../../service/records.ts';
import { authenticate } from '../request/authenticate.ts';
import { readJson } from '../request/body.ts';
import { malformedBody } from '../request/problems.ts';
import type { RequestState } from '../request/request-state.ts';
import { bodyOf, text, VerdictBodySchema } from '../request/schemas.ts';
import { soundVersion } from './rule-files.ts';

export interface WhatIfParts {
  readonly records: Records;
  readonly keys: AccessKeys;
  readonly loadedRules: LoadedRules;
}

export const WhatIfBodySchema = Type.Object({
  versions: Type.Array(text(32, 'A rule set, like p2.v11'), { minItems: 1, maxItems: 2 }),
  request: VerdictBodySchema,
  facts: Type.Optional(
    Type.Record(Type.String(), Type.Union([Type.Number(), Type.Boolean(), Type.String()]), {
      description: 'Values to take instead of what the client shows, by label',
    }),
  ),
});

/** What a version would answer, with the values its rules saw. */
export interface WhatIfAnswer {
  readonly version: string;
  readonly digest: string;
  /** The decision as it would be recorded; nothing of it is. */
  readonly decision: Readonly<Record<string, unknown>>;
  readonly rules: RulesAccount | null;
}

const whatIfBody = bodyOf(WhatIfBodySchema);

/**
 * Adds `POST /rules/what-if`: how one or two rule sets would answer a verdict request now, or with facts
 * of one's own. The same core decides as for callers; nothing is written, and no counter moves.
 */
export function whatIfRoutes(
  router: Router<RequestState>,
  { records, keys, loadedRules }: WhatIfParts,
): void {
  router.post('/rules/what-if', async (ctx) => {
    await authenticate(ctx, keys, 'rules');
    const { platform } = await authenticate(ctx, keys, 'clients');
    const { versions, request, facts = {} } = whatIfBody(await readJson(ctx.req));
    const ruleSets = versions.map((version) => soundVersion(version, 'versions', loadedRules));
    for (const rules of ruleSets) requireFitting(rules, facts);
    const decisions = await records.whatIf(platform, request, ruleSets);
    const answers = ruleSets.flatMap((rules, index) => {
      const decision = decisions[index];
      return decision === undefined ? [] : [answer(rules, decision, facts)];
    });
    ctx.body = { answers: await Promise.all(answers) };
  });
}

async function answer(
  rules: RuleSet,
  decision: Decision,
  facts: Readonly<Record<string, FactValue>>,
): Promise<WhatIfAnswer> {
  const own = Object.entries(facts).filter(([label]) => label in decision.facts);
  const supposed = own.length === 0 ? decision : suppose(decision, Object.fromEntries(own));
  const { rules: account, differences } = await explain(rules, supposed);
  // Where the supposed facts lead elsewhere, the explanation says what comes out instead.
  const concluded = differences.filter(({ member }) => member.startsWith('facts.'));
  const others = differences.filter((difference) => !concluded.includes(difference));
  return {
    version: rules.version,
    digest: rules.digest,
    decision: withoutStrays({
      ...supposed,
      ...Object.fromEntries(others.map(({ member, rerun }) => [member, rerun])),
      facts: {
        ...supposed.facts,
        ...Object.fromEntries(concluded.map(({ member, rerun }) => [member.slice('facts.'.length), rerun])),
      },
    }),
    rules: account,
  };
}

/** Without what the decision would not have: a wait without WAIT, a requisite without GET_SAME_STICKY. */
function withoutStrays(decision: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    Object.entries(decision).filter(
      ([member, value]) =>
        value !== null && (member !== 'stickyRequisiteRef' || decision['verdict'] === 'GET_SAME_STICKY'),
    ),
  );
}

/** The decision with these facts, and with the ladder that they speak of, so that the next wait follows from it. */
function suppose(decision: Decision, own: Readonly<Record<string, FactValue>>): Decision {
  const facts = { ...decision.facts, ...own };
  const { ladderBefore, at } = decision;
  const level = facts['ladderLevel'];
  const open = facts['attemptOpen'];
  const remaining = facts['waitRemainingSeconds'];
  const waitUntil =
    typeof remaining === 'number' && remaining > 0
      ? at + remaining * 1000
      : facts['waitServed'] === true
        ? at
        : null;
  return {
    ...decision,
    facts,
    ladderBefore: {
      level: typeof level === 'number' ? level : ladderBefore.level,
      attemptOpen: typeof open === 'boolean' ? open : ladderBefore.attemptOpen,
      waitUntil: remaining === undefined ? ladderBefore.waitUntil : waitUntil,
    },
  };
}

/** Throws 400 when a supposed value is none that its fact can have. */
function requireFitting(rules: RuleSet, facts: Readonly<Record<string, FactValue>>): void {
  for (const { label, fact } of rules.facts) {
    const value = facts[label];
    if (value === undefined) continue;
    const allowed = whyNot(value, fact.domain);
    if (allowed === null) continue;
    const pointer = `/facts/${label}`;
    throw malformedBody(`${pointer} ${allowed}.`, [{ pointer, detail: allowed }]);
  }
}

function whyNot(value: FactValue, domain: FactDomain): string | null {
  switch (domain.type) {
    case 'number':
      return typeof value === 'number' && value >= domain.min && value <= domain.max
        ? null
        : `must be a number from ${domain.min} to ${domain.max}`;
    case 'boolean':
      return typeof value === 'boolean' ? null : 'must be true or false';
    case 'enum':
      return typeof value === 'string' && domain.values.includes(value)
        ? null
        : `must be one of ${domain.values.join(', ')}`;
    case 'text':
      return typeof value === 'string' ? null : 'must be a text';
    default:
      return domain satisfies never;
  }
}
