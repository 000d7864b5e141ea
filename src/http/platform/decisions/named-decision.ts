import type { Decision } from '../../../decision/decision.ts';
import type { Records } from '../../../service/records.ts';
import { unreadText } from '../../../state/decision-search.ts';
import type { Asked } from '../../operation/operation.ts';
import { pathText } from '../../operation/parameters.ts';
import { HttpProblem, notFound, refusal } from '../../request/problems.ts';

export const DECISION_ID = pathText('decisionId', 'As in X-Decision-Id');

const UNKNOWN_DECISION = refusal(
  'unknownDecision',
  'The platform has no such decision, or it is past its retention.',
  () => notFound('There is no such decision, or it is past its retention.'),
);

const UNREAD_DECISION = refusal(
  'unreadDecision',
  'Files of the archive cannot be read, and the decision is nowhere else.',
  (detail: string) =>
    new HttpProblem(503, 'temporarily unavailable', detail, { headers: { 'Retry-After': '60' } }),
  'Whether there is such a decision cannot be told: 1204 decisions from 2026-11-21T00:03:12.481Z to 2026-11-21T23:58:40.002Z lie in a file of the archive that cannot be read.',
);

/** How a decision that a path names may be refused. */
export const DECISION_REFUSALS = [UNKNOWN_DECISION, UNREAD_DECISION] as const;

/** The decision that the path names; refuses one that is not there, and one of which that cannot be told. */
export async function namedDecision(
  { ctx, key }: Pick<Asked<never>, 'ctx' | 'key'>,
  records: Records,
): Promise<Decision> {
  const { decision, unread } = await records.decision(key.platform, DECISION_ID.read(ctx));
  if (decision !== null) return decision;
  if (unread.length === 0) throw UNKNOWN_DECISION.problem();
  throw UNREAD_DECISION.problem(
    `Whether there is such a decision cannot be told: ${unread.map(unreadText).join('; ')}.`,
  );
}
