import { useEffect, useState } from './html.js';

const STORED_KEY = 'access-key';

/** A refusal of the service, with its own words about what is wrong. */
export class Refusal extends Error {
  /**
   * @param {number} status 0 when the service could not be reached
   * @param {string} detail
   */
  constructor(status, detail) {
    super(detail);
    this.status = status;
  }
}

/** The key of this tab; gone when the tab is closed. */
export function storedKey() {
  return sessionStorage.getItem(STORED_KEY);
}

/** @param {string} key */
export function keepKey(key) {
  sessionStorage.setItem(STORED_KEY, key);
}

export function forgetKey() {
  sessionStorage.removeItem(STORED_KEY);
}

/**
 * One request with the key of this tab. Throws Refusal.
 * @param {string} method
 * @param {string} path below /v1/platform/
 * @param {object} [body]
 * @param {string | null} [key]
 */
export async function ask(method, path, body, key = storedKey()) {
  const answer = await send(method, path, body, key);
  const text = await answer.text();
  const isJson = (answer.headers.get('Content-Type') ?? '').includes('json');
  const value = isJson && text !== '' ? JSON.parse(text) : null;
  if (answer.ok) return value;
  if (answer.status === 401) dispatchEvent(new CustomEvent('key-refused', { detail: value?.detail }));
  throw new Refusal(answer.status, value?.detail ?? `The service answered ${answer.status}.`);
}

async function send(method, path, body, key) {
  const type = body === undefined ? {} : { 'Content-Type': 'application/json' };
  try {
    return await fetch(`v1/platform/${path}`, {
      method,
      headers: { 'X-KA-Access-Key': key ?? '', ...type },
      credentials: 'omit',
      cache: 'no-store',
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
  } catch {
    throw new Refusal(0, 'The service cannot be reached. Check that it runs, then try again.');
  }
}

/**
 * The answer to a GET, asked for again whenever the path changes, on `reload`, and every `everyMs`.
 * A null path asks nothing.
 * @param {string | null} path
 * @param {number} [everyMs]
 */
export function useAnswer(path, everyMs = 0) {
  const [answer, setAnswer] = useState({ path: null, data: null, error: null });
  const [round, setRound] = useState(0);
  const reload = () => setRound((number) => number + 1);
  useEffect(() => {
    if (path === null) return undefined;
    let left = false;
    ask('GET', path).then(
      (data) => left || setAnswer({ path, data, error: null }),
      (error) => left || setAnswer((before) => ({ path, data: keptData(before, path), error })),
    );
    return () => {
      left = true;
    };
  }, [path, round]);
  useEffect(() => {
    if (everyMs === 0) return undefined;
    const timer = setInterval(() => document.hidden || reload(), everyMs);
    return () => clearInterval(timer);
  }, [everyMs]);
  const current = answer.path === path ? answer : { data: null, error: null };
  return { data: current.data, error: current.error, reload };
}

/** What was shown stays while the service is away for a moment. */
function keptData(before, path) {
  return before.path === path ? before.data : null;
}
