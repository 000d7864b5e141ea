import Router from '@koa/router';
import type Koa from 'koa';
import type { OpenApiDocument } from '../../../src/http/openapi/document.ts';

/** The routers that an application asks, in that order. */
export function routersOf<State>(app: Koa<State>): readonly Router[] {
  return app.middleware.flatMap((middleware) =>
    'router' in middleware && middleware.router instanceof Router ? [middleware.router] : [],
  );
}

/** Every route as `GET /v1/platform/decisions/{decisionId}`; HEAD comes with GET and is not told apart. */
export function routesOf(routers: readonly Router[]): readonly string[] {
  return routers
    .flatMap(({ stack }) => stack)
    .flatMap(({ methods, path }) =>
      methods
        .filter((method) => method !== 'HEAD')
        .map((method) => `${method} ${String(path).replace(/:(\w+)/g, '{$1}')}`),
    );
}

/** Every operation of a document, written as its route is. */
export function operationsOf({ paths }: OpenApiDocument, basePath = ''): readonly string[] {
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method.toUpperCase()} ${basePath}${path}`),
  );
}

/**
 * The differences between routes and document, in words; empty when each route is an operation of the document or one
 * of the `files`.
 */
export function disagreements(
  routes: readonly string[],
  operations: readonly string[],
  files: readonly string[],
): readonly string[] {
  return [
    ...routes
      .filter((route) => !operations.includes(route) && !files.includes(route))
      .map((route) => `${route} is not in the document`),
    ...operations.filter((one) => !routes.includes(one)).map((one) => `${one} has no route`),
    ...files.filter((file) => !routes.includes(file)).map((file) => `${file} is left out, and has no route`),
    ...files.filter((file) => operations.includes(file)).map((file) => `${file} is left out and described`),
  ];
}
