import type Router from '@koa/router';
import type { OpenApiDocument } from '#workbench/openapi/document.ts';

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
export function operationsOf({ paths }: OpenApiDocument): readonly string[] {
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
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
