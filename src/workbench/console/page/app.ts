import {
  askService,
  isAllowed,
  reloadAnswers,
  ServiceRefusal,
  setEarlyAnswers,
  setTabSession,
  useAnswer,
} from './api.ts';
import { h, html, listenOnWindow, render, useEffect, useRef, useState } from './html.ts';
import type { PageProps, Place } from './page-props.ts';
import { SignInAgain, SignInPage } from './pages/sign-in.ts';
import { getPaletteKeyName, isPaletteKey, Palette } from './palette.ts';
import { goTo, onTyped } from './parts/form.ts';
import { formatPlatform, showTimesInUtc } from './parts/format.ts';
import { renderIcon } from './parts/icon.ts';
import { toConsolePath, toVersionPath } from './parts/links.ts';
import { Loading, RefusalNotice, renderEmpty } from './parts/notice.ts';
import type { Choice } from './parts/search-results.ts';
import { readShownTime, type ShownTime, TIME_PARAMETERS, TimeBar } from './parts/time-span.ts';
import { type PageEntry, PLACES, type PlaceEntry, parsePageAddress } from './places.ts';
import { RULE_FOLDERS, type Session, WAYS_TO_SIGN_IN } from './questions.ts';
import { VisitCache } from './visits.ts';

function App() {
  const [session, setSession] = useState<Session | null>(null);
  const [ended, setEnded] = useState<ServiceRefusal | null>(null);
  const [trouble, setTrouble] = useState<ServiceRefusal | null>(null);
  const [checking, setChecking] = useState(true);
  const [provider, setProvider] = useState<string | null>(null);
  const enter = (found: Session) => {
    setTabSession(found);
    // With the platform in its address, a link shows everybody the view of its sender.
    history.replaceState(history.state, '', `${location.pathname}${toPlatformUrl(found.platform)}`);
    setEnded(null);
    setSession(found);
    dispatchEvent(new Event('signed-in'));
    reloadAnswers();
  };
  const leave = () => {
    setTabSession(null);
    setEnded(null);
    setSession(null);
  };
  const check = async () => {
    setTrouble(null);
    const way = await askService('GET', WAYS_TO_SIGN_IN);
    setProvider(way.provider);
    if (way.session !== null) enter(way.session);
  };
  useEffect(() => {
    const end = (event: Event) => {
      const parameters = event instanceof CustomEvent ? event.detail : null;
      setEnded(new ServiceRefusal(401, parameters ?? 'The session has ended.'));
    };
    check()
      .catch(setTrouble)
      .finally(() => setChecking(false));
    return listenOnWindow('session-ended', end);
  }, []);
  if (checking) return html`<main>${h(Loading, {})}</main>`;
  if (trouble !== null)
    return html`<main>
      ${h(RefusalNotice, { error: trouble, retry: () => check().catch(setTrouble) })}
      ${
        trouble.status === 403 &&
        html`<p><a href=${location.pathname}>Open the first page that this session may see</a></p>`
      }
    </main>`;
  if (session === null) return h(SignInPage, { enter, provider });
  return html`${h(Console, { key: session.platform, session, leave })}
    ${ended && h(SignInAgain, { enter, provider, refusal: ended, leave })}`;
}

function Console({ session, leave }: { session: Session; leave: () => void }) {
  const place = usePlace();
  const main = useRef<HTMLElement | null>(null);
  const allowed = PLACES.map((one) => ({ ...one, pages: one.pages.filter((page) => isFor(session, page)) }));
  const places = allowed.filter(({ pages }) => pages.length > 0);
  const [isPaletteOpen, setPaletteOpen] = useState(false);
  const isStart = location.hash.length < 3;
  const current = isStart ? (places[0]?.pages[0] ?? null) : place.page;
  showTimesInUtc(place.query.get('zone') === 'UTC');
  const time = readShownTime(place.query, current?.span ?? 'month');
  const page = current?.title ?? 'No such page';
  const title = [page, place.version].join(' ').trim();
  useEffect(() => {
    const about = [place.item, ...place.query.values()].filter((text) => text !== '').join(' ');
    document.title = [about, title, session.platform, 'Client Scoring'].filter(Boolean).join(' · ');
  }, [place]);
  useEffect(() => scrollTo(0, 0), [current]);
  useEffect(() => restoreScroll(place.top), [place]);
  // The browser's Back and Forward close the palette (the search dialog).
  useEffect(() => setPaletteOpen(false), [place]);
  const openPalette = () => setPaletteOpen(true);
  useEffect(() => listenOnWindow('keydown', (event) => followKey(event, openPalette)), []);
  const skip = (event: Event) => {
    event.preventDefault();
    main.current?.focus();
  };
  const signOut = (which: 'this' | 'all') =>
    askService('DELETE', { path: `session?sessions=${which}` }).then(leave, leave);
  const actions: readonly Choice[] = [
    ...session.platforms
      .filter((one) => one !== session.platform)
      .map((one) => ({
        name: `Open ${formatPlatform(one)}`,
        about: 'platform',
        act: () => openPlatform(one),
      })),
    { name: 'Sign out', about: '', act: () => signOut('this') },
    { name: 'Sign out in every browser', about: '', act: () => signOut('all') },
  ];
  return html`<a class="skip" href="#main" onClick=${skip}>Skip to the page</a>
    <header class="side">
      <span class="brand">${renderIcon('Brand')} Client Scoring</span>
      ${session.platforms.length > 1 && h(PlatformSwitch, { session })}
      <button type="button" class="seek" aria-label=${`Search ${getPaletteKeyName()}`} aria-haspopup="dialog"
        aria-keyshortcuts="Control+K Meta+K" onClick=${openPalette}>
        ${renderIcon('Find')} <span>Search</span> <kbd>${getPaletteKeyName()}</kbd>
      </button>
      ${h(Navigation, { places, current, parameters: time.parameters })}
      <details class="who">
        <summary><b>${formatPlatform(session.platform)}</b> <span
            class="faint">${session.who}</span></summary>
        <button type="button" onClick=${() => signOut('all')}>Sign out in every browser</button>
      </details>
      <button type="button" class="button-quiet" onClick=${() => signOut('this')}>Sign out</button>
    </header>
    <main id="main" ref=${main} tabindex="-1">
      <div class="head">
        <div class="headline">
          <h1>${place.version || page}</h1>
          ${current?.span && h(TimeBar, { time })}
        </div>
        ${h(PlaceParts, { places, current, place })}
      </div>
      ${h(Content, { current, session, place, time })}
    </main>
    ${isPaletteOpen && h(Palette, { session, places, actions, close: () => setPaletteOpen(false) })}`;
}

/** Opens the palette on Ctrl-K, and the page Find on a slash. Does neither while a dialog is open. */
function followKey(event: Event, openPalette: () => void) {
  if (!(event instanceof KeyboardEvent)) return;
  const isOverDialog = document.querySelector('dialog[open]') !== null;
  if (isSearchKey(event) && !isOverDialog) openSearch(event);
  if (!isPaletteKey(event)) return;
  // Without this, the browser would do what it uses this key for.
  event.preventDefault();
  if (!isOverDialog) openPalette();
}

/** Whether the key is a slash that nobody types into a field. */
function isSearchKey(event: KeyboardEvent) {
  if (!(event.target instanceof HTMLElement)) return false;
  const { key, ctrlKey, metaKey, altKey, target } = event;
  const isTyped = target.isContentEditable || target.matches('input, textarea, select');
  const isPlain = key === '/' && !ctrlKey && !metaKey && !altKey;
  return isPlain && !isTyped;
}

function openSearch(event: Event) {
  event.preventDefault();
  // If the search box is not shown yet, it takes the focus by itself when it appears.
  document.querySelector<HTMLElement>('.find input')?.focus();
  if (document.querySelector('.find') === null) goTo('#/find');
}

function isFor(session: Session, { needs, orAny }: PageEntry) {
  return needs.every((one) => isAllowed(session, one)) || orAny.some((one) => isAllowed(session, one));
}

/** Returns the address of the present page for a platform. */
function toPlatformUrl(platform: string) {
  return `?${new URLSearchParams({ platform })}${location.hash}`;
}

function openPlatform(platform: string) {
  location.assign(toPlatformUrl(platform));
}

/** A menu that switches between the platforms that the session may see. */
function PlatformSwitch({ session }: { session: Session }) {
  return html`<select aria-label="Platform" onChange=${onTyped(openPlatform)}>
    ${session.platforms.map(
      (name) => html`<option value=${name} selected=${name === session.platform}>
        ${formatPlatform(name)}
      </option>`,
    )}
  </select>`;
}

/** The navigation between the places, which are groups of pages. Its links keep the chosen time. */
function Navigation({
  places,
  current,
  parameters,
}: Pick<PlacePartsProps, 'places' | 'current'> & Pick<ShownTime, 'parameters'>) {
  const here = useRef<HTMLElement | null>(null);
  // On a narrow screen the navigation scrolls, and begins at the current place.
  useEffect(() => here.current?.scrollIntoView({ block: 'nearest', inline: 'center' }), [current]);
  return html`<nav aria-label="Places">
    ${places.map(({ title, pages }) => {
      const isHere = pages.some((one) => one === current);
      const shown = { ref: isHere ? here : null, 'aria-current': isHere ? 'true' : undefined };
      const href = toConsolePath(pages[0]?.path ?? '', parameters);
      return html`<a key=${title} href=${href} ...${shown}>${renderIcon(title)}${title}</a>`;
    })}
  </nav>`;
}

function Content({ current, session, place, time }: { current: PageEntry | null } & PageProps) {
  if (current === null) return renderEmpty('Nothing is at this address', 'Choose another place.');
  if (!isFor(session, current))
    return renderEmpty(
      'This session may not see this page',
      html`It needs ${current.needs.join(' and ')} at ${formatPlatform(session.platform)}.
      ${session.platforms.length > 1 ? ' Choose another platform, or ask' : ' Ask'} the platform owner
      for more operations.`,
    );
  const key = `${current.path} ${place.version}`;
  return h(current.body, { key, session, place, time });
}

/** How far down each visited page was scrolled when it was left, in pixels. */
const tops: VisitCache<number> = new VisitCache();

/** Returns the parsed address of the shown page, from the hash: `#/find?orderRef=…`. */
function usePlace() {
  const [place, setPlace] = useState(readPlace);
  useEffect(() => {
    // While the address is the same, the place stays the same object. Otherwise the page would begin anew
    // and lose typed text.
    const follow = () => setPlace((shown) => (shown.hash === location.hash ? shown : readPlace()));
    // The address may have changed between the first read and now.
    follow();
    return listenOnWindow('hashchange', follow);
  }, []);
  // A page that was just left may still scroll. That must not be stored for the new page.
  useEffect(() => listenOnWindow('scroll', () => place.hash === location.hash && tops.set(scrollY)), [place]);
  return place;
}

function readPlace() {
  return { ...parsePageAddress(location.hash), hash: location.hash, top: tops.get() ?? 0 };
}

/**
 * Scrolls to where the page was left, as soon as it is long enough again. If the reader scrolls, clicks or
 * types before, it stays where it is.
 */
function restoreScroll(top: number) {
  if (top === 0) return undefined;
  const watch = new ResizeObserver(() => {
    scrollTo(0, top);
    if (scrollY >= top - 1) stop();
  });
  const stop = () => watch.disconnect();
  watch.observe(document.body);
  for (const moved of ['wheel', 'keydown', 'pointerdown']) addEventListener(moved, stop, { once: true });
  return stop;
}

interface PlacePartsProps {
  places: readonly PlaceEntry[];
  current: PageEntry | null;
  place: Place;
}

/**
 * Links to the pages of the place that is shown. If a version is shown, these are the pages about that
 * version, and otherwise the pages about all versions.
 */
function PlaceParts({ places, current, place: { version, query } }: PlacePartsProps) {
  const here = places.find(({ pages }) => pages.some((one) => one === current));
  const parts =
    here?.pages.filter((one) => !one.isOpened && one.path.includes('*') === (version !== '')) ?? [];
  if (parts.length < 2 || current === null) return null;
  const time = Object.fromEntries(
    [...query].filter(([name]) => name === 'days' || TIME_PARAMETERS.includes(name)),
  );
  const to = (path: string) =>
    version === '' ? toConsolePath(path, time) : toVersionPath(version, path.split('/')[2], time);
  const go = (other: string) => goTo(toVersionPath(other, current.path.split('/')[2], time));
  return html`<nav class="parts" aria-label=${version === '' ? here?.title : `Parts of ${version}`}>
    ${version !== '' && h(VersionSwitch, { version, go })}
    ${parts.map(
      (one) =>
        html`<a href=${to(one.path)} aria-current=${one === current ? 'page' : undefined}>${one.title}</a>`,
    )}
  </nav>`;
}

/** A menu that opens the same page of another version. */
function VersionSwitch({ version, go }: { version: string; go: (version: string) => void }) {
  const { data } = useAnswer(RULE_FOLDERS);
  const all = new Set([version, ...(data?.versions ?? []).map((one) => one.version)]);
  return html`<select aria-label="Version" value=${version} onChange=${onTyped(go)}>
    ${[...all].map((one) => html`<option>${one}</option>`)}
  </select>`;
}

/** Selects the parts of a page that may take over the focus of an element inside them. */
const PARTS = 'section, article, dialog, main';

/**
 * Keeps the focus near the place where the keyboard is used. The focused element may go away with an
 * action, like the button of a removed row, or be disabled. Then the part around it gets the focus, and Tab
 * continues from there and not from the top of the page.
 */
function keepFocus(root: HTMLElement) {
  let focused: Element | null = null;
  let around: readonly HTMLElement[] = [];
  root.addEventListener('focusin', ({ target }) => {
    if (!(target instanceof Element)) return;
    focused = target;
    around = findPartsAround(target);
  });
  const look = () => {
    if (focused === null || (focused.isConnected && !focused.matches(':disabled'))) return;
    const { activeElement } = document;
    const isLost = activeElement === null || activeElement === document.body || activeElement === focused;
    focused = null;
    if (isLost) focusPart(around.find((part) => part.isConnected));
  };
  new MutationObserver(look).observe(root, { childList: true, subtree: true, attributeFilter: ['disabled'] });
}

function findPartsAround(element: Element) {
  const parts = [];
  for (let part = element.closest(PARTS); part !== null; part = part.parentElement?.closest(PARTS) ?? null)
    if (part instanceof HTMLElement) parts.push(part);
  return parts;
}

function focusPart(part: HTMLElement | undefined) {
  if (part === undefined) return;
  if (!part.hasAttribute('tabindex')) part.tabIndex = -1;
  part.focus({ preventScroll: true });
}

history.scrollRestoration = 'manual';

/** Draws the page. `asked` has the answers that were requested while the program was loaded, by path. */
export function drawPage(root: HTMLElement, asked: Map<string, Promise<Response>>) {
  setEarlyAnswers(asked);
  keepFocus(root);
  render(h(App, {}), root);
}
