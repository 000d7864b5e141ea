import {
  type DeclaredOperation,
  type OperationSpec,
  type ReadableBody,
  readBody,
} from '#checkout/http/operation/operation.ts';
import { type RouteContext, requireKnownParameters } from '#checkout/http/operation/parameter.ts';
import { REQUEST_TIMED_OUT } from '#checkout/http/request/refusals.ts';

interface OpenSpec<Parts, Body> extends OperationSpec {
  /** The operation's name in the log and in metrics. */
  readonly label: string;
  readonly body?: ReadableBody<Body>;
  readonly answer: (ctx: RouteContext, parts: Parts, body: () => Promise<Body>) => Promise<unknown>;
}

/** Declares an operation that needs no key. */
export function declareKeylessOperation<Parts, Body = never>(
  spec: OpenSpec<Parts, Body>,
): DeclaredOperation<Parts> {
  const { answer, label, body, ...rest } = spec;
  return {
    ...rest,
    grant: null,
    body: body ?? null,
    run: async (ctx, parts, { assignPlatform, openBodyMs, isStrict }) => {
      ctx.state.operation = label;
      assignPlatform(ctx, null);
      if (isStrict && rest.ignoresQuery !== true) requireKnownParameters(ctx, rest.parameters ?? []);
      return answer(ctx, parts, () => readInTime(openBodyMs, readBody(ctx, body, isStrict)));
    },
  };
}

/** Waits for a body for `ms`. Throws 408 if it does not arrive in time. */
async function readInTime<T>(ms: number, reading: Promise<T>): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(REQUEST_TIMED_OUT.problem()), ms);
  try {
    return await Promise.race([reading, promise]);
  } finally {
    clearTimeout(timer);
  }
}
