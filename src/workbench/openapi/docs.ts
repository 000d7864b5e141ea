import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { dirname, join } from 'node:path';
import { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import type Router from '@koa/router';
import { createExactPathRouter } from '#checkout/http/operation/operation.ts';
import type { RouteContext } from '#checkout/http/operation/parameter.ts';
import type { RequestState } from '#checkout/http/request/request-state.ts';
import type { OpenApiDocument } from './document.ts';
import { renderCodesPage, renderColumnsPage, renderFactsPage } from './reference.ts';

const SWAGGER_UI = dirname(fileURLToPath(import.meta.resolve('swagger-ui-dist/package.json')));

/** The page of Swagger UI. Its paths are relative, so that the page also works behind a proxy that adds a prefix. */
const PAGE = `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <title>Client Scoring Service: API</title>
    <link rel="icon" href="data:,">
    <link rel="stylesheet" href="docs/swagger-ui.css">
  </head>
  <body>
    <p>Documents: <a href="docs">platform</a>, <a href="docs?of=callers">callers</a>. What rules may ask for: <a href="docs/facts">facts</a>. What the archive holds:
      <a href="docs/columns">columns</a>. Why requests are refused: <a href="docs/codes">codes</a></p>
    <div id="docs"></div>
    <script src="docs/swagger-ui-bundle.js"></script>
    <script src="docs/initializer.js"></script>
  </body>
</html>
`;

const INITIALIZER = `window.SwaggerUIBundle({
  url: new URLSearchParams(location.search).get('of') === 'callers' ? 'docs/callers.json' : 'openapi.json',
  dom_id: '#docs',
  validatorUrl: null,
  deepLinking: true,
  defaultModelsExpandDepth: 0,
});
`;

/**
 * The page may load nothing from other servers and send nothing to them. Swagger UI sets styles by script, which
 * needs no exception.
 */
const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

const HEADERS = {
  'Content-Security-Policy': CONTENT_SECURITY_POLICY,
  'X-Content-Type-Options': 'nosniff',
  'Referrer-Policy': 'no-referrer',
  // These are the only large answers without a key. If the connection closes after the answer, the operating system
  // keeps the part that a slow reader has not taken, and the service does not wait for it.
  Connection: 'close',
} as const;

/**
 * A reader who has not taken the whole answer within this time is disconnected. Slow readers are disconnected anyway,
 * but that limit starts again whenever the system takes another part.
 */
const ANSWER_MS_MAX = 8_000;

/** The size of a part. A reader must take a part within the limit for slow readers. Larger parts cost less. */
const PART_BYTES = 256 * 1024;

/** The package's files that the page needs. Each is read when it is first requested. */
const ASSETS = [
  createAsset('swagger-ui.css', 'text/css; charset=utf-8'),
  createAsset('swagger-ui-bundle.js', 'text/javascript; charset=utf-8'),
];

/** A document as it is served: compact, in each encoding, with a tag that changes with the content. */
export interface ServedDocument {
  readonly tag: string;
  readonly texts: Promise<Readonly<Record<'identity' | 'gzip' | 'br', Buffer>>>;
}

/** Prepares a document. It is compressed once, at the start, and on other threads. */
export function prepareDocument(document: OpenApiDocument): ServedDocument {
  const identity = Buffer.from(JSON.stringify(document));
  const tag = `W/"${createHash('sha256').update(identity).digest('base64url').slice(0, 22)}"`;
  const compressed = async () => {
    const [zipped, br] = await Promise.all([
      promisify(gzip)(identity),
      promisify(brotliCompress)(identity, BROTLI),
    ]);
    return { identity, gzip: zipped, br };
  };
  return { tag, texts: compressed() };
}

/** The default quality takes a second to save the last percent. */
const BROTLI = { params: { [constants.BROTLI_PARAM_QUALITY]: 5 } };

/**
 * Creates the routes of a listener's document, `/openapi.json`. They need no key, because the document contains no
 * data of anybody.
 */
export function createDocumentRoutes(document: ServedDocument, basePath: string): Router<RequestState> {
  const router = createExactPathRouter(basePath);
  serveDocument(router, '/openapi.json', document);
  return router;
}

/**
 * Creates the routes of the platform's document and of `/docs`. `/docs` is Swagger UI from the installed package, for
 * both documents, and works offline. Further pages show the facts for rules, the columns of the archive, and the
 * codes of problems.
 */
export function createDocsRoutes(platform: ServedDocument, callers: ServedDocument): Router<RequestState> {
  const router = createDocumentRoutes(platform, '');
  serveDocument(router, '/docs/callers.json', callers);
  serve(router, '/docs', 'text/html; charset=utf-8', () => PAGE);
  router.get('/docs/', (ctx) => {
    ctx.state.operation = 'docs';
    // The target is relative, so that it is right below any prefix that a proxy adds.
    ctx.redirect('../docs');
  });
  serve(router, '/docs/facts', 'text/html; charset=utf-8', renderFactsPage);
  serve(router, '/docs/columns', 'text/html; charset=utf-8', renderColumnsPage);
  let codes: Promise<string> | null = null;
  serve(router, '/docs/codes', 'text/html; charset=utf-8', () => (codes ??= renderCodes(callers, platform)));
  serve(router, '/docs/initializer.js', 'text/javascript; charset=utf-8', () => INITIALIZER);
  for (const { name, type, parts } of ASSETS)
    serve(router, `/docs/${name}`, type, () => Readable.from(parts()));
  return router;
}

/** Renders the page of codes. The documents are read from their texts, so that they do not stay in memory. */
async function renderCodes(...served: readonly ServedDocument[]): Promise<string> {
  const texts = await Promise.all(served.map(async ({ texts }) => (await texts).identity.toString()));
  return renderCodesPage(texts.map((text): OpenApiDocument => JSON.parse(text)));
}

function serve(
  router: Router<RequestState>,
  path: string,
  type: string,
  body: (ctx: RouteContext) => unknown,
) {
  router.get(path, async (ctx) => {
    ctx.state.operation = 'docs';
    ctx.set({ ...HEADERS, 'Content-Type': type, 'Cache-Control': 'no-cache' });
    destroyLate(ctx.res);
    ctx.body = await body(ctx);
  });
}

function serveDocument(router: Router<RequestState>, path: string, { tag, texts }: ServedDocument): void {
  serve(router, path, 'application/json; charset=utf-8', async (ctx) => {
    // Browsers name gzip first, but that is no preference.
    const encoding = (['br', 'gzip'] as const).find((one) => ctx.acceptsEncodings(one) === one) ?? 'identity';
    ctx.vary('Accept-Encoding');
    ctx.set('ETag', tag);
    ctx.status = 200;
    if (ctx.fresh) {
      ctx.status = 304;
      return null;
    }
    if (encoding !== 'identity') ctx.set('Content-Encoding', encoding);
    return (await texts)[encoding];
  });
}

function destroyLate(res: ServerResponse): void {
  const late = setTimeout(() => res.destroy(), ANSWER_MS_MAX);
  res.once('close', () => clearTimeout(late));
}

/**
 * Creates an asset that is sent in parts. Parts show whether a reader takes anything, and all readers share the same
 * parts.
 */
function createAsset(name: string, type: string) {
  let parts: readonly Buffer[] | null = null;
  return { name, type, parts: () => (parts ??= splitParts(readFileSync(join(SWAGGER_UI, name)))) };
}

function splitParts(file: Buffer): readonly Buffer[] {
  const count = Math.ceil(file.length / PART_BYTES);
  return Array.from({ length: count }, (_, index) =>
    file.subarray(index * PART_BYTES, (index + 1) * PART_BYTES),
  );
}
