export type HeaderList = Readonly<Record<string, string>>;

const OVERLOADED = 'The service is overloaded;';

/** An HTTP answer with its body read. */
export interface Answer<Body = unknown> {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Body;
}

/** Problem details as every refusal carries them. */
export interface Problem {
  readonly title: string;
  readonly status: number;
  readonly detail: string;
  readonly retryable: boolean;
  readonly errors?: readonly { readonly pointer: string; readonly detail: string }[];
  readonly requestId: string;
}

/** Retries while overload control refuses, which changed nothing; for tests with bursts. */
export async function untilTaken<Body>(ask: () => Promise<Answer<Body>>): Promise<Answer<Body>> {
  for (;;) {
    const answer = await ask();
    if (answer.status !== 503 || !JSON.stringify(answer.body).includes(OVERLOADED)) return answer;
  }
}

const TIME_NAME = /^(?:at|since|from|to|asOf|upTo|backTo)$|(?:At|Until|Since)$/;
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

/** Tests reckon in milliseconds; test/workbench/openapi holds how times are written. */
function timeRead(this: object, name: string, value: unknown): unknown {
  // Keys have texts inside, too.
  const isTime = TIME_NAME.test(name) && !('issuedAt' in this);
  return isTime && typeof value === 'string' && TIME.test(value) ? Date.parse(value) : value;
}

/** For JSON.stringify: times as the service writes them. */
export function timeTold(name: string, value: unknown): unknown {
  return typeof value === 'number' && value >= 1e11 && TIME_NAME.test(name)
    ? new Date(value).toISOString()
    : value;
}

const TIME_ASKED = /(?<=[?&](?:from|to|asOf|againstFrom|againstTo)=)\d{10,15}(?=&|$)/g;

/** One request; a body that is no text is sent as JSON. */
export async function call<Body = unknown>(
  method: string,
  url: string,
  headers: HeaderList,
  body?: object | string | Uint8Array<ArrayBuffer>,
): Promise<Answer<Body>> {
  const raw = typeof body === 'string' || body instanceof Uint8Array;
  const type = body === undefined ? {} : { 'Content-Type': 'application/json' };
  const answer = await fetch(
    url.replaceAll(TIME_ASKED, (at) => new Date(Number(at)).toISOString()),
    {
      method,
      headers: { ...type, ...headers },
      ...(body === undefined ? {} : { body: raw ? body : JSON.stringify(body, timeTold) }),
    },
  );
  const text = await answer.text();
  const isJson = /^application\/(problem\+)?json\b/.test(answer.headers.get('Content-Type') ?? '');
  const parsed: Body = JSON.parse(isJson && text !== '' ? text : JSON.stringify(text), timeRead);
  return { status: answer.status, headers: answer.headers, body: parsed };
}
