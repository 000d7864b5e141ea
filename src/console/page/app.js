import { ask, follow, may, Refusal } from './api.js';
import { keepFocus } from './focus.js';
import { html, render, useEffect, useRef, useState } from './html.js';
import { SignInAgain, SignInPage } from './pages/sign-in.js';
import { Empty, Loading, Trouble } from './parts/notice.js';
import { SESSION, SIGN_IN } from './questions.js';
import { Left } from './visits.js';

/**
 * @import { Session } from './answers.d.ts'
 * @import { Html } from './html.js'
 * @import { PageProps } from './page-props.d.ts'
 * @import { InputEvent } from './parts/form.js'
 */

/**
 * A page; `needs` lists the operations that a key must have, all of them, to be shown it.
 * @typedef {object} PageEntry
 * @property {string | null} path
 * @property {string} title
 * @property {readonly Session['operations'][number][]} needs
 * @property {readonly Session['operations'][number][]} [or] or any of these
 * @property {() => Promise<PageBody>} [load]
 */

/** @typedef {(props: PageProps) => Html} PageBody */

// The modules of a place come when somebody goes there.
const approvalsPage = async () => (await import('./pages/approvals.js')).ApprovalsPage;
const backtestPage = async () => (await import('./pages/backtest/backtest.js')).BacktestPage;
const clientPage = async () => (await import('./pages/client.js')).ClientPage;
const decisionsPage = async () => (await import('./pages/decisions.js')).DecisionsPage;
const draftPage = async () => (await import('./pages/draft.js')).DraftPage;
const explorePage = async () => (await import('./pages/explore.js')).ExplorePage;
const evidencePage = async () => (await import('./pages/evidence/evidence.js')).EvidencePage;
const listsPage = async () => (await import('./pages/lists.js')).ListsPage;
const nowPage = async () => (await import('./pages/now.js')).NowPage;
const rolloutPage = async () => (await import('./pages/rollout.js')).RolloutPage;
const rulesPage = async () => (await import('./pages/rules.js')).RulesPage;
const whatIfPage = async () => (await import('./pages/what-if.js')).WhatIfPage;

/** @type {readonly PageEntry[]} */
const PAGES = [
  { path: 'now', title: 'Now', needs: ['figures'], load: nowPage },
  { path: 'explore', title: 'Explore', needs: ['figures'], or: ['rules'], load: explorePage },
  { path: 'decisions', title: 'Decisions', needs: ['decisions'], load: decisionsPage },
  { path: 'client', title: 'Client', needs: ['clients:read'], load: clientPage },
  { path: 'lists', title: 'Lists', needs: ['lists'], load: listsPage },
  { path: 'rules', title: 'Rules', needs: ['rules:read'], load: rulesPage },
  { path: 'draft', title: 'Draft', needs: ['rules'], load: draftPage },
  { path: 'evidence', title: 'Evidence', needs: ['rules'], load: evidencePage },
  { path: 'what-if', title: 'What if', needs: ['rules', 'clients:read'], load: whatIfPage },
  { path: 'rollout', title: 'Rollout', needs: ['rules:read'], load: rolloutPage },
  { path: 'approvals', title: 'Approvals', needs: ['approve'], load: approvalsPage },
  { path: 'backtest', title: 'Backtest', needs: [], load: backtestPage },
];

/** What an address that was typed or cut off leads to. @type {PageEntry} */
const NO_PAGE = { path: null, title: 'No such page', needs: [] };

function App() {
  const [session, setSession] = useState(/** @type {Session | null} */ (null));
  const [ended, setEnded] = useState(/** @type {Refusal | null} */ (null));
  const [trouble, setTrouble] = useState(/** @type {Refusal | null} */ (null));
  const [checking, setChecking] = useState(true);
  const [provider, setProvider] = useState(/** @type {string | null} */ (null));
  const enter = (/** @type {Session} */ found) => {
    follow(found);
    // A link then leads whoever has several platforms to what its sender saw.
    const query = found.platforms.length > 1 ? `?${new URLSearchParams({ platform: found.platform })}` : '';
    history.replaceState(history.state, '', `${location.pathname}${query}${location.hash}`);
    setEnded(null);
    setSession(found);
    dispatchEvent(new Event('signed-in'));
  };
  const leave = () => {
    follow(null);
    setEnded(null);
    setSession(null);
  };
  const check = async () => {
    setTrouble(null);
    const way = await ask('GET', SIGN_IN);
    setProvider(way.provider);
    if (way.signedIn) enter(await ask('GET', SESSION));
  };
  useEffect(() => {
    const end = (/** @type {Event} */ event) => {
      const words = event instanceof CustomEvent ? event.detail : null;
      setEnded(new Refusal(401, words ?? 'The session has ended.'));
    };
    addEventListener('session-ended', end);
    check()
      .catch(setTrouble)
      .finally(() => setChecking(false));
    return () => removeEventListener('session-ended', end);
  }, []);
  if (checking) return html`<main><${Loading} /></main>`;
  if (trouble !== null)
    return html`<main><${Trouble} error=${trouble} retry=${() => check().catch(setTrouble)} /></main>`;
  if (session === null) return html`<${SignInPage} enter=${enter} provider=${provider} />`;
  return html`<${Console} key=${session.platform} session=${session} leave=${leave} />
    ${ended && html`<${SignInAgain} enter=${enter} provider=${provider} refusal=${ended} leave=${leave} />`}`;
}

/** @param {{ session: Session, leave: () => void }} props */
function Console({ session, leave }) {
  const place = usePlace();
  const main = useRef(/** @type {HTMLElement | null} */ (null));
  const allowed = PAGES.filter(
    ({ needs, or = [] }) =>
      needs.every((operation) => may(session, operation)) || or.some((operation) => may(session, operation)),
  );
  const current = (place.page === '' ? allowed[0] : PAGES.find(({ path }) => path === place.page)) ?? NO_PAGE;
  useEffect(() => {
    const about = [place.item, ...place.query.values()].filter((text) => text !== '').join(' ');
    document.title = [about, current.title, session.platform, 'Client Scoring'].filter(Boolean).join(' · ');
  }, [place]);
  useEffect(() => scrollTo(0, 0), [current]);
  useEffect(() => returnTo(place.top), [place]);
  const skip = (/** @type {Event} */ event) => {
    event.preventDefault();
    main.current?.focus();
  };
  const signOut = (/** @type {'this' | 'all'} */ which) =>
    ask('DELETE', { path: `session?sessions=${which}` }).finally(leave);
  return html`<a class="skip" href="#main" onClick=${skip}>Skip to the page</a>
    <header class="top">
      <span class="brand">Client Scoring</span>
      ${session.platforms.length > 1 && html`<${PlatformSwitch} session=${session} />`}
      <${Navigation} pages=${allowed} current=${current} />
      <details class="who">
        <summary><b>${session.platform}</b> <span class="faint">${session.who}</span></summary>
        <button type="button" onClick=${() => signOut('all')}>Sign out in every browser</button>
      </details>
      <button type="button" class="button-quiet" onClick=${() => signOut('this')}>Sign out</button>
    </header>
    <main id="main" ref=${main} tabindex="-1">
      <h1>${current.title}</h1>
      <${Content} current=${current} allowed=${allowed} session=${session} place=${place} />
    </main>`;
}

/** Where else the session reaches. @param {{ session: Session }} props */
function PlatformSwitch({ session }) {
  const go = (/** @type {InputEvent} */ event) => {
    location.search = new URLSearchParams({ platform: event.currentTarget.value }).toString();
  };
  return html`<select aria-label="Platform" onChange=${go}>
    ${session.platforms.map(
      (name) => html`<option value=${name} selected=${name === session.platform}>
        ${name === '*' ? 'whole installation' : name}
      </option>`,
    )}
  </select>`;
}

/** @param {{ pages: readonly PageEntry[], current: PageEntry }} props */
function Navigation({ pages, current }) {
  const here = useRef(/** @type {HTMLElement | null} */ (null));
  // On a narrow screen the line scrolls, and begins where the reader is.
  useEffect(() => here.current?.scrollIntoView({ block: 'nearest', inline: 'center' }), [current]);
  return html`<nav aria-label="Pages">
    ${pages.map((one) => {
      const isHere = one === current;
      const shown = { ref: isHere ? here : null, 'aria-current': isHere ? 'page' : undefined };
      return html`<a key=${one.path} href=${`#/${one.path}`} ...${shown}>${one.title}</a>`;
    })}
  </nav>`;
}

/** @param {{ current: PageEntry, allowed: readonly PageEntry[] } & PageProps} props */
function Content({ current, allowed, session, place }) {
  if (current.load === undefined)
    return html`<${Empty} title="Nothing is at this address">Choose a page above.<//>`;
  if (!allowed.includes(current))
    return html`<${Empty} title="This session may not see this page">
      It needs ${current.needs.join(' and ')}. Ask the platform owner for more operations.
    <//>`;
  return html`<${Loaded} key=${current.path} load=${current.load} session=${session} place=${place} />`;
}

/** What was loaded before is shown at once. @type {Map<() => Promise<PageBody>, PageBody>} */
const bodies = new Map();

/** @param {{ load: () => Promise<PageBody> } & PageProps} props */
function Loaded({ load, session, place }) {
  const [body, setBody] = useState(() => bodies.get(load));
  const [isLost, setIsLost] = useState(false);
  useEffect(() => {
    load().then(
      (loaded) => {
        bodies.set(load, loaded);
        setBody(() => loaded);
      },
      () => setIsLost(true),
    );
  }, []);
  if (body !== undefined) return html`<${body} session=${session} place=${place} />`;
  if (!isLost) return html`<${Loading} />`;
  // A browser does not ask again for a module that did not come.
  const error = new Error('This place could not be loaded. Check that the service runs.');
  return html`<${Trouble} error=${error} retry=${() => location.reload()} />`;
}

/** How far down each visit was left, pixels. @type {Left<number>} */
const tops = new Left();

/** Where the page is, from the hash: `#/decisions/ID?orderRef=…`. */
function usePlace() {
  const [place, setPlace] = useState(placeNow);
  useEffect(() => {
    const follow = () => setPlace(placeNow());
    const note = () => tops.set(scrollY);
    addEventListener('hashchange', follow);
    addEventListener('scroll', note);
    // It may have changed between the first look and now.
    follow();
    return () => {
      removeEventListener('hashchange', follow);
      removeEventListener('scroll', note);
    };
  }, []);
  return place;
}

function placeNow() {
  const { hash } = location;
  const [path = '', query = ''] = hash.replace(/^#\/?/, '').split('?');
  const [page = '', ...rest] = path.split('/');
  const top = tops.get() ?? 0;
  return { page, item: decoded(rest.join('/')), query: new URLSearchParams(query), top };
}

/**
 * Scrolls to where somebody left, once the page is long enough again, unless they scroll before.
 * @param {number} top
 */
function returnTo(top) {
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

/** @param {string} text */
function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

history.scrollRestoration = 'manual';

const root = document.getElementById('app');
if (root !== null) {
  keepFocus(root);
  render(html`<${App} />`, root);
}
