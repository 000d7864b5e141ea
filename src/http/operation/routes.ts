import Router from '@koa/router';
import type Koa from 'koa';
import { METHOD_NOT_ALLOWED, NOTHING_THERE } from '../request/refusals.ts';
import type { RequestState } from '../request/request-state.ts';
import type { Listener, Operation } from './operation.ts';
import type { RouteContext } from './parameters.ts';

/** A router that knows each path in exactly this spelling. */
export function strictRouter(prefix: string): Router<RequestState> {
  return new Router<RequestState>({ prefix, strict: true, sensitive: true });
}

/** Gives every operation its route. */
export function addOperations<Parts>(
  router: Router<RequestState>,
  operations: readonly Operation<Parts>[],
  parts: Parts,
  listener: Listener,
): void {
  for (const { method, path, run } of operations) {
    router[method](path.replaceAll(/\{(\w+)\}/g, ':$1'), async (ctx) => {
      ctx.state.route = path;
      answerWith(ctx, await run(ctx, parts, listener));
    });
  }
}

/** Koa writes JSON, too, but only after it has tried every other kind of answer. */
function answerWith(ctx: RouteContext, answer: unknown): void {
  if (answer === undefined) ctx.status = 204;
  else if (typeof answer === 'object' && answer?.constructor === Object) {
    ctx.set('Content-Type', 'application/json; charset=utf-8');
    ctx.body = JSON.stringify(answer);
  } else ctx.body = answer;
}

/** Adds the routes, what is asked most first, and answers 404 and 405 as problems with the allowed methods. */
export function mountRoutes(app: Koa<RequestState>, ...routers: readonly Router<RequestState>[]): void {
  for (const router of routers) app.use(router.routes());
  app.use((ctx) => {
    const layers = routers.flatMap((router) => router.match(ctx.path, ctx.method).path);
    const allowed = [...new Set(layers.flatMap(({ methods }) => methods))];
    if (allowed.length === 0) throw NOTHING_THERE.problem(ctx.path);
    throw METHOD_NOT_ALLOWED.problem(...allowed);
  });
}
