import { listenOnWindow, useEffect, useRef, useState } from './html.ts';
import type { Question, Session } from './questions.ts';
import { forgetVisits } from './visits.ts';

/**
 * The platform that this tab shows. If another tab signs in at another platform later, the service refuses
 * requests of this tab.
 */
let platform: string | null = new URLSearchParams(location.search).get('platform');

export function setTabSession(session: Session | null) {
  const next = session?.platform ?? null;
  if (next !== platform) {
    forgetVisits();
    earlyAnswers.clear();
  }
  platform = next;
  signedInPersonKey = session === null ? '' : `${session.platform} ${session.who}`;
  if (session === null) dispatchEvent(new Event('signed-out'));
}

/**
 * Answers that were requested before the page's program was loaded, by path. Each is used once, and only
 * for the page that was opened first.
 */
let earlyAnswers = new Map<string, Promise<Response>>();

/**
 * Keeps the answers that were requested before the page was drawn, until the person leaves the first page.
 */
export function setEarlyAnswers(asked: typeof earlyAnswers) {
  earlyAnswers = asked;
  addEventListener('hashchange', () => earlyAnswers.clear(), { once: true });
}

async function takeEarlyAnswer(path: string) {
  const answer = earlyAnswers.get(path);
  earlyAnswers.delete(path);
  const { ok } = (await answer) ?? { ok: false };
  return ok ? answer : undefined;
}

/** The platform and the person who is signed in in this tab, as one text. Empty if nobody is signed in. */
let signedInPersonKey = '';

/**
 * Returns `platform person`. Under this key the browser keeps what belongs to this person only. Empty if
 * nobody is signed in.
 */
export function getSignedInPersonKey() {
  return signedInPersonKey;
}

/**
 * How long to wait before the service is asked again. A service that is started again takes a few seconds.
 */
const UNREACHABLE_RETRY_SECONDS = 5;

/** The present state of a request: its answer, its error, and a function that requests the answer again. */
export interface AnswerState<T> {
  readonly data: T | null;
  readonly error: ServiceRefusal | null;
  readonly reload: () => void;
}

/** A refusal of the service, with the service's own words about what is wrong. */
export class ServiceRefusal extends Error {
  readonly status: number;
  readonly retryAfterSeconds: number | null;

  /**
   * `status` is 0 if the service could not be reached. `retryAfterSeconds` is null if another try would
   * change nothing.
   */
  constructor(status: number, detail: string, retryAfterSeconds: number | null = null) {
    super(detail);
    this.status = status;
    this.retryAfterSeconds = retryAfterSeconds;
  }
}

/**
 * Sends a request of the person who is signed in. Throws ServiceRefusal if the service refuses, cannot be
 * reached, or only makes a proposal. A `body` that is a text consists of lines of JSON.
 */
export async function askService<T>(
  method: Method,
  question: Question<T>,
  body?: object | string,
  signal?: AbortSignal,
): Promise<T> {
  return (await sendWithCredentials(method, question, body, signal)).value;
}

/**
 * Returns the text of the answer to a GET, to be saved as a file. Throws ServiceRefusal as `askService`
 * does.
 */
export async function askServiceForText(question: Question<unknown>): Promise<string> {
  return (await sendWithCredentials('GET', question)).text;
}

type Method = 'GET' | 'PUT' | 'POST' | 'DELETE';

async function sendWithCredentials(
  method: Method,
  { path, revision, pagedMember }: Question<unknown>,
  body?: object | string,
  signal?: AbortSignal,
) {
  const { answer, text } = await send(method, path, body, {
    revision: revision ?? null,
    signal: signal ?? null,
  });
  const value = readValue(answer.headers.get('Content-Type') ?? '', text);
  if (answer.status === PROPOSED) {
    const secret = value.key === undefined ? '' : ` ${SECRET} ${value.key}`;
    throw new ServiceRefusal(PROPOSED, `${WAITS} ${value.proposalId}.${secret}`);
  }
  if (answer.ok && pagedMember !== undefined && value.next !== null) {
    const next = `${path.replace(/&after=.*/, '')}&after=${encodeURIComponent(value.next)}`;
    const rest = await askService<Record<string, readonly unknown[]>>(method, {
      path: next,
      pagedMember,
    });
    return {
      value: { ...value, [pagedMember]: [...value[pagedMember], ...(rest[pagedMember] ?? [])], next: null },
      text,
    };
  }
  if (answer.ok) return { value, text };
  if (answer.status === 401 && path !== 'session')
    dispatchEvent(new CustomEvent('session-ended', { detail: value?.detail }));
  const retryAfter = answer.headers.get('Retry-After');
  const detail = value?.detail ?? `The service answered ${answer.status}.`;
  const otherwise = answer.status >= 500 ? UNREACHABLE_RETRY_SECONDS : null;
  throw new ServiceRefusal(answer.status, detail, retryAfter === null ? otherwise : Number(retryAfter));
}

function readValue(type: string, text: string) {
  if (text === '' || !type.includes('json')) return null;
  if (!type.includes('ndjson')) return JSON.parse(text);
  return text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
}

async function send(
  method: string,
  path: string,
  body: object | string | undefined,
  { revision, signal }: { revision: number | null; signal: AbortSignal | null },
) {
  const shown = platform === null ? {} : { 'X-KA-Platform': platform };
  const isLines = typeof body === 'string';
  const type = body === undefined ? {} : { 'Content-Type': `application/${isLines ? 'x-ndjson' : 'json'}` };
  try {
    const early = method === 'GET' ? await takeEarlyAnswer(path) : undefined;
    const answer =
      early ??
      (await fetch(`v1/platform/${path}`, {
        method,
        headers: { ...shown, ...type, ...(revision !== null && { 'If-Match': `"${revision}"` }) },
        cache: 'no-store',
        signal,
        ...(body === undefined ? {} : { body: isLines ? body : JSON.stringify(body) }),
      }));
    // The text is read here, so that an answer that breaks off is an error, too.
    return { answer, text: await answer.text() };
  } catch {
    const detail = 'The service cannot be reached. Check that it runs, then try again.';
    throw new ServiceRefusal(0, detail, UNREACHABLE_RETRY_SECONDS);
  }
}

/** The status of an answer to a change that another person has to approve. */
const PROPOSED = 202;
const WAITS = 'It was proposed. Somebody else approves it in Settings, as';
const SECRET = 'The key is shown only now, and let in then:';

const ASK_AGAIN = 'ask-again';

/** Requests again all answers that the page shows. */
export function reloadAnswers() {
  dispatchEvent(new Event(ASK_AGAIN));
}

/** A request that has been under way for this long is taken as lost. */
const LOST_MS = 30_000;

/**
 * Requests an answer by GET, and returns its present state. The answer is requested again when the path
 * changes, on `reload`, and every `every` ms, which may be computed from the last answer. While a request is
 * under way, `every` sends no other request. A new request would discard the one under way, so slow answers
 * would never be shown. If the question is null, nothing is requested. The last answer stays visible while
 * the service does not answer.
 */
export function useAnswer<T>(
  question: Question<T> | null,
  every: number | ((data: T) => number) = 0,
): AnswerState<T> {
  const path = question?.path ?? null;
  const [known, setKnown] = useState(() => startUnanswered(question));
  const [round, setRound] = useState(0);
  const askedAtMs = useRef(Number.NEGATIVE_INFINITY);
  // If the service said when to try again, the page tries then and not before.
  const heals = useRef(false);
  const reload = () => setRound((number) => number + 1);
  useEffect(() => listenOnWindow(ASK_AGAIN, reload), []);
  useEffect(() => {
    if (question === null) return undefined;
    let left = false;
    askedAtMs.current = performance.now();
    askService('GET', question)
      .then(
        (data) => left || setKnown({ path, data, error: null }),
        (error) =>
          left || setKnown((before) => ({ path, data: before.path === path ? before.data : null, error })),
      )
      .finally(() => {
        if (!left) askedAtMs.current = Number.NEGATIVE_INFINITY;
      });
    return () => {
      left = true;
    };
  }, [path, round]);
  const { data, error } = known.path === path ? known : startUnanswered(question);
  const everyMs = typeof every === 'number' ? every : data === null ? 0 : every(data);
  useEffect(() => {
    if (everyMs === 0) return undefined;
    const isUnderWay = () => performance.now() - askedAtMs.current < LOST_MS;
    const timer = setInterval(() => document.hidden || heals.current || isUnderWay() || reload(), everyMs);
    return () => clearInterval(timer);
  }, [everyMs]);
  heals.current = (error?.retryAfterSeconds ?? null) !== null;
  useRetryAfterRefusal(error, reload);
  return { data, error, reload };
}

function startUnanswered<T>(_question: Question<T> | null): {
  path: string | null;
  data: T | null;
  error: ServiceRefusal | null;
} {
  return { path: null, data: null, error: null };
}

/**
 * Calls `again` at the time that the service gave with its refusal, and when somebody has signed in again.
 */
export function useRetryAfterRefusal(error: ServiceRefusal | null, again: () => void) {
  useEffect(() => {
    if (error === null) return undefined;
    const seconds = error.retryAfterSeconds;
    const timer = seconds === null ? undefined : setTimeout(again, seconds * 1000);
    return () => clearTimeout(timer);
  }, [error]);
  useEffect(() => (error === null ? undefined : listenOnWindow('signed-in', again)), [error]);
}

/** Whether a session was granted an operation. */
export function isAllowed(session: Session, operation: Session['operations'][number]) {
  return session.operations.includes(operation);
}
