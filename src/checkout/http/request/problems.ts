import { Type } from '#base/json-schema.ts';
import { NamedError } from '#base/named-error.ts';
import { named, plainText, shape, yesNo } from '#base/shapes.ts';

/** A fault of a request: where it is, and what is wrong. */
export interface PointedDetail {
  /** An RFC 6901 pointer into the body. Missing if the fault is in a header. */
  readonly pointer?: string;
  /** The name of a header. Missing if the fault is in the body. */
  readonly header?: string;
  readonly detail: string;
}

/** An answer that refuses a request: RFC 9457 problem details, with the interface's message as title. */
export class HttpProblem extends NamedError {
  readonly status: number;
  readonly title: string;
  readonly errors: readonly PointedDetail[];
  readonly headers: Readonly<Record<string, string>>;
  #code = 'internal-error';

  constructor(
    status: number,
    title: string,
    detail: string,
    { errors = [], headers = {} }: Partial<Pick<HttpProblem, 'errors' | 'headers'>> = {},
  ) {
    super(detail);
    this.status = status;
    this.title = title;
    this.errors = errors;
    this.headers = headers;
  }

  /** The name of the declared refusal, by which programs tell refusals apart. */
  get code(): string {
    return this.#code;
  }

  /** Gives the problem the code of a refusal. */
  withCode(code: string): this {
    this.#code = code;
    return this;
  }

  /** Whether the same request may succeed when it is sent again. */
  get retryable(): boolean {
    return this.status === 408 || this.status === 429 || this.status >= 500;
  }
}

/** Creates the 400 of a body that is not valid (interface, section 7). */
export function createMalformedBodyProblem(
  detail: string,
  errors: readonly PointedDetail[] = [],
): HttpProblem {
  return new HttpProblem(400, 'malformed JSON body', detail, { errors }).withCode('malformed-body');
}

export function createBadRequestProblem(detail: string, errors: readonly PointedDetail[] = []): HttpProblem {
  return new HttpProblem(400, 'bad request', detail, { errors });
}

export function createNotFoundProblem(detail: string): HttpProblem {
  return new HttpProblem(404, 'not found', detail);
}

/** Creates a 429. `retryAfterSeconds` says when the same request may be sent again. */
export function createTooManyRequestsProblem(detail: string, retryAfterSeconds: number): HttpProblem {
  const headers = { 'Retry-After': String(retryAfterSeconds) };
  return new HttpProblem(429, 'too many requests', detail, { headers });
}

export function createUnavailableProblem(detail: string): HttpProblem {
  return new HttpProblem(503, 'temporarily unavailable', detail, { headers: { 'Retry-After': '1' } });
}

/** A declared way to refuse requests. Code throws `problem(..)`, and the API document shows `example`. */
export interface Refusal<Given extends readonly string[] = []> {
  /** The code of the refusal's problems. No other refusal of the same operation has this code. */
  readonly name: string;
  readonly when: string;
  readonly problem: (...given: Given) => HttpProblem;
  readonly example: HttpProblem;
}

/** The part of a refusal that the API document shows. */
export type DocumentedRefusal = Omit<Refusal, 'problem'>;

/**
 * Declares a refusal whose text depends on the arguments of `problem`. The API document shows it with the arguments
 * in `example`.
 */
export function declareRefusal<Given extends readonly string[]>(
  name: string,
  when: string,
  problem: (...given: Given) => HttpProblem,
  ...example: NoInfer<Given>
): Refusal<Given> {
  const named = (...given: Given) => problem(...given).withCode(name);
  return { name, when, problem: named, example: named(...example) };
}

/** The refusal that every operation with a body may answer. */
export const MALFORMED_BODY = declareRefusal(
  'malformed-body',
  'The body is not valid for the operation; errors point at what is wrong.',
  (pointer: string, detail: string) =>
    createMalformedBodyProblem(`${pointer} ${detail}.`, [{ pointer, detail }]),
  '/reason',
  'is required',
);

export const retryableSchema = yesNo(
  'Whether the same request may succeed when it is sent again after a pause',
);

export const errorsSchema = Type.Optional(
  Type.Array(
    shape('One fault of the request', {
      pointer: Type.Optional(plainText('RFC 6901 pointer into the body; absent for a fault of a header')),
      header: Type.Optional(plainText('Name of the header; absent for a fault of the body')),
      detail: plainText('What is wrong there'),
    }),
    { minItems: 1, description: 'Only with 400' },
  ),
);

/** RFC 9457 problem details, the form of every refusal (interface, section 7). */
export const ProblemSchema = named(
  'Problem',
  shape('RFC 9457 problem details', {
    title: plainText("The interface's message text, the same for every refusal of its kind"),
    status: Type.Integer({ minimum: 400, maximum: 599, description: 'The HTTP status' }),
    code: plainText('Code of the refusal, for programs; the document lists the codes of each operation'),
    detail: plainText('What is wrong, and what is allowed'),
    errors: errorsSchema,
    retryable: retryableSchema,
    requestId: plainText('Id of the request in the log; quote it to the platform owner'),
  }),
);

/**
 * Runs work. If the work throws an error of one of the `kinds`, throws the problem that `problem` makes of its
 * message.
 */
export async function runRefusingKnownErrors<T>(
  work: () => Promise<T>,
  problem: (message: string) => HttpProblem,
  ...kinds: readonly (new (
    ...given: never[]
  ) => Error)[]
): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const isKnown = error instanceof Error && kinds.some((kind) => error instanceof kind);
    throw isKnown ? problem(error.message) : error;
  }
}
