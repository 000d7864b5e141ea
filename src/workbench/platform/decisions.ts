import { list, named, nullable, shape } from '#base/shapes.ts';
import { searchThrottle } from '#base/work/step-throttle.ts';
import {
  createTaggedOperations,
  declareJsonAnswer,
  declareOperation,
  type GrantedRequest,
} from '#checkout/http/operation/operation.ts';
import type { RouteContext } from '#checkout/http/operation/parameter.ts';
import { createNotFoundProblem, declareRefusal, HttpProblem } from '#checkout/http/request/problems.ts';
import type { LoadedRules } from '#checkout/rollout/loaded-rules.ts';
import { type Decision, DecisionSchema } from '#decision/decision.ts';
import type { DecisionFilter } from '#decision/decision-filter.ts';
import {
  type ClientKey,
  DECISION_ID_PATTERN,
  type PlatformName,
  parseDecisionId,
} from '#decision/payer/client-key.ts';
import {
  addUnreadParts,
  type FoundDecisions,
  FoundDecisionsSchema,
  findDecisionsInPages,
  PAGE_DECISIONS_MAX,
} from '#history/archive/read/found-decisions.ts';
import { formatUnread, type UnreadDecisions } from '#history/archive/unread-decisions.ts';
import { RETENTION } from '#state/retention.ts';
import {
  ExplanationSchema,
  explainByRules,
  explainWithoutRules,
} from '#workbench/authoring/explain/explain.ts';
import { answerByOtherVersion, OtherVersionAnswerSchema } from '#workbench/authoring/explain/what-if.ts';
import { OrderWithOutcomeSchema, type PlatformRecords } from '#workbench/payers/records.ts';
import { FILTER_PARAMETERS, LOOKUP_PARAMETERS } from './filter-parameters.ts';
import * as query from './parameters.ts';
import type { PlatformOperationParts, RolloutParts } from './parts.ts';
import {
  requiredVersionParameter,
  requireSoundRuleSet,
  UNKNOWN_VERSION,
  UNSOUND_VERSION,
} from './rules/rule-version.ts';

const DECISION_ID = query.pathParameter('decisionId', 'As in X-Decision-Id');

export const UNKNOWN_DECISION = declareRefusal(
  'unknown-decision',
  'The platform has no such decision, or it is past its retention.',
  () => createNotFoundProblem('There is no such decision, or it is past its retention.'),
);

const UNREAD_DECISION = declareRefusal(
  'unread-decision',
  'The decision may be in files of the archive that cannot be read.',
  (detail: string) =>
    new HttpProblem(503, 'temporarily unavailable', detail, { headers: { 'Retry-After': '60' } }),
  'It is not known whether there is such a decision: 1204 decisions from 2026-11-21T00:03:12.481Z to 2026-11-21T23:58:40.002Z lie in a file of the archive that cannot be read.',
);

export const DECISION_REFUSALS = [UNKNOWN_DECISION, UNREAD_DECISION] as const;

/**
 * Finds the decision that the path names. Throws 404 if it does not exist, and 503 if it may be in a file that cannot
 * be read.
 */
function requireNamedDecision(
  { ctx, caller }: Pick<GrantedRequest<never>, 'ctx' | 'caller'>,
  records: PlatformRecords,
): Promise<Decision> {
  return requireDecision(caller.platform, DECISION_ID.read(ctx), records);
}

/** Finds a decision by its id. Throws 404 if it does not exist, and 503 if it may be in a file that cannot be read. */
export async function requireDecision(
  platform: PlatformName,
  decisionId: string,
  records: PlatformRecords,
): Promise<Decision> {
  const { decision, unread } = await records.findDecision(platform, decisionId);
  if (decision !== null) return decision;
  if (unread.length === 0) throw UNKNOWN_DECISION.problem();
  throw UNREAD_DECISION.problem(
    `It is not known whether there is such a decision: ${unread.map(formatUnread).join('; ')}.`,
  );
}

export const DecisionListSchema = named(
  'DecisionList',
  shape('Decisions, newest first', {
    ...FoundDecisionsSchema.properties,
    outcomes: nullable(
      list(
        OrderWithOutcomeSchema,
        'Outcomes reported for the orders of these decisions; null unless asked for',
      ),
    ),
  }),
);

const DECISIONS_LISTED = { default: 50, max: 500 } as const;

const { orderRef: ORDER_REF, clientIdKey: CLIENT_ID_KEY, outcome: OUTCOME } = LOOKUP_PARAMETERS;
const { verdict: VERDICT, requestId: REQUEST_ID, from: FROM, to: TO, ...COMMON } = FILTER_PARAMETERS;

/** The parameters by which decisions are filtered, except verdict, request id and time. */
export const COMMON_FILTER_PARAMETERS = Object.values(COMMON);

const INCLUDE = query.choiceParameter(
  'include',
  ['outcomes'],
  'Add the outcomes that were reported for the listed orders',
);
const AFTER = query.afterParameter({ pattern: new RegExp(DECISION_ID_PATTERN), read: parseDecisionId });
const LIMIT = query.limitParameter(DECISIONS_LISTED);

export const listDecisions = declareOperation<PlatformOperationParts>({
  route: 'get /v1/platform/decisions',
  command: {
    name: 'decisions find',
    summary: 'list the decisions about an order or a payer, newest first',
    description:
      'Without --order and --client it lists the newest decisions that the other options select. Exit code 1 when there is none, or files cannot be read.',
    flags: { orderRef: 'order', clientIdKey: 'client' },
  },
  summary: 'List decisions of an order or a client',
  description:
    'Lists the decisions of an order, of a client, or without both of all clients, newest first. The other parameters filter them. The search ends at `limit` decisions, or after a few thousand; `lookedAt` says how far it went.',
  grant: 'decisions',
  isSearch: true,
  parameters: [
    ORDER_REF,
    CLIENT_ID_KEY,
    VERDICT,
    REQUEST_ID,
    ...COMMON_FILTER_PARAMETERS,
    OUTCOME,
    FROM,
    TO,
    AFTER,
    LIMIT,
    INCLUDE,
  ],
  answers: declareJsonAnswer('The decisions found', DecisionListSchema),
  answer: async ({ ctx, caller }, parts) => {
    const found = await findListed(ctx, caller.platform, parts);
    const isAsked = INCLUDE.read(ctx) !== null;
    return { ...found, outcomes: isAsked ? await parts.records.listReportedOrders(found.decisions) : null };
  },
});

const readDecision = declareOperation<PlatformOperationParts>({
  route: 'get /v1/platform/decisions/{decisionId}',
  summary: 'One decision',
  description: 'The record of one answered verdict.',
  grant: 'decisions',
  isSearch: true,
  parameters: [DECISION_ID],
  answers: declareJsonAnswer('The record', DecisionSchema),
  refusals: DECISION_REFUSALS,
  answer: (asked, { records }) => requireNamedDecision(asked, records),
});

/**
 * Finds the decisions of an order, of a client or of the whole platform that match the filter. The result says how
 * far back it searched.
 */
function findListed(
  ctx: RouteContext,
  platform: PlatformName,
  { records, clientKeys }: PlatformOperationParts,
): Promise<FoundDecisions> {
  const limit = LIMIT.read(ctx);
  const orderRef = ORDER_REF.read(ctx);
  const clientIdKey = CLIENT_ID_KEY.read(ctx);
  const filter = readFilter(ctx);
  const outcome = OUTCOME.read(ctx);
  if (outcome !== null) {
    if (orderRef !== null || clientIdKey !== null)
      throw query.BAD_PARAMETER.problem('The parameter outcome goes with neither orderRef nor clientIdKey.');
    return records.decisions.find(platform, filter, limit, outcome);
  }
  if (orderRef !== null) return findOfOrder(platform, orderRef, clientIdKey, { records, filter, limit });
  if (clientIdKey !== null)
    return findOfClient(clientKeys.of(platform, clientIdKey), { records, filter, limit });
  return records.decisions.find(platform, filter, limit);
}

interface Search {
  readonly filter: DecisionFilter;
  readonly limit: number;
}

async function findOfOrder(
  platform: PlatformName,
  orderRef: string,
  clientIdKey: string | null,
  { records, filter, limit }: Search & Pick<PlatformOperationParts, 'records'>,
): Promise<FoundDecisions> {
  const { decisions: all, unread } = await records.decisions.ofOrder(platform, orderRef);
  const ofClient = all.filter((one) => clientIdKey === null || one.clientIdKey === clientIdKey);
  const found = await findDecisionsInPages(async () => ofClient, filter, limit);
  const { lookedAt } = found;
  // If an order has very many decisions, the store returns only the newest.
  const complete = lookedAt.complete && all.length < RETENTION.decisionsPerOrder;
  return addUnreadParts({ ...found, lookedAt: { ...lookedAt, complete } }, unread);
}

async function findOfClient(
  client: ClientKey,
  { records, filter, limit }: Search & Pick<PlatformOperationParts, 'records'>,
): Promise<FoundDecisions> {
  let before = filter.after?.clientHash === client.hash ? filter.after.seq : undefined;
  let unread: readonly UnreadDecisions[] = [];
  const nextPage = async () => {
    const page = await records.decisions.ofClient(client, PAGE_DECISIONS_MAX, before);
    before = page.decisions.at(-1)?.seq;
    // Every page that reads the archive meets the same unread files.
    if (page.unread.length > 0) unread = page.unread;
    return page.decisions;
  };
  const found = await findDecisionsInPages(nextPage, filter, limit);
  return addUnreadParts(found, unread);
}

function readFilter(ctx: RouteContext): DecisionFilter {
  return excludeNullMembers(query.readParameters(ctx, { ...FILTER_PARAMETERS, after: AFTER }));
}

export function readCommonFilter(ctx: RouteContext) {
  return excludeNullMembers(query.readParameters(ctx, COMMON));
}

function excludeNullMembers<Members extends object>(
  members: Members,
): { readonly [Name in keyof Members]?: NonNullable<Members[Name]> };
function excludeNullMembers(members: object): object {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== null));
}

/**
 * Explains a decision. If its rule set is kept nowhere, the explanation has no rules and says that the verdict could
 * not be reproduced.
 */
export const explainDecision = declareOperation<PlatformOperationParts>({
  route: 'get /v1/platform/decisions/{decisionId}/explanation',
  command: {
    name: 'decisions explain',
    summary:
      'explain a verdict: every rule with the values it saw, and whether the rules give the same answer again',
    description: 'Exit code 1 when there is no such decision, or the rules give another answer now.',
    words: ['decisionId'],
  },
  summary: 'Explain a decision',
  description:
    'Shows every rule with its conditions and the values they saw, and whether the rules give the same verdict again.',
  grant: 'decisions',
  isSearch: true,
  parameters: [DECISION_ID],
  answers: declareJsonAnswer(
    'The explanation; without rules when neither this node nor its archive has the deciding rule set',
    ExplanationSchema,
  ),
  refusals: DECISION_REFUSALS,
  answer: async (asked, { records, rollout }) => {
    const decision = await requireNamedDecision(asked, records);
    return searchThrottle.run(async () => {
      const { ruleVersion } = decision;
      const rules =
        records.findDecidingRules(decision) ?? rollout?.loadedRules.findByVersion(ruleVersion) ?? null;
      if (rules !== null) return explainByRules(rules, decision);
      return explainWithoutRules(decision, describeRulesHere(ruleVersion, rollout?.loadedRules ?? null));
    });
  },
});

/** Says why this node does not have a version, and which versions it has. */
function describeRulesHere(version: string, loadedRules: LoadedRules | null): string {
  if (loadedRules === null) return 'neither has this node loaded it nor does its archive keep it';
  const refused = loadedRules.listRefused().find((one) => one.version === version);
  if (refused !== undefined) return `the folder is refused, ${refused.problems[0]}`;
  const versions = loadedRules.listVersions().join(', ');
  return `the archive does not keep it, and RULES_DIR holds ${versions === '' ? 'no rule set' : versions}`;
}

const VERSION = requiredVersionParameter('version', 'The rule set to ask, like p2.v11');

/**
 * Asks a version which verdict it would have given on the recorded facts and the ladder of that time. Later events
 * have no influence.
 */
const askDecisionWhatIf = declareOperation<RolloutParts>({
  route: 'get /v1/platform/decisions/{decisionId}/what-if',
  summary: 'What another version would have answered',
  description:
    'Asks another version about the recorded facts, with the client as it was then. The answer is null when the record lacks facts that the version asks for; `missing` names them. The key needs both operations.',
  grant: ['decisions', 'rules'],
  parameters: [DECISION_ID, VERSION],
  answers: declareJsonAnswer('The answer of that version; nothing is written', OtherVersionAnswerSchema),
  refusals: [...DECISION_REFUSALS, UNSOUND_VERSION, UNKNOWN_VERSION],
  answer: async (asked, { records, loadedRules }) => {
    const rules = requireSoundRuleSet(VERSION.read(asked.ctx), loadedRules);
    return answerByOtherVersion(rules, await requireNamedDecision(asked, records));
  },
});

export const WHAT_IF_OPERATIONS = createTaggedOperations('Decisions', { askDecisionWhatIf });

export const DECISION_OPERATIONS = createTaggedOperations('Decisions', {
  listDecisions,
  readDecision,
  explainDecision,
});
