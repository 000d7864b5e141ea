import { ask, useHealing, whoTypes } from '../../api.js';
import { useEffect, useRef, useState } from '../../html.js';
import { keptDraft, presenceAt } from '../../questions.js';
import { keep, keptCopyOf } from './working-copy.js';

/**
 * @import { DraftPresence } from '../../answers.d.ts'
 * @import { Refusal } from '../../api.js'
 * @import { WorkingCopy } from './working-copy.js'
 */

/** Long enough for a line to be typed to its end. */
const TYPING_MS = 700;

const PRESENCE_EVERY_MS = 10_000;

/** Tells this page from others of the same person. */
const TAB = crypto.getRandomValues(new Uint32Array(2)).join('-');

/** What was typed and could not be kept before the page was left, by who typed and version. */
/** @type {Map<string, WorkingCopy>} */
const typed = new Map();

addEventListener('signed-out', () => typed.clear());

/**
 * Somebody else changed the draft: in the service's words, with how it is now; null when it was discarded.
 * @typedef {{ readonly detail: string, readonly theirs: WorkingCopy | null }} Conflict
 */

/**
 * A draft that is being worked on.
 * @typedef {object} OpenDraft
 * @property {WorkingCopy} copy
 * @property {(copy: WorkingCopy) => void} change
 * @property {(copy: WorkingCopy) => void} take shows what is kept already
 * @property {'kept' | 'keeping' | 'not kept'} standing
 * @property {Refusal | null} error why it is not kept
 * @property {() => void} retry
 * @property {Conflict | null} conflict
 * @property {DraftPresence['alsoHere']} alsoHere
 * @property {string | null} changedBy who made the change that was taken over, because nothing was typed here
 * @property {number} round counts up each time that texts came from elsewhere
 */

/**
 * Keeps a draft on the server as it is typed, and follows what others do to it while nothing is typed here.
 * @param {WorkingCopy} begun
 * @returns {OpenDraft}
 */
export function useDraft(begun) {
  const { version } = begun;
  const [copy, setCopy] = useState(() => typed.get(nameOf(version)) ?? begun);
  const [kept, setKept] = useState(begun);
  const [writing, setWriting] = useState(false);
  const [error, setError] = useState(/** @type {Refusal | null} */ (null));
  const [conflict, setConflict] = useState(/** @type {Conflict | null} */ (null));
  const [alsoHere, setAlsoHere] = useState(/** @type {DraftPresence['alsoHere']} */ ([]));
  const [changedBy, setChangedBy] = useState(/** @type {string | null} */ (null));
  const [round, setRound] = useState(0);
  const underWay = useRef(Promise.resolve(begun.revision));
  const isTyped = copy.files !== kept.files || copy.replaces !== kept.replaces;
  const isStill = !isTyped || writing || error !== null || conflict !== null;
  const latest = useRef({ copy, isTyped, isBusy: false });
  latest.current = { copy, isTyped, isBusy: isTyped || writing || conflict !== null };
  const retry = () => setError(null);
  const take = (/** @type {WorkingCopy} */ taken) => {
    setConflict(null);
    setError(null);
    setKept(taken);
    setCopy(taken);
    setRound((number) => number + 1);
  };
  const write = () => {
    setWriting(true);
    const keeping = keep(copy);
    underWay.current = keeping.then(({ revision }) => revision);
    keeping
      .then(({ revision, saved }) => {
        setKept({ ...copy, revision });
        setCopy((now) => ({ ...now, revision, saved: saved && now.files === copy.files }));
      })
      .catch(async (refusal) => {
        if (refusal.status !== 412) throw refusal;
        setConflict({ detail: refusal.message, theirs: await opened(version) });
      })
      .catch(setError)
      .finally(() => setWriting(false));
  };
  useEffect(() => {
    if (isStill) return undefined;
    const timer = setTimeout(write, TYPING_MS);
    // A person who leaves the editor may be about to leave the page.
    addEventListener('focusout', write, { once: true });
    return () => {
      clearTimeout(timer);
      removeEventListener('focusout', write);
    };
  }, [copy, isStill]);
  useHealing(error, retry);
  useEffect(() => {
    let left = false;
    const follow = async () => {
      const { revision: before } = latest.current.copy;
      const { draft, alsoHere: others } = await ask('POST', presenceAt(version), { tab: TAB });
      if (left) return;
      setAlsoHere(others);
      const { revision } = latest.current.copy;
      if (latest.current.isBusy || revision !== before || (draft?.revision ?? null) === revision) return;
      if (draft === null) return setConflict({ detail: `${version} was discarded meanwhile.`, theirs: null });
      const theirs = await opened(version);
      if (left || latest.current.isBusy || theirs === null) return;
      setChangedBy(draft.changedBy);
      take(theirs);
    };
    const tell = () => document.hidden || follow().catch(() => {});
    tell();
    const timer = setInterval(tell, PRESENCE_EVERY_MS);
    addEventListener('signed-in', retry);
    return () => {
      left = true;
      clearInterval(timer);
      removeEventListener('signed-in', retry);
    };
  }, []);
  useEffect(() => {
    const warn = (/** @type {Event} */ event) => latest.current.isTyped && event.preventDefault();
    addEventListener('beforeunload', warn);
    return () => {
      removeEventListener('beforeunload', warn);
      const name = nameOf(version);
      typed.delete(name);
      if (latest.current.isTyped && whoTypes() !== '') leave(name, latest.current.copy, underWay.current);
    };
  }, []);
  const change = (/** @type {WorkingCopy} */ changed) => {
    setError(null);
    setChangedBy(null);
    setCopy(changed);
  };
  const isStuck = error !== null || conflict !== null;
  const standing = isStuck ? 'not kept' : isTyped || writing ? 'keeping' : 'kept';
  return { copy, change, take, standing, error, retry, conflict, alsoHere, changedBy, round };
}

/** @param {string} version */
function nameOf(version) {
  return `${whoTypes()} ${version}`;
}

/** As it is kept now; null when it was discarded. @param {string} version */
async function opened(version) {
  try {
    return keptCopyOf(await ask('GET', keptDraft(version)));
  } catch (error) {
    if (error instanceof Error && 'status' in error && error.status === 404) return null;
    throw error;
  }
}

/**
 * Keeps what was typed when another page is shown already; what cannot be kept waits for its return.
 * @param {string} name
 * @param {WorkingCopy} copy
 * @param {Promise<number | null>} underWay
 */
async function leave(name, copy, underWay) {
  typed.set(name, copy);
  try {
    const revision = Math.max((await underWay) ?? 0, copy.revision ?? 0) || null;
    await keep({ ...copy, revision });
    typed.delete(name);
  } catch {
    // It is shown again, and why it is not kept, when somebody comes back.
  }
}
