import type Router from '@koa/router';
import type { ParameterizedContext } from 'koa';
import type { AccessKeys } from '../../access/access-keys.ts';
import type { PlatformName } from '../../client/client-key.ts';
import type { DecisionFilter } from '../../decision/decision-filter.ts';
import { isRuleVersion, RULE_VERSION_FORM, VERDICTS } from '../../rules/rule-set.ts';
import type { Records } from '../../service/records.ts';
import { type FoundDecisions, findInPages, PAGE_DECISIONS_MAX } from '../../state/decision-search.ts';
import { RETENTION } from '../../state/store.ts';
import { authenticate } from '../request/authenticate.ts';
import { badRequest, notFound } from '../request/problems.ts';
import { queryChoice, queryLimit, queryText } from '../request/query.ts';
import type { RequestState } from '../request/request-state.ts';
import { DECISIONS_LISTED } from '../request/schemas.ts';

export interface DecisionRouteParts {
  readonly records: Records;
  readonly keys: AccessKeys;
}

type Ctx = ParameterizedContext<RequestState>;

/** Adds the list of decisions and one decision by its id. */
export function decisionRoutes(router: Router<RequestState>, parts: DecisionRouteParts): void {
  const { records, keys } = parts;

  router.get('/decisions', async (ctx) => {
    const { platform } = await authenticate(ctx, keys, 'decisions');
    ctx.body = await listed(ctx, platform, parts);
  });

  router.get('/decisions/:decisionId', async (ctx) => {
    const { platform } = await authenticate(ctx, keys, 'decisions');
    const decision = await records.decision(platform, ctx.params['decisionId'] ?? '');
    if (decision === null) throw notFound('There is no such decision, or it is past its retention.');
    ctx.body = decision;
  });
}

/** Of an order, of a client, or of the whole platform: only those that fit, with how far was looked. */
function listed(ctx: Ctx, platform: PlatformName, { records }: DecisionRouteParts) {
  const limit = queryLimit(ctx, DECISIONS_LISTED);
  const orderRef = queryText(ctx, 'orderRef');
  const clientIdKey = queryText(ctx, 'clientIdKey');
  const filter = filterOf(ctx);
  if (orderRef !== null) return ofOrder(platform, orderRef, { records, filter, limit });
  if (clientIdKey !== null) return ofClient(platform, clientIdKey, { records, filter, limit });
  return records.findDecisions(platform, filter, limit);
}

interface Search {
  readonly filter: DecisionFilter;
  readonly limit: number;
}

async function ofOrder(
  platform: PlatformName,
  orderRef: string,
  { records, filter, limit }: Search & Pick<DecisionRouteParts, 'records'>,
): Promise<FoundDecisions> {
  const all = await records.decisionsOfOrder(platform, orderRef);
  const found = await findInPages(async () => all, filter, limit);
  const { lookedAt } = found;
  // Of an order with very many decisions the store gives the newest.
  const complete = lookedAt.complete && all.length < RETENTION.decisionsPerOrder;
  return { ...found, lookedAt: { ...lookedAt, complete } };
}

function ofClient(
  platform: PlatformName,
  clientIdKey: string,
  { records, filter, limit }: Search & Pick<DecisionRouteParts, 'records'>,
): Promise<FoundDecisions> {
  let before: number | undefined;
  const nextPage = async () => {
    const page = await records.decisionsOfClient(platform, clientIdKey, PAGE_DECISIONS_MAX, before);
    before = page.at(-1)?.seq;
    return page;
  };
  return findInPages(nextPage, filter, limit);
}

function filterOf(ctx: Ctx): DecisionFilter {
  const verdict = queryChoice(ctx, 'verdict', VERDICTS);
  const rule = queryText(ctx, 'rule');
  const ruleVersion = queryText(ctx, 'ruleVersion');
  if (ruleVersion !== null && !isRuleVersion(ruleVersion))
    throw badRequest(`The parameter ruleVersion must be ${RULE_VERSION_FORM}.`);
  return {
    ...(verdict === null ? {} : { verdict }),
    ...(rule === null ? {} : { rule }),
    ...(ruleVersion === null ? {} : { ruleVersion }),
  };
}
