import type { IncomingMessage } from 'node:http';
import Router from '@koa/router';
import type Koa from 'koa';
import { isJsonObject } from '#base/files/json-object.ts';
import { type TSchema, Type } from '#base/json-schema.ts';
import { createMomentWriter, type ValueOf } from '#base/shapes.ts';
import { FairQueue, type FairQueueLimits } from '#base/work/fair-queue.ts';
import { searchThrottle } from '#base/work/step-throttle.ts';
import { INSTALLATION_PLATFORM } from '#checkout/access/access-keys.ts';
import type { Caller } from '#checkout/access/caller.ts';
import {
  authenticateAndAuthorize,
  type CallerSources,
  isStillAuthorized,
  type RequiredGrant,
} from '#checkout/http/request/authenticate.ts';
import { BODY_BYTES_MAX, createBodyValidator, readJson } from '#checkout/http/request/body.ts';
import type { DocumentedRefusal } from '#checkout/http/request/problems.ts';
import { METHOD_NOT_ALLOWED, NOT_FOUND } from '#checkout/http/request/refusals.ts';
import type { RequestState } from '#checkout/http/request/request-state.ts';
import { type Parameter, type RouteContext, requireKnownParameters } from './parameter.ts';

/**
 * Few searches run at once. Each search holds its results in memory until the answer is sent, and all searches read
 * the archive on one other thread. One page of the console starts several searches.
 */
const SEARCHES: FairQueueLimits = {
  atOnceMax: 5,
  ownerMax: 2,
  waitingMax: 64,
  first: { owner: INSTALLATION_PLATFORM, kept: 1 },
};

export function createSearchQueue(): FairQueue {
  return new FairQueue(SEARCHES);
}

const METHODS = ['get', 'put', 'post', 'delete'] as const;

type Method = (typeof METHODS)[number];

/** One operation of a listener. Its route and its entry in the API document are made from this declaration. */
export interface OperationSpec {
  /** Method and path below the base path, with parameters in braces: `get /v1/platform/lists/{list}/entries`. */
  readonly route: `${Method} /${string}`;
  readonly summary: string;
  readonly description: string;
  readonly parameters?: readonly Parameter<unknown>[];
  /** Present if the operation ignores undeclared parameters even on a strict listener, as load balancers expect. */
  readonly ignoresQuery?: true;
  readonly answers: Readonly<Record<number, AnswerSpec>>;
  /** Refusals besides those of the parameters, the grant and the body. */
  readonly refusals?: readonly DocumentedRefusal[];
  /** Missing if no command runs the operation. */
  readonly command?: CliCommandSpec;
}

/** The command line's command for an operation. Its options follow from the parameters and the body. */
export interface CliCommandSpec {
  /** Two words, like `lists add`. */
  readonly name: string;
  /** The text in lists of commands. The default is the summary of the operation. */
  readonly summary?: string;
  /** The text of the command's help. The default is the description of the operation. */
  readonly description?: string;
  /** The positional arguments of the command, in sequence. */
  readonly words?: readonly string[];
  /** Names of options that differ from the name of their parameter or member. */
  readonly flags?: Readonly<Record<string, string>>;
  /** The columns of the table, each with the member that it shows. Only an operation that lists items has columns. */
  readonly columns?: Readonly<Record<string, string>>;
}

export interface AnswerSpec {
  readonly description: string;
  readonly headers?: readonly ('X-Decision-Id' | 'Idempotent-Replayed' | 'ETag')[];
  /** Schemas by media type. */
  readonly content?: Readonly<Record<string, TSchema>>;
  /** Whether the answer is plain text. */
  readonly text?: true;
}

/** An operation without its name. */
export interface DeclaredOperation<Parts> extends OperationSpec {
  /** Null if no key is needed. */
  readonly grant: RequiredGrant | null;
  readonly body: RequestBodySpec | null;
  /**
   * Checks the request and returns the answer: JSON, text or a stream. When it returns undefined, the answer has no
   * content (204).
   */
  readonly run: (ctx: RouteContext, parts: Parts, listener: ListenerPolicy) => Promise<unknown>;
}

/** A declared operation with its method, path, operationId and tag. */
export interface Operation<Parts> extends DeclaredOperation<Parts> {
  readonly method: Method;
  readonly path: string;
  readonly operationId: string;
  readonly tag: string;
}

/** Creates the operations of one chapter of the API document from declarations by name. */
export function createTaggedOperations<Parts>(
  tag: string,
  operations: Readonly<Record<string, DeclaredOperation<Parts>>>,
): readonly Operation<Parts>[] {
  return Object.entries(operations).map(([operationId, declared]) => {
    const method = METHODS.find((one) => declared.route.startsWith(`${one} `));
    if (method === undefined) throw new Error(`the route of ${operationId} names no method`);
    return { ...declared, method, path: declared.route.slice(method.length + 1), operationId, tag };
  });
}

/** How a listener identifies callers, reads bodies and limits work. */
export interface ListenerPolicy extends CallerSources {
  /**
   * Whether parameters and members that an operation does not declare are refused with 400. Otherwise they are
   * ignored.
   */
  readonly isStrict: boolean;
  /** Wraps the reading of a body, so that a slow sender does not keep others waiting. */
  readonly whileReading: <T>(ctx: RouteContext, read: () => Promise<T>) => Promise<T>;
  /**
   * Notes the platform of a request. The platform is null if the operation needs no key. Throws if too many requests
   * are under way.
   */
  readonly assignPlatform: (ctx: RouteContext, platform: string | null) => void;
  /** How long the body of an operation without a key may take. */
  readonly openBodyMs: number;
  readonly searches: FairQueue;
}

/** A request whose caller was granted the operation. */
export interface GrantedRequest<Body> {
  readonly ctx: RouteContext;
  readonly caller: Caller;
  /** Whether the caller is still granted the operation. Requests that last long call this function. */
  readonly isStillGranted: () => Promise<boolean>;
  /** Runs work when it is the platform's turn to search. Returns `unwanted` if nobody waits for the answer any more. */
  readonly inTurn: <T>(work: () => Promise<T>, unwanted: T) => Promise<T>;
  /** Reads the body. Throws 415, 413 or 400, so call it after other checks of the request. */
  readonly body: () => Promise<Body>;
}

export interface KeyedOperationSpec<Parts, Body> extends OperationSpec {
  readonly grant: RequiredGrant;
  readonly body?: ReadableBody<Body>;
  /**
   * Whether the operation searches stored data and may give a long answer. Such an operation waits for its turn and
   * answers with JSON.
   */
  readonly isSearch?: true;
  readonly answer: (asked: GrantedRequest<Body>, parts: Parts) => Promise<unknown>;
}

/**
 * Declares an operation that needs a key. It answers 401 for an unknown key, and 403 for a key that is not granted
 * the operation.
 */
export function declareOperation<Parts, Body = never>(
  spec: KeyedOperationSpec<Parts, Body>,
): DeclaredOperation<Parts> {
  const { answer, body, grant, isSearch = false, ...rest } = spec;
  return {
    ...rest,
    grant,
    body: body ?? null,
    run: async (ctx, parts, listener) => {
      const { isStrict, whileReading, searches } = listener;
      const caller = await authenticateAndAuthorize(ctx, listener, grant);
      listener.assignPlatform(ctx, caller.platform);
      if (isStrict) requireKnownParameters(ctx, rest.parameters ?? []);
      let reading: Promise<Body> | null = null;
      const read = () => {
        reading ??= whileReading(ctx, () => readBody(ctx, body, isStrict));
        return reading;
      };
      // Whether somebody still waits for the answer. Once the connection is closed, nobody waits.
      const isWanted = () => !ctx.req.socket.destroyed;
      const inTurn = <T>(search: () => Promise<T>, unwanted: T) =>
        searches.run(caller.platform, async () =>
          isWanted() ? searchThrottle.runWhileWanted(isWanted, search, unwanted) : unwanted,
        );
      const asked = {
        ctx,
        caller,
        body: read,
        isStillGranted: () => isStillAuthorized(ctx, listener, grant),
        inTurn,
      };
      // Verdicts take this path, so it creates no promise that they do not need.
      if (!isSearch) return answer(asked, parts);
      const text = await inTurn(
        async () => stringifyInSteps(formatMoments(rest.answers[200], await answer(asked, parts))),
        '',
      );
      ctx.type = 'json';
      return text;
    },
  };
}

export function readBody<Body>(
  ctx: RouteContext,
  body: ReadableBody<Body> | undefined,
  isStrict: boolean,
): Promise<Body> {
  if (body === undefined) throw new Error(`${ctx.state.route} declares no body`);
  return body.read(
    ctx.req,
    isStrict ? null : (members) => ctx.set('X-Ignored-Members', formatIgnoredNames(members)),
  );
}

const IGNORED_NAMED_MAX = 10;
const IGNORED_CHARACTERS_MAX = 64;

/** Formats names of members for a header. */
function formatIgnoredNames(members: readonly string[]): string {
  const some = members.slice(0, IGNORED_NAMED_MAX);
  return some
    .map((name) => encodeURIComponent(name.slice(0, IGNORED_CHARACTERS_MAX).toWellFormed()))
    .join(', ');
}

export function declareJsonAnswer(description: string, shape: TSchema): Readonly<Record<200, AnswerSpec>> {
  return { 200: { description, content: { 'application/json': shape } } };
}

/** The answer of an operation without content. */
export const NO_CONTENT: Readonly<Record<204, AnswerSpec>> = {
  204: { description: 'Done, also when there was nothing to do' },
};

/**
 * Serializes an answer as JSON. Half a megabyte takes some milliseconds, in which every other request would wait.
 * Therefore long lists are serialized in steps.
 */
export async function stringifyInSteps(answer: unknown): Promise<string> {
  if (!isJsonObject(answer)) return JSON.stringify(answer);
  const members: string[] = [];
  for (const [name, value] of Object.entries(answer)) {
    const text = Array.isArray(value) ? `[${(await stringifyItems(value)).join()}]` : JSON.stringify(value);
    if (text !== undefined) members.push(`${JSON.stringify(name)}:${text}`);
  }
  return `{${members.join()}}`;
}

function stringifyItems(items: readonly unknown[]): Promise<readonly string[]> {
  return searchThrottle.mapInSteps(items, async (some) => some.map((item) => JSON.stringify(item) ?? 'null'));
}

export interface RequestBodySpec {
  /** Names and examples of schemas, by media type. The API document keeps each schema under its name. */
  readonly content: Readonly<Record<string, { readonly name: string; readonly example: unknown }>>;
  readonly shapes: Readonly<Record<string, TSchema>>;
  /** Whether the body is read line by line. The length of such a body is not limited. */
  readonly onlyLines?: true;
  /** The longest body in bytes. The default is BODY_BYTES_MAX. */
  readonly bytesMax?: number;
}

/** Receives the names of unknown members. Null if such members are refused. */
type OnIgnored = ((members: readonly string[]) => void) | null;

/** A body and how to read it. `read` throws 415, 413 or 400. */
export interface ReadableBody<Value> extends RequestBodySpec {
  readonly read: (req: IncomingMessage, onIgnored: OnIgnored) => Promise<Value>;
}

/**
 * Declares a JSON body with one schema, which the API document keeps under `name`. The default example consists of
 * the examples of its members.
 */
export function declareJsonBody<S extends TSchema>(
  name: string,
  schema: S,
  example?: ValueOf<S>,
  bytesMax: number = BODY_BYTES_MAX,
): ReadableBody<ValueOf<S>> {
  const take = createBodyChecker(schema);
  return {
    bytesMax,
    content: { 'application/json': { name, example } },
    shapes: { [name]: schema },
    read: async (req, onIgnored) => take(await readJson(req, bytesMax), onIgnored),
  };
}

/** Creates a function that checks a value against one schema and reports the names of unknown members. */
export function createBodyChecker<S extends TSchema>(schema: S) {
  const valid = createBodyValidator(schema, false);
  const strict = createBodyValidator(schema);
  const known = new Set(Type.IsObject(schema) ? Object.keys(schema.properties) : []);
  return (value: unknown, onIgnored: OnIgnored): ValueOf<S> => {
    if (onIgnored === null) return strict(value);
    const ignored = isJsonObject(value) ? Object.keys(value).filter((name) => !known.has(name)) : [];
    const body = valid(value);
    if (ignored.length > 0) onIgnored(ignored);
    return body;
  };
}

/** Creates a router that matches each path only in this exact spelling. */
export function createExactPathRouter(prefix: string): Router<RequestState> {
  return new Router<RequestState>({ prefix, strict: true, sensitive: true });
}

export function addOperationRoutes<Parts>(
  router: Router<RequestState>,
  operations: readonly Operation<Parts>[],
  parts: Parts,
  listener: ListenerPolicy,
): void {
  for (const { method, path, run, answers } of operations) {
    router[method](path.replaceAll(/\{(\w+)\}/g, ':$1'), async (ctx) => {
      ctx.state.route = path;
      writeAnswer(ctx, formatAnswerTimes(ctx, answers, await run(ctx, parts, listener)));
    });
  }
}

/** Formats the times in an answer as the schema of its operation says. */
export function formatAnswerTimes(
  { status }: Pick<RouteContext, 'status'>,
  answers: OperationSpec['answers'],
  answer: unknown,
): unknown {
  return formatMoments(answers[status === 202 ? 202 : 200], answer);
}

function formatMoments(told: AnswerSpec | undefined, answer: unknown): unknown {
  const shape = told?.content?.['application/json'];
  const isPlain = isJsonObject(answer) && answer.constructor === Object;
  return shape === undefined || !isPlain ? answer : createMomentWriter(shape)(answer);
}

/** Writes an answer. Koa can write JSON too, but tries every other kind of answer first. */
function writeAnswer(ctx: RouteContext, answer: unknown): void {
  if (answer === undefined) ctx.status = 204;
  else if (typeof answer === 'object' && answer?.constructor === Object) {
    ctx.set('Content-Type', 'application/json; charset=utf-8');
    ctx.body = JSON.stringify(answer);
  } else ctx.body = answer;
}

/**
 * Adds the routes, the most frequently used router first. Other paths and methods are answered with 404 and 405
 * problems, which name the allowed methods.
 */
export function mountRoutes(app: Koa<RequestState>, ...routers: readonly Router<RequestState>[]): void {
  for (const router of routers) app.use(router.routes());
  app.use((ctx) => {
    const layers = routers.flatMap((router) => router.match(ctx.path, ctx.method).path);
    const allowed = [...new Set(layers.flatMap(({ methods }) => methods))];
    if (allowed.length === 0) throw NOT_FOUND.problem(ctx.path);
    throw METHOD_NOT_ALLOWED.problem(...allowed);
  });
}
