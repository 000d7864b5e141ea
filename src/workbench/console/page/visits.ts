/** This module keeps what each visit to an address showed when it was left, so that Back shows it again. */

const VISITS_MAX = 20;

let made = 0;
let signedIn = 0;

/** Returns the name of the visit that is shown. Each visit is an entry of the browser's history. */
function getVisitName() {
  if (history.state?.visit === undefined)
    history.replaceState({ visit: `${performance.timeOrigin} ${++made}` }, '');
  return `${signedIn} ${history.state.visit}`;
}

/** Forgets all visits, because a platform must not see what the previous one was shown. */
export function forgetVisits() {
  signedIn += 1;
}

/** Keeps one value for each of the newest visits. */
export class VisitCache<T> {
  #held: Map<string, T> = new Map();

  /** Returns the value of the visit that is shown. Returns undefined if the visit is new. */
  get() {
    return this.#held.get(getVisitName());
  }

  set(value: T) {
    this.#held.set(getVisitName(), value);
    for (const oldest of this.#held.keys()) if (this.#held.size > VISITS_MAX) this.#held.delete(oldest);
  }
}
