import { randomUUID } from 'node:crypto';
import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { Readable } from 'node:stream';
import Koa from 'koa';
import { GRANTABLE_OPERATIONS } from '#checkout/access/access-keys.ts';
import type { Caller } from '#checkout/access/caller.ts';
import {
  createSearchQueue,
  type DeclaredOperation,
  formatAnswerTimes,
  type ListenerPolicy,
} from '#checkout/http/operation/operation.ts';
import type { RouteContext } from '#checkout/http/operation/parameter.ts';
import type { RequestState } from '#checkout/http/request/request-state.ts';
import type { PlatformName } from '#decision/payer/client-key.ts';
import { createOsUserActor } from '#workbench/access/actors.ts';
import type { RuleParts } from '#workbench/platform/parts.ts';
import { toPlatformProblem } from '#workbench/platform/refusals.ts';

/** The inputs of an operation, in the parts of a request. */
export interface OperationRequest {
  readonly path?: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, string>>;
  /**
   * A value that is sent as JSON, or lines of text. Each line holds one JSON object and ends with a line break. The
   * operation answers the first lines while others are still being read.
   */
  readonly body?: { readonly json: unknown } | { readonly lines: AsyncIterable<string> };
}

export interface OperationAnswer {
  /** The HTTP status. 202 means that the change waits for another person's approval. */
  readonly status: number;
  /** The body that the interface would send, as JSON. Null if there is no body, and for a stream. */
  readonly json: string | null;
  /** The pieces of a streamed answer, as they are made. Null for other answers. */
  readonly stream: AsyncIterable<unknown> | null;
}

/** Creates a caller for the user of the operating system, who may use every operation on the data of `platform`. */
export function createSystemUserCaller(platform: PlatformName, note = ''): Caller {
  const actor = createOsUserActor();
  return {
    actor: { ...actor, text: `${actor.text}${note}` },
    platform,
    operations: GRANTABLE_OPERATIONS,
    credential: { kind: 'user', id: actor.id },
    expiresAt: null,
  };
}

/**
 * Runs an operation in this process as the platform's listener runs it, but without a connection, a key or a wait for
 * other requests. Throws HttpProblem if the operation refuses.
 */
export async function callOperation(
  operation: DeclaredOperation<RuleParts>,
  parts: RuleParts,
  caller: Caller,
  given: OperationRequest = {},
): Promise<OperationAnswer> {
  const ctx = createContext(operation, given);
  const listener: ListenerPolicy = {
    keys: parts.keys,
    browsers: { requireSessionCaller: async () => caller },
    isStrict: true,
    whileReading: (_ctx, read) => read(),
    assignPlatform: () => {},
    openBodyMs: 0,
    searches: createSearchQueue(),
  };
  try {
    const answer = formatAnswerTimes(ctx, operation.answers, await operation.run(ctx, parts, listener));
    const stream = answer instanceof Readable ? answer : null;
    return { status: ctx.status, json: stream === null ? toJson(answer) : null, stream };
  } catch (error) {
    throw toPlatformProblem(error) ?? error;
  }
}

/** Converts an answer to JSON. The answer of a search is a JSON text already. */
function toJson(told: unknown): string | null {
  if (told === undefined) return null;
  return typeof told === 'string' ? told : JSON.stringify(told);
}

const koa = new Koa<RequestState>();

function createContext(
  { route }: DeclaredOperation<RuleParts>,
  { path = {}, query = {}, body }: OperationRequest,
): RouteContext {
  const [method = '', place = ''] = route.split(' ');
  const req = new GivenRequest(piecesOf(body));
  req.method = method.toUpperCase();
  req.url = `${place}?${new URLSearchParams(query)}`;
  const type = body !== undefined && 'lines' in body ? 'application/x-ndjson' : 'application/json';
  req.headers = { 'content-type': type };
  req.headersDistinct = { 'content-type': [type] };
  const ctx = koa.createContext<RequestState>(req, new ServerResponse(req));
  Object.assign(ctx.state, {
    requestId: randomUUID(),
    operation: 'none',
    route: place,
    caller: null,
    isWorkOfPlatform: false,
    admitted: Promise.resolve(true),
    extraLogMembers: {},
    failure: null,
  } satisfies RequestState);
  return Object.assign(ctx, { params: path });
}

async function* piecesOf(body: OperationRequest['body']): AsyncGenerator<string> {
  if (body === undefined) return;
  if ('lines' in body) yield* body.lines;
  else yield JSON.stringify(body.json);
}

/**
 * A request without a connection, whose body is made while it is read. If a piece is pushed only after `_read` has
 * returned, Node does not call `_read` of an IncomingMessage again. So one loop makes all pieces.
 */
class GivenRequest extends IncomingMessage {
  readonly #pieces: AsyncIterable<string>;
  #isBegun = false;
  #goOn = () => {};

  constructor(pieces: AsyncIterable<string>) {
    super(new Socket());
    this.#pieces = pieces;
  }

  override _read(): void {
    this.#goOn();
    if (this.#isBegun) return;
    this.#isBegun = true;
    void this.#fill().catch((error: Error) => {
      // The request is marked as complete, so that its reader gets this error and not one about a broken connection.
      this.complete = true;
      this.destroy(error);
    });
  }

  /** Makes pieces until the buffer is full, and continues when they have been read. */
  async #fill(): Promise<void> {
    for await (const piece of this.#pieces) {
      const isRead = new Promise<void>((resolve) => {
        this.#goOn = resolve;
      });
      if (!this.push(piece)) await isRead;
    }
    this.complete = true;
    this.push(null);
  }
}
