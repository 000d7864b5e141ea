import type Router from '@koa/router';
import type Koa from 'koa';
import { HttpProblem, notFound } from '../request/problems.ts';
import type { RequestState } from '../request/request-state.ts';

/** Adds the routes, what is asked most first, and answers 404 and 405 as problems with the allowed methods. */
export function mountRoutes(app: Koa<RequestState>, ...routers: readonly Router<RequestState>[]): void {
  for (const router of routers) app.use(router.routes());
  app.use((ctx) => {
    const layers = routers.flatMap((router) => router.match(ctx.path, ctx.method).path);
    const allowed = [...new Set(layers.flatMap(({ methods }) => methods))];
    if (allowed.length === 0) throw notFound(`There is nothing at ${ctx.path.slice(0, 200)}.`);
    throw new HttpProblem(405, 'method not allowed', `Use ${allowed.join(' or ')}.`, {
      headers: { Allow: allowed.join(', ') },
    });
  });
}
