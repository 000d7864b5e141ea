import { ask, forgetKey, keepKey, storedKey } from './api.js';
import { html, render, useEffect, useRef, useState } from './html.js';
import { BacktestPage } from './pages/backtest.js';
import { ClientPage } from './pages/client.js';
import { DecisionsPage } from './pages/decisions.js';
import { NowPage } from './pages/now.js';
import { RolloutPage } from './pages/rollout.js';
import { RulesPage } from './pages/rules.js';
import { WhatIfPage } from './pages/what-if.js';
import { Field, formValues } from './parts/dialog.js';
import { Empty, Loading, Trouble } from './parts/notice.js';

/** `needs` lists the operations that a key must have, all of them, to be shown the page. */
const PAGES = [
  { path: 'now', title: 'Now', needs: ['decisions'], page: NowPage },
  { path: 'decisions', title: 'Decisions', needs: ['decisions'], page: DecisionsPage },
  { path: 'client', title: 'Client', needs: ['clients'], page: ClientPage },
  { path: 'rules', title: 'Rules', needs: ['rules'], page: RulesPage },
  { path: 'what-if', title: 'What if', needs: ['rules', 'clients'], page: WhatIfPage },
  { path: 'rollout', title: 'Rollout', needs: ['rules'], page: RolloutPage },
  { path: 'backtest', title: 'Backtest', needs: [], page: BacktestPage },
];

/** What an address that was typed or cut off leads to. */
const NO_PAGE = { path: null, title: 'No such page', needs: [], page: null };

function App() {
  const [session, setSession] = useState(null);
  const [refusal, setRefusal] = useState(null);
  const [checking, setChecking] = useState(storedKey() !== null);
  const enter = async (key) => {
    const found = await ask('GET', 'session', undefined, key);
    keepKey(key);
    setRefusal(null);
    setSession(found);
  };
  const leave = () => {
    forgetKey();
    setSession(null);
  };
  useEffect(() => {
    const refused = ({ detail }) => {
      leave();
      setRefusal({ status: 401, message: detail ?? 'The access key is not accepted any more.' });
    };
    addEventListener('key-refused', refused);
    const key = storedKey();
    if (key !== null)
      enter(key)
        .catch(setRefusal)
        .finally(() => setChecking(false));
    return () => removeEventListener('key-refused', refused);
  }, []);
  if (checking) return html`<main><${Loading} /></main>`;
  if (session === null) return html`<${SignIn} enter=${enter} refusal=${refusal} />`;
  return html`<${Console} session=${session} leave=${leave} />`;
}

function SignIn({ enter, refusal }) {
  const [error, setError] = useState(null);
  const shown = error ?? refusal;
  const submit = (event) => {
    const { key = '' } = formValues(event);
    setError(null);
    enter(key.trim()).catch(setError);
  };
  return html`<main class="sign-in">
    <h1>Client Scoring</h1>
    <p class="faint">Sign in with an access key of your platform. It is kept in this tab only.</p>
    <form onSubmit=${submit}>
      <${Field} label="Access key" hint="Begins with ka_. The platform owner issues it: npx scoring keys issue">
        <input name="key" type="password" required autocomplete="off" spellcheck="false" autofocus />
      <//>
      <button type="submit" class="button-accent">Sign in</button>
    </form>
    ${shown && html`<${Trouble} error=${shown} />`}
  </main>`;
}

function Console({ session, leave }) {
  const place = usePlace();
  const main = useRef(null);
  const allowed = PAGES.filter(({ needs }) =>
    needs.every((operation) => session.operations.includes(operation)),
  );
  const current = place.page === '' ? allowed[0] : (PAGES.find(({ path }) => path === place.page) ?? NO_PAGE);
  useEffect(() => {
    document.title = `${current.title} · Client Scoring`;
    scrollTo(0, 0);
  }, [current]);
  const skip = (event) => {
    event.preventDefault();
    main.current.focus();
  };
  return html`<a class="skip" href="#main" onClick=${skip}>Skip to the page</a>
    <header class="top">
      <span class="brand">Client Scoring</span>
      <nav aria-label="Pages">
        ${allowed.map(
          ({ path, title }) =>
            html`<a href=${`#/${path}`} aria-current=${path === current.path ? 'page' : undefined}>${title}</a>`,
        )}
      </nav>
      <span class="who"><b>${session.platform}</b> <span class="faint">key ${session.keyId}</span></span>
      <button type="button" class="button-quiet" onClick=${leave}>Sign out</button>
    </header>
    <main id="main" ref=${main} tabindex="-1">
      <h1>${current.title}</h1>
      ${
        current === NO_PAGE
          ? html`<${Empty} title="Nothing is at this address">Choose a page above.<//>`
          : allowed.includes(current)
            ? html`<${current.page} key=${current.path} session=${session} place=${place} />`
            : html`<${Empty} title="This key may not see this page">It needs ${current.needs.join(' and ')}. Ask the platform owner for a key with more operations.<//>`
      }
    </main>`;
}

/** Where the page is, from the hash: `#/decisions/ID?orderRef=…`. */
function usePlace() {
  const [hash, setHash] = useState(location.hash);
  useEffect(() => {
    const follow = () => setHash(location.hash);
    addEventListener('hashchange', follow);
    return () => removeEventListener('hashchange', follow);
  }, []);
  const [path, query = ''] = hash.replace(/^#\/?/, '').split('?');
  const [page, ...rest] = path.split('/');
  return { page, item: decoded(rest.join('/')), query: new URLSearchParams(query) };
}

function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

render(html`<${App} />`, document.getElementById('app'));
