import { ask, follow, may, Refusal } from './api.js';
import { keepFocus } from './focus.js';
import { html, render, useEffect, useRef, useState } from './html.js';
import { ApprovalsPage } from './pages/approvals.js';
import { BacktestPage } from './pages/backtest/backtest.js';
import { ClientPage } from './pages/client.js';
import { DecisionsPage } from './pages/decisions.js';
import { DraftPage } from './pages/draft.js';
import { EvidencePage } from './pages/evidence/evidence.js';
import { ListsPage } from './pages/lists.js';
import { NowPage } from './pages/now.js';
import { RolloutPage } from './pages/rollout.js';
import { RulesPage } from './pages/rules.js';
import { SignInAgain, SignInPage } from './pages/sign-in.js';
import { WhatIfPage } from './pages/what-if.js';
import { Empty, Loading, Trouble } from './parts/notice.js';
import { SESSION, SIGN_IN } from './questions.js';

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
 * @property {(props: PageProps) => Html} [page]
 */

/** @type {readonly PageEntry[]} */
const PAGES = [
  { path: 'now', title: 'Now', needs: ['figures'], page: NowPage },
  { path: 'decisions', title: 'Decisions', needs: ['decisions'], page: DecisionsPage },
  { path: 'client', title: 'Client', needs: ['clients:read'], page: ClientPage },
  { path: 'lists', title: 'Lists', needs: ['lists'], page: ListsPage },
  { path: 'rules', title: 'Rules', needs: ['rules:read'], page: RulesPage },
  { path: 'draft', title: 'Draft', needs: ['rules'], page: DraftPage },
  { path: 'evidence', title: 'Evidence', needs: ['rules'], page: EvidencePage },
  { path: 'what-if', title: 'What if', needs: ['rules', 'clients:read'], page: WhatIfPage },
  { path: 'rollout', title: 'Rollout', needs: ['rules:read'], page: RolloutPage },
  { path: 'approvals', title: 'Approvals', needs: ['approve'], page: ApprovalsPage },
  { path: 'backtest', title: 'Backtest', needs: [], page: BacktestPage },
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
    history.replaceState(null, '', `${location.pathname}${query}${location.hash}`);
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
  const allowed = PAGES.filter(({ needs }) => needs.every((operation) => may(session, operation)));
  const current = (place.page === '' ? allowed[0] : PAGES.find(({ path }) => path === place.page)) ?? NO_PAGE;
  useEffect(() => {
    document.title = `${current.title} · Client Scoring`;
    scrollTo(0, 0);
  }, [current]);
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
  if (current.page === undefined)
    return html`<${Empty} title="Nothing is at this address">Choose a page above.<//>`;
  if (!allowed.includes(current))
    return html`<${Empty} title="This session may not see this page">
      It needs ${current.needs.join(' and ')}. Ask the platform owner for more operations.
    <//>`;
  return html`<${current.page} key=${current.path} session=${session} place=${place} />`;
}

/** Where the page is, from the hash: `#/decisions/ID?orderRef=…`. */
function usePlace() {
  const [hash, setHash] = useState(location.hash);
  useEffect(() => {
    const follow = () => setHash(location.hash);
    addEventListener('hashchange', follow);
    // It may have changed between the first look and now.
    follow();
    return () => removeEventListener('hashchange', follow);
  }, []);
  const [path = '', query = ''] = hash.replace(/^#\/?/, '').split('?');
  const [page = '', ...rest] = path.split('/');
  return { page, item: decoded(rest.join('/')), query: new URLSearchParams(query) };
}

/** @param {string} text */
function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

const root = document.getElementById('app');
if (root !== null) {
  keepFocus(root);
  render(html`<${App} />`, root);
}
