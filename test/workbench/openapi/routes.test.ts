import Router from '@koa/router';
import { expect } from 'chai';
import Koa from 'koa';
import { createCallerApiDocument } from '#workbench/platform/caller-document.ts';
import { createPlatformDocument } from '#workbench/platform/platform-operations.ts';
import { disagreements, operationsOf, routesOf } from './described-routes.ts';
import { Live } from './live-api.ts';

/** The documents, and the page of the platform's listener that shows both: without a key, and about nobody. */
const DOCUMENTATION = [
  '/openapi.json',
  '/docs',
  '/docs/',
  '/docs/callers.json',
  '/docs/facts',
  '/docs/columns',
  '/docs/codes',
  '/docs/initializer.js',
  '/docs/swagger-ui.css',
  '/docs/swagger-ui-bundle.js',
];

/** The console is a page of files, whatever their names are; what it shows comes from operations. */
function filesAmong(routes: readonly string[]): readonly string[] {
  const page = routes.filter((route) => route === 'GET /' || route.startsWith('GET /console/'));
  return [...DOCUMENTATION.map((path) => `GET ${path}`), ...page];
}

const OPERATIONS = [createCallerApiDocument(''), createPlatformDocument()].flatMap((document) =>
  operationsOf(document),
);

describe('routes and API documents', () => {
  let live: Live;
  let routes: readonly string[];

  before(async () => {
    const routers: Router[] = [];
    const { use } = Koa.prototype;
    Reflect.set(Koa.prototype, 'use', function (this: Koa, middleware: object) {
      if ('router' in middleware && middleware.router instanceof Router) routers.push(middleware.router);
      return Reflect.apply(use, this, [middleware]);
    });
    live = await Live.start().finally(() => Reflect.set(Koa.prototype, 'use', use));
    routes = routesOf(routers);
  });
  after(() => live?.stop());

  it('agree on both listeners', () => {
    expect(OPERATIONS.length).to.be.above(22);
    expect(disagreements(routes, OPERATIONS, filesAmong(routes))).to.deep.equal([]);
  });

  it('differ when a route or a file is not described, or has another name', () => {
    const secret = new Router({ prefix: '/v1/platform' });
    secret.put('/secrets/:name', () => {});
    const others = routes.filter((route) => route !== 'GET /v1/platform/decisions/{decisionId}');
    const more = [...others, ...routesOf([secret]), 'GET /v1/platform/decisions/{id}'];
    const files = [...filesAmong(routes), 'GET /gone.js', 'GET /livez'];
    expect(disagreements(more, OPERATIONS, files)).to.deep.equal([
      'PUT /v1/platform/secrets/{name} is not in the document',
      'GET /v1/platform/decisions/{id} is not in the document',
      'GET /v1/platform/decisions/{decisionId} has no route',
      'GET /gone.js is left out, and has no route',
      'GET /livez is left out and described',
    ]);
  });
});
