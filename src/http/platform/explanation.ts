import type Router from '@koa/router';
import type { AccessKeys } from '../../access/access-keys.ts';
import { explain, explainWithout } from '../../analysis/explain/explain.ts';
import type { RuleSource } from '../../rollout/rule-source.ts';
import type { Records } from '../../service/records.ts';
import { authenticate } from '../request/authenticate.ts';
import { notFound } from '../request/problems.ts';
import type { RequestState } from '../request/request-state.ts';

export interface ExplanationParts {
  readonly records: Records;
  readonly keys: AccessKeys;
  readonly ruleSource: Pick<RuleSource, 'ruleSetOf'>;
}

/**
 * Adds `GET /decisions/{decisionId}/explanation` to the platform's routes: every rule with its
 * conditions and the values they saw, and whether the verdict is reproduced. A decision whose rule set
 * this node does not have is answered too, without its rules and as not reproduced.
 */
export function explanationRoutes(router: Router<RequestState>, parts: ExplanationParts): void {
  const { records, keys, ruleSource } = parts;
  router.get('/decisions/:decisionId/explanation', async (ctx) => {
    const { platform } = await authenticate(ctx, keys, 'decisions');
    const decision = await records.decision(platform, ctx.params['decisionId'] ?? '');
    if (decision === null) throw notFound('There is no such decision, or it is past its retention.');
    const rules = ruleSource.ruleSetOf(decision.ruleVersion, decision.digest);
    ctx.body =
      rules === null
        ? explainWithout(decision, 'this node has not loaded it')
        : await explain(rules, decision);
  });
}
