import { CLIENT_GROUPS } from '../../../client/client-group.ts';
import {
  type ClientKey,
  clientKey,
  DECISION_ID_PATTERN,
  type PlatformName,
  parseDecisionId,
} from '../../../client/client-key.ts';
import { DecisionSchema } from '../../../decision/decision.ts';
import type { DecisionFilter } from '../../../decision/decision-filter.ts';
import type { DecisionPosition } from '../../../decision/newest-first.ts';
import { isRuleVersion, RULE_VERSION_FORM, RULE_VERSION_PATTERN, VERDICTS } from '../../../rules/rule-set.ts';
import { type Records, ReportedOrderSchema } from '../../../service/records.ts';
import { list, named, nullable, shape } from '../../../shapes.ts';
import {
  type FoundDecisions,
  FoundDecisionsSchema,
  findInPages,
  PAGE_DECISIONS_MAX,
  type UnreadDecisions,
  withUnread,
} from '../../../state/decision-search.ts';
import { RETENTION } from '../../../state/store.ts';
import { DECISION_EXAMPLE } from '../../openapi/decision-shapes.ts';
import { jsonAnswer, operation } from '../../operation/operation.ts';
import {
  BAD_PARAMETER,
  queryAmount,
  queryChoice,
  queryInstant,
  queryLimit,
  queryText,
  type RouteContext,
} from '../../operation/parameters.ts';
import { DECISION_ID, DECISION_REFUSALS, namedDecision } from './named-decision.ts';

export interface DecisionParts {
  readonly records: Records;
}

export const DecisionListSchema = named(
  'DecisionList',
  shape('Decisions, newest first', {
    ...FoundDecisionsSchema.properties,
    outcomes: nullable(
      list(
        ReportedOrderSchema,
        'Of the orders of these decisions, those of which one was reported; null unless it is asked for',
      ),
    ),
  }),
);

/** How many decisions one answer lists. */
const DECISIONS_LISTED = { default: 50, max: 500 } as const;

const ORDER_REF = queryText('orderRef', 'The order that the caller quotes');
const CLIENT_ID_KEY = queryText('clientIdKey', 'A client; not looked at beside an orderRef');
const VERDICT = queryChoice('verdict', VERDICTS, 'Only decisions with this verdict');
const RULE = queryText('rule', 'Only decisions by this rule, or by "otherwise"; compared exactly');
const RULE_VERSION = queryText('ruleVersion', 'Only decisions of this rule set, like p2.v10', {
  pattern: RULE_VERSION_PATTERN,
});
const GROUP = queryChoice('clientGroup', CLIENT_GROUPS, 'Only decisions about clients of this group');
const SIGNAL = queryText('signal', 'Only decisions in which this bot signal matched; compared exactly');
const OUTCOME = queryChoice(
  'outcome',
  ['PAID', 'UNPAID', 'UNKNOWN'] as const,
  'Only decisions whose order came to this, by the archive, which follows within about ten seconds (`upTo`); beside neither orderRef nor clientIdKey',
);
const AMOUNT_MIN = queryAmount('amountMin', 'Only decisions about at least this amount, in any currency');
const AMOUNT_MAX = queryAmount('amountMax', 'Only decisions about at most this amount, in any currency');
const INCLUDE = queryChoice(
  'include',
  ['outcomes'],
  'Also what was reported about the orders that are listed',
);
const FROM = queryInstant('from', 'Only decisions from this time on');
const TO = queryInstant('to', 'Only decisions before this time');
const AFTER = queryText(
  'after',
  'Only what is listed after this decision: the `lookedAt.next` of the answer before. Decisions of one millisecond are told apart, those of `to` are not',
  { pattern: DECISION_ID_PATTERN },
);
const LIMIT = queryLimit(DECISIONS_LISTED);

export const listDecisions = operation<DecisionParts>({
  method: 'get',
  path: '/v1/platform/decisions',
  operationId: 'listDecisions',
  summary: 'Decisions of an order or a client',
  description:
    'Newest first: of an order, of a client, or with neither of all. The other parameters leave out what does not fit. The look back ends at `limit` decisions, or after some thousands; `lookedAt` says how far it went.',
  tag: 'Decisions',
  grant: 'decisions',
  isSearch: true,
  parameters: [
    ORDER_REF,
    CLIENT_ID_KEY,
    VERDICT,
    RULE,
    RULE_VERSION,
    GROUP,
    SIGNAL,
    OUTCOME,
    AMOUNT_MIN,
    AMOUNT_MAX,
    FROM,
    TO,
    AFTER,
    LIMIT,
    INCLUDE,
  ],
  answers: jsonAnswer('The decisions that are kept', DecisionListSchema, {
    decisions: [DECISION_EXAMPLE],
    lookedAt: {
      decisions: 10_000,
      backTo: DECISION_EXAMPLE.at,
      complete: false,
      next: DECISION_EXAMPLE.decisionId,
    },
    outcomes: null,
  }),
  refusals: [],
  answer: async ({ ctx, key }, parts) => {
    const found = await listed(ctx, key.platform, parts);
    const isAsked = INCLUDE.read(ctx) !== null;
    return { ...found, outcomes: isAsked ? await parts.records.outcomesOf(found.decisions) : null };
  },
});

export const readDecision = operation<DecisionParts>({
  method: 'get',
  path: '/v1/platform/decisions/{decisionId}',
  operationId: 'readDecision',
  summary: 'One decision',
  description: 'The record of one answered verdict.',
  tag: 'Decisions',
  grant: 'decisions',
  isSearch: true,
  parameters: [DECISION_ID],
  answers: jsonAnswer('The record', DecisionSchema, DECISION_EXAMPLE),
  refusals: DECISION_REFUSALS,
  answer: (asked, { records }) => namedDecision(asked, records),
});

/** Of an order, of a client, or of the whole platform: only those that fit, with how far was looked. */
function listed(
  ctx: RouteContext,
  platform: PlatformName,
  { records }: DecisionParts,
): Promise<FoundDecisions> {
  const limit = LIMIT.read(ctx);
  const orderRef = ORDER_REF.read(ctx);
  const clientIdKey = CLIENT_ID_KEY.read(ctx);
  const filter = filterOf(ctx);
  const outcome = OUTCOME.read(ctx);
  if (outcome !== null) {
    if (orderRef !== null || clientIdKey !== null)
      throw BAD_PARAMETER.problem('The parameter outcome goes with neither orderRef nor clientIdKey.');
    return ofOutcome(platform, outcome, { records, filter, limit });
  }
  if (orderRef !== null) return ofOrder(platform, orderRef, { records, filter, limit });
  if (clientIdKey !== null) return ofClient(clientKey(platform, clientIdKey), { records, filter, limit });
  return records.findDecisions(platform, filter, limit);
}

async function ofOutcome(
  platform: PlatformName,
  outcome: 'PAID' | 'UNPAID' | 'UNKNOWN',
  { records, filter, limit }: Search & DecisionParts,
): Promise<FoundDecisions> {
  const found = await records.findDecisionsByFate(platform, filter, outcome, limit);
  if (found !== null) return found;
  throw BAD_PARAMETER.problem(
    'The parameter outcome needs an archive, and this node keeps none (ARCHIVE_DIR=off).',
  );
}

interface Search {
  readonly filter: DecisionFilter;
  readonly limit: number;
}

async function ofOrder(
  platform: PlatformName,
  orderRef: string,
  { records, filter, limit }: Search & DecisionParts,
): Promise<FoundDecisions> {
  const { decisions: all, unread } = await records.decisionsOfOrder(platform, orderRef);
  const found = await findInPages(async () => all, filter, limit);
  const { lookedAt } = found;
  // Of an order with very many decisions the store gives the newest.
  const complete = lookedAt.complete && all.length < RETENTION.decisionsPerOrder;
  return withUnread({ ...found, lookedAt: { ...lookedAt, complete } }, unread);
}

async function ofClient(
  client: ClientKey,
  { records, filter, limit }: Search & DecisionParts,
): Promise<FoundDecisions> {
  let before = filter.after?.clientHash === client.hash ? filter.after.seq : undefined;
  let unread: readonly UnreadDecisions[] = [];
  const nextPage = async () => {
    const page = await records.decisionsOfClient(
      client.platform,
      client.clientIdKey,
      PAGE_DECISIONS_MAX,
      before,
    );
    before = page.decisions.at(-1)?.seq;
    // Every page that asks the archive meets the same files.
    if (page.unread.length > 0) unread = page.unread;
    return page.decisions;
  };
  const found = await findInPages(nextPage, filter, limit);
  return withUnread(found, unread);
}

function filterOf(ctx: RouteContext): DecisionFilter {
  const verdict = VERDICT.read(ctx);
  const rule = RULE.read(ctx);
  const ruleVersion = RULE_VERSION.read(ctx);
  if (ruleVersion !== null && !isRuleVersion(ruleVersion))
    throw BAD_PARAMETER.problem(`The parameter ruleVersion must be ${RULE_VERSION_FORM}.`);
  const [clientGroup, signal] = [GROUP.read(ctx), SIGNAL.read(ctx)];
  const [amountMin, amountMax] = [AMOUNT_MIN.read(ctx), AMOUNT_MAX.read(ctx)];
  const [from, to, after] = [FROM.read(ctx), TO.read(ctx), afterOf(ctx)];
  return {
    ...(clientGroup === null ? {} : { clientGroup }),
    ...(signal === null ? {} : { signal }),
    ...(amountMin === null ? {} : { amountMin }),
    ...(amountMax === null ? {} : { amountMax }),
    ...(from === null ? {} : { from }),
    ...(to === null ? {} : { to }),
    ...(after === null ? {} : { after }),
    ...(verdict === null ? {} : { verdict }),
    ...(rule === null ? {} : { rule }),
    ...(ruleVersion === null ? {} : { ruleVersion }),
  };
}

function afterOf(ctx: RouteContext): DecisionPosition | null {
  const text = AFTER.read(ctx);
  if (text === null) return null;
  const position = parseDecisionId(text);
  if (position !== null) return position;
  throw BAD_PARAMETER.problem(
    'The parameter after must be the `lookedAt.next` of an answer, or a decisionId.',
  );
}
