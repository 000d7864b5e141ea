import { isAllowed, useAnswer } from './api.ts';
import { h, html, useLayoutEffect, useRef } from './html.ts';
import { goTo } from './parts/form.ts';
import { toConsolePath, toVersionPath } from './parts/links.ts';
import { SearchBox } from './parts/search-box.ts';
import type { Choice, ChoiceGroup } from './parts/search-results.ts';
import type { PageEntry, PlaceEntry } from './places.ts';
import { RULE_FOLDERS, type Session } from './questions.ts';

interface PaletteProps {
  readonly session: Session;
  /** The places that the session may see. */
  readonly places: readonly PlaceEntry[];
  /** Actions that can be done from anywhere, besides those that have a place of their own. */
  readonly actions: readonly Choice[];
  readonly close: () => void;
}

/** Whether the key is Ctrl-K, or Cmd-K on a device of Apple. */
export function isPaletteKey({ key, ctrlKey, metaKey, altKey, shiftKey }: KeyboardEvent) {
  const hasOwnKey = isMac() ? metaKey && !ctrlKey : ctrlKey && !metaKey;
  return key.toLowerCase() === 'k' && hasOwnKey && !altKey && !shiftKey;
}

/** Returns how the palette's key is written on this machine. */
export function getPaletteKeyName() {
  return isMac() ? '⌘K' : 'Ctrl K';
}

function isMac() {
  return /Mac|iPhone|iPad/.test(navigator.platform);
}

/** A dialog over any page that leads to every place, action, payer or order that the session may see. */
export function Palette({ session, places, actions, close }: PaletteProps) {
  const dialog = useRef<HTMLDialogElement | null>(null);
  const folders = useAnswer(isAllowed(session, 'rules:read') ? RULE_FOLDERS : null);
  const versions = (folders.data?.versions ?? []).map((one) => one.version);
  // The dialog opens at once, so that a person who goes on typing types into it.
  useLayoutEffect(() => dialog.current?.showModal(), []);
  const choose = ({ act }: Choice) => {
    // Gives the focus back to where it was. Removing the dialog alone would not.
    dialog.current?.close();
    if (typeof act === 'function') act();
    else openPlace(act.href);
  };
  const all = [
    { title: 'Go to', choices: listPages(places), more: false },
    { title: 'Do', choices: [...listActions(session), ...actions], more: false },
  ];
  const ofVersions = { title: 'Versions', choices: listVersionPages(places, versions), more: false };
  const commands = (text: string) => selectCommands(text === '' ? all : [...all, ofVersions], text);
  const label = 'Payer, order, device, or where to go';
  // A click beside the dialog closes it, as Escape does.
  const shown = { class: 'palette', 'aria-label': 'Search and commands', closedby: 'any' };
  return html`<dialog ref=${dialog} ...${shown} onClose=${close}>
    ${h(SearchBox, { session, id: 'palette', label, hasFocus: true, commands, choose })}
    <p class="palette-keys faint" aria-hidden="true">
      <kbd>↑</kbd><kbd>↓</kbd> choose <kbd>Enter</kbd> open <kbd>Esc</kbd> close
    </p>
  </dialog>`;
}

/** Opens a page and moves the keyboard's focus into it. */
function openPlace(href: string) {
  goTo(href);
  document.getElementById('main')?.focus({ preventScroll: true });
}

function isOfVersion({ path }: PageEntry) {
  return path.includes('*');
}

function listPages(places: readonly PlaceEntry[]): readonly Choice[] {
  return places.flatMap(({ title, pages }) => {
    const shown = pages.filter((page) => page.isOpened !== true && !isOfVersion(page));
    return shown.map((page) => ({
      name: page.title,
      about: page.title === title ? '' : title,
      act: { href: toConsolePath(page.path) },
    }));
  });
}

function listVersionPages(places: readonly PlaceEntry[], versions: readonly string[]): readonly Choice[] {
  const pages = places.flatMap((place) => place.pages).filter(isOfVersion);
  return versions.flatMap((version) =>
    pages.map((page) => ({
      name: `${version} ${page.title}`,
      about: '',
      act: { href: toVersionPath(version, page.path.split('/')[2]) },
    })),
  );
}

type Operation = Session['operations'][number];

/** The actions that have a page of their own, each with the operation that it needs and the page's path. */
const ACTIONS: readonly { readonly name: string; readonly needs: Operation; readonly path: string }[] = [
  { name: 'Begin a draft', needs: 'rules', path: 'rules' },
  { name: 'Roll out a version', needs: 'operate', path: 'rollouts' },
  { name: 'Take a version back', needs: 'operate', path: 'rollouts' },
  { name: 'Create a list', needs: 'lists', path: 'settings/lists' },
  { name: 'Approve what others propose', needs: 'approve', path: 'settings/audit' },
  { name: 'Issue an access key', needs: 'keys', path: 'settings/access' },
  { name: 'Check the audit', needs: 'audit', path: 'settings/audit' },
];

function listActions(session: Session): readonly Choice[] {
  return ACTIONS.filter(({ needs }) => isAllowed(session, needs)).map(({ name, path }) => ({
    name,
    about: '',
    act: { href: toConsolePath(path) },
  }));
}

/**
 * The largest number of commands that a group lists. They do not fill the dialog, so that the search
 * results stay visible below them.
 */
const FITTING_MAX = 8;

/**
 * Selects the commands in which every typed word is the beginning of some word. Commands that begin with
 * the text come first.
 */
function selectCommands(groups: readonly ChoiceGroup[], text: string): readonly ChoiceGroup[] {
  const wanted = splitWords(text);
  const isFitting = ({ name, about }: Choice) => {
    const words = splitWords(`${name} ${about}`);
    return wanted.every((part) => words.some((word) => word.startsWith(part)));
  };
  const begins = ({ name }: Choice) => name.toLowerCase().startsWith(text.toLowerCase());
  return groups
    .map(({ choices, ...group }) => ({
      ...group,
      choices: choices.filter(isFitting).toSorted((a, b) => Number(begins(b)) - Number(begins(a))),
    }))
    .map((group) => (text === '' ? group : cutGroup(group)))
    .filter(({ choices }) => choices.length > 0);
}

function cutGroup({ title, choices }: ChoiceGroup): ChoiceGroup {
  return { title, choices: choices.slice(0, FITTING_MAX), more: choices.length > FITTING_MAX };
}

function splitWords(text: string) {
  return text
    .toLowerCase()
    .split(/[\s.]+/)
    .filter((word) => word !== '');
}
