import {
  askService,
  getSignedInPersonKey,
  type ServiceRefusal,
  useRetryAfterRefusal,
} from '#workbench/console/page/api.ts';
import { h, html, useEffect, useRef, useState } from '#workbench/console/page/html.ts';
import { DRAFTS, keptDraftQuestion } from '#workbench/console/page/questions.ts';
import { goTo, onSubmit, renderField } from './form.ts';
import { VERSION_NAME_FORM_TEXT, VERSION_NAME_PATTERN } from './format.ts';
import { toVersionPath } from './links.ts';
import { RefusalNotice, useAction } from './notice.ts';
import { replaceDraftName, saveDraft, toWorkingCopy, type WorkingCopy } from './working-copy.ts';

/** The pause in ms after which a typed line is taken to be complete. */
const TYPING_MS = 700;

/** How often an open draft is compared with the draft that the service keeps, in ms. */
const FOLLOWED_EVERY_MS = 10_000;

/** Texts that were typed and could not be kept before the page was left, by person and version. */
const typed: Map<string, WorkingCopy> = new Map();

addEventListener('signed-out', () => typed.clear());

/**
 * Another person's change of the draft. `detail` is the service's message. `theirs` is the present draft, or
 * null if the draft was discarded.
 */
interface Conflict {
  readonly detail: string;
  readonly theirs: WorkingCopy | null;
}

/** A draft on which somebody works. */
export interface OpenDraft {
  readonly copy: WorkingCopy;
  readonly change: (copy: WorkingCopy) => void;
  /** Shows a text that the service keeps already. */
  readonly take: (copy: WorkingCopy) => void;
  readonly saveState: 'kept' | 'keeping' | 'not kept';
  /** Why the text is not kept. */
  readonly error: ServiceRefusal | null;
  readonly retry: () => void;
  readonly conflict: Conflict | null;
  /** The author of a change that was taken over because nothing was typed here. */
  readonly changedBy: string | null;
  /** A number that grows each time the texts are replaced by texts that were not typed here. */
  readonly round: number;
}

/**
 * Keeps a draft on the server while it is typed, and follows the changes of others as long as nothing is
 * typed here.
 */
export function useOpenDraft(begun: WorkingCopy): OpenDraft {
  const { version } = begun;
  const [copy, setCopy] = useState(() => typed.get(formatDraftName(version)) ?? begun);
  const [kept, setKept] = useState(begun);
  const [writing, setWriting] = useState(false);
  const [error, setError] = useState<ServiceRefusal | null>(null);
  const [conflict, setConflict] = useState<Conflict | null>(null);
  const [changedBy, setChangedBy] = useState<string | null>(null);
  const [round, setRound] = useState(0);
  const underWay = useRef(Promise.resolve(begun.revision));
  const isTyped = copy.files !== kept.files;
  const isStill = !isTyped || writing || error !== null || conflict !== null;
  const latest = useRef({ copy, isTyped, isBusy: false });
  latest.current = { copy, isTyped, isBusy: isTyped || writing || conflict !== null };
  const retry = () => setError(null);
  const take = (taken: WorkingCopy) => {
    setConflict(null);
    setError(null);
    setKept(taken);
    setCopy(taken);
    setRound((number) => number + 1);
  };
  const write = () => {
    setWriting(true);
    const keeping = saveDraft(copy);
    underWay.current = keeping.then(
      ({ revision }) => revision,
      () => copy.revision,
    );
    keeping
      .then(({ revision }) => {
        setKept({ ...copy, revision });
        setCopy((now) => ({ ...now, revision }));
      })
      .catch(async (refusal) => {
        if (refusal.status !== 412) throw refusal;
        setConflict({ detail: refusal.message, theirs: await openDraft(version) });
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
  useRetryAfterRefusal(error, retry);
  useEffect(() => {
    let left = false;
    const follow = async () => {
      const { revision: before } = latest.current.copy;
      const draft = await findListedDraft(version);
      if (left) return;
      const { revision } = latest.current.copy;
      if (latest.current.isBusy || revision !== before || (draft?.revision ?? null) === revision) return;
      if (draft === null) return setConflict({ detail: `${version} was discarded meanwhile.`, theirs: null });
      const theirs = await openDraft(version);
      if (left || latest.current.isBusy || theirs === null) return;
      setChangedBy(draft.changedBy);
      take(theirs);
    };
    const look = () => document.hidden || follow().catch(() => {});
    look();
    const timer = setInterval(look, FOLLOWED_EVERY_MS);
    return () => {
      left = true;
      clearInterval(timer);
    };
  }, []);
  useEffect(() => {
    const warn = (event: Event) => latest.current.isTyped && event.preventDefault();
    addEventListener('beforeunload', warn);
    return () => {
      removeEventListener('beforeunload', warn);
      const name = formatDraftName(version);
      typed.delete(name);
      if (latest.current.isTyped && getSignedInPersonKey() !== '')
        saveOnLeave(name, latest.current.copy, underWay.current);
    };
  }, []);
  const change = (changed: WorkingCopy) => {
    setError(null);
    setChangedBy(null);
    setCopy(changed);
  };
  const isStuck = error !== null || conflict !== null;
  const saveState = isStuck ? 'not kept' : isTyped || writing ? 'keeping' : 'kept';
  return { copy, change, take, saveState, error, retry, conflict, changedBy, round };
}

function formatDraftName(version: string) {
  return `${getSignedInPersonKey()} ${version}`;
}

/** Finds the draft in the list. Returns null if it was discarded. */
async function findListedDraft(version: string) {
  const { drafts } = await askService('GET', DRAFTS);
  return drafts.find((one) => one.version === version) ?? null;
}

/** Opens the draft as it is kept now. Returns null if it was discarded. */
async function openDraft(version: string) {
  try {
    return toWorkingCopy(await askService('GET', keptDraftQuestion(version)));
  } catch (error) {
    if (error instanceof Error && 'status' in error && error.status === 404) return null;
    throw error;
  }
}

/**
 * Saves the typed text after the person has left the page. A text that cannot be saved waits until the
 * page is shown again.
 */
async function saveOnLeave(name: string, copy: WorkingCopy, underWay: Promise<number | null>) {
  typed.set(name, copy);
  try {
    const revision = Math.max((await underWay) ?? 0, copy.revision ?? 0) || null;
    await saveDraft({ ...copy, revision });
    typed.delete(name);
  } catch {
    // When the person comes back, the text is shown again with the reason why it is not kept.
  }
}

/** From this share on, the page says how full a draft is. */
const NEARLY_FULL = 0.8;

const STANDINGS = { kept: 'Saved.', keeping: 'Saving …', 'not kept': 'Not saved.' };

/** Says whether the typed text is kept, and what to do if two people typed at once. */
export function DraftStatus({ draft, bytesMax }: { draft: OpenDraft; bytesMax: number }) {
  const { copy, saveState, error, retry, conflict, changedBy } = draft;
  const share = new Blob([JSON.stringify(copy)]).size / bytesMax;
  const told = [
    share > NEARLY_FULL && `This draft takes ${Math.ceil(share * 100)} % of what a draft may.`,
    changedBy !== null && `${changedBy} changed this draft; it is shown as it is now.`,
  ];
  const isKnown = copy.revision !== null || saveState !== 'kept';
  return html`${isKnown && html`<p class="faint" role="status">${STANDINGS[saveState]}</p>`}
    ${told.map((words) => words && html`<p class="notice" role="status">${words}</p>`)}
    ${error && h(RefusalNotice, { error, retry })}
    ${conflict && h(TwoCopies, { draft, conflict })}`;
}

interface TwoCopiesProps {
  draft: OpenDraft;
  conflict: Conflict;
}

function TwoCopies({ draft: { copy, take }, conflict: { detail, theirs } }: TwoCopiesProps) {
  const { attempt, trouble } = useAction();
  const { version } = copy;
  const leave = () => {
    take(theirs ?? copy);
    if (theirs === null) goTo('#/rules');
  };
  const keepMine = onSubmit(({ name = '' }) =>
    attempt(async () => {
      const mine = { ...replaceDraftName(copy, name), revision: null };
      const { revision } = await saveDraft(mine);
      take(name === version ? { ...mine, revision } : (theirs ?? copy));
      goTo(toVersionPath(name));
    }),
  );
  const free = theirs === null ? version : `${version.replace(/-.*/, '')}-mine`;
  return html`<section class="notice notice-bad" role="alert" aria-label="Changed meanwhile">
    <strong>What you typed is not saved</strong>
    <p>${detail}</p>
    ${theirs && h(Lines, { theirs, mine: copy })}
    <form class="filters" onSubmit=${keepMine}>
      ${renderField('save mine as', {
        name: 'name',
        required: true,
        pattern: VERSION_NAME_PATTERN,
        title: VERSION_NAME_FORM_TEXT,
        defaultValue: free,
      })}
      <div class="buttons">
        <button type="submit">Save mine as a new draft</button>
        <button type="button" onClick=${leave}>${theirs ? 'Take theirs' : 'Leave it'}</button>
      </div>
    </form>
    ${trouble}
  </section>`;
}

/** Shows where the two texts differ, file by file. */
function Lines({ theirs, mine }: { theirs: WorkingCopy; mine: WorkingCopy }) {
  const paths = [...new Set([...Object.keys(theirs.files), ...Object.keys(mine.files)])];
  const differing = paths.filter((path) => theirs.files[path] !== mine.files[path]);
  return html`<details>
    <summary>See the difference</summary>
    ${differing.map((path) => {
      const { line, texts } = findChangedLines(theirs.files[path] ?? '', mine.files[path] ?? '');
      return html`<h3>${path}, from line ${line}</h3>
        <div class="two">
          <div><b>theirs</b><pre>${texts[0]}</pre></div>
          <div><b>mine</b><pre>${texts[1]}</pre></div>
        </div>`;
    })}
  </details>`;
}

/** Finds the lines between the common beginning and the common end of two texts. */
function findChangedLines(theirs: string, mine: string) {
  const both = [theirs.split('\n'), mine.split('\n')];
  const head = countSameLines(both);
  const rest = both.map((lines) => lines.slice(head));
  const tail = countSameLines(rest.map((lines) => lines.toReversed()));
  return { line: head + 1, texts: rest.map((lines) => lines.slice(0, lines.length - tail).join('\n')) };
}

/** Counts the equal lines with which two texts begin. */
function countSameLines([first = [], second = []]: readonly (readonly string[])[]) {
  const other = first.findIndex((line, index) => line !== second[index]);
  return other === -1 ? first.length : other;
}
