import { CALLER_OPERATIONS } from '#checkout/caller/caller-api.ts';
import { createOpenApiDocument, type OpenApiDocument } from '#workbench/openapi/document.ts';

const DESCRIPTION = `Classifies a payer and says whether a payment requisite may be issued right now.

Call score when the checkout is open and the amount is known, then verdict directly before a requisite is
issued. Both are decisions, not pings: repeated verdicts move the payer up the cooldown ladder.

Checks come in this sequence: rate, key (401), grant (403), body (415, 413, 400). About 20 requests a second
are taken from one client IP; over it answers are delayed, then the connection is dropped without an answer.
Unknown members of a body are ignored, and named in X-Ignored-Members. A member that comes twice is a 400. Whoever gets no answer to a verdict asks
again with the same Idempotency-Key; with a new one the payer takes another step. An optional member
that is null or "" is read like an absent one.`;

/** Creates the OpenAPI document of the two operations for callers. `basePath` is empty or a path like `/scoring`. */
export function createCallerApiDocument(basePath: string): OpenApiDocument {
  return createOpenApiDocument({
    title: 'Client Scoring Service',
    description: DESCRIPTION,
    serverUrl: basePath === '' ? '/' : basePath,
    tags: [{ name: 'Scoring', description: 'The two calls of a checkout' }],
    operations: CALLER_OPERATIONS,
    elsewhere: [],
    isStrict: false,
  });
}
