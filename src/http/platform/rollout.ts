import type Router from '@koa/router';
import { Type } from 'typebox';
import type { AccessKey, AccessKeys } from '../../access/access-keys.ts';
import { actorOfKey } from '../../access/actor.ts';
import { RolloutRefused, rollBack, rollOut, rolloutStatus } from '../../rollout/change-rollout.ts';
import type { Fleet, NodeReport } from '../../rollout/fleet.ts';
import type { LoadedRules } from '../../rollout/loaded-rules.ts';
import type { Change, Goal } from '../../rollout/rollout.ts';
import { isRuleVersion, RULE_VERSION_FORM, type RuleVersion } from '../../rules/rule-set.ts';
import { authenticate } from '../request/authenticate.ts';
import { readJson } from '../request/body.ts';
import { HttpProblem, malformedBody } from '../request/problems.ts';
import type { RequestState } from '../request/request-state.ts';
import { bodyOf, choice, text } from '../request/schemas.ts';

/** The node's side of the rollout. */
export interface RolloutView {
  readonly fleet: Fleet;
  readonly loadedRules: LoadedRules;
  readonly report: () => NodeReport;
}

export interface RolloutRouteParts extends RolloutView {
  readonly keys: AccessKeys;
  readonly clock: () => number;
}

const percentage = Type.Number({ exclusiveMinimum: 0, maximum: 100 });

export const RolloutBodySchema = Type.Object({
  version: text(32, 'The rule set, like p2.v11'),
  mode: choice(['shadow', 'canary', 'active'] as const, 'Where to bring it'),
  percent: Type.Optional(percentage),
  guard: Type.Optional(percentage),
  reason: text(1000, 'Why, for the history'),
});

export const RollbackBodySchema = Type.Object({
  reason: text(1000, 'Why, for the history'),
});

const rolloutBody = bodyOf(RolloutBodySchema);
const rollbackBody = bodyOf(RollbackBodySchema);

/** Which version decides, and how that changes: the same steps as the commands `rules status, rollout, rollback`. */
export function rolloutRoutes(
  router: Router<RequestState>,
  { keys, fleet, loadedRules, clock }: RolloutRouteParts,
): void {
  router.get('/rules', async (ctx) => {
    await authenticate(ctx, keys, 'rules');
    ctx.body = await rolloutStatus(fleet);
  });

  router.post('/rules/rollout', async (ctx) => {
    const key = await authenticate(ctx, keys, 'operate');
    const body = rolloutBody(await readJson(ctx.req));
    const change = changeOf(body, key, clock);
    ctx.body = await orConflict(() =>
      rollOut(fleet, loadedRules, versionOf(body.version), goalOf(body), change),
    );
  });

  router.post('/rules/rollback', async (ctx) => {
    const key = await authenticate(ctx, keys, 'operate');
    const body = rollbackBody(await readJson(ctx.req));
    ctx.body = await orConflict(() => rollBack(fleet, changeOf(body, key, clock)));
  });
}

/** Who did it is the key, never what the body says. */
function changeOf({ reason }: { readonly reason: string }, key: AccessKey, clock: () => number): Change {
  return { who: actorOfKey(key), at: clock(), reason };
}

function versionOf(text: string): RuleVersion {
  if (isRuleVersion(text)) return text;
  throw malformedBody(`/version must be ${RULE_VERSION_FORM}.`, [
    { pointer: '/version', detail: `must be ${RULE_VERSION_FORM}` },
  ]);
}

function goalOf({
  mode,
  percent,
  guard,
}: {
  readonly mode: Goal['mode'];
  readonly percent?: number | undefined;
  readonly guard?: number | undefined;
}): Goal {
  if (mode !== 'canary') {
    const stray = percent !== undefined ? 'percent' : guard !== undefined ? 'guard' : null;
    if (stray !== null)
      throw malformedBody(`/${stray} goes only with the mode canary.`, [
        { pointer: `/${stray}`, detail: 'goes only with the mode canary' },
      ]);
    return { mode };
  }
  if (percent === undefined)
    throw malformedBody('/percent is required for a canary.', [
      { pointer: '/percent', detail: 'is required for a canary' },
    ]);
  return { mode, percent, guardPoints: guard ?? null };
}

/** A refusal changes nothing and says why; 409, because the state of the fleet is in the way. */
async function orConflict<T>(change: () => Promise<T>): Promise<T> {
  try {
    return await change();
  } catch (error) {
    if (error instanceof RolloutRefused) throw new HttpProblem(409, 'rollout refused', error.message);
    throw error;
  }
}
