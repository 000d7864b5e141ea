import Router from '@koa/router';
import type { Metrics } from '../../metrics.ts';
import type { RequestState } from '../request/request-state.ts';

/** Whether the process should get traffic, and if not, why. */
export type Readiness = () => Promise<
  { readonly ready: true } | { readonly ready: false; readonly why: string }
>;

/** What orchestrators and Prometheus ask for; no key is needed. */
export function healthRoutes(readiness: Readiness, metrics: Metrics): Router<RequestState> {
  const router = new Router<RequestState>();
  router.get('/livez', (ctx) => {
    ctx.state.operation = 'livez';
    ctx.body = { status: 'live' };
  });
  router.get('/readyz', async (ctx) => {
    ctx.state.operation = 'readyz';
    const state = await readiness();
    ctx.status = state.ready ? 200 : 503;
    ctx.body = state.ready ? { status: 'ready' } : { status: 'not ready', why: state.why };
  });
  router.get('/metrics', async (ctx) => {
    ctx.state.operation = 'metrics';
    ctx.set('Content-Type', metrics.registry.contentType);
    ctx.body = await metrics.registry.metrics();
  });
  return router;
}
