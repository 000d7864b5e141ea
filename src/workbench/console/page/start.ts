/**
 * While the page's program is loaded, requests the answers that it needs first: who is signed in and, if the
 * address names a platform, the figures of Today. If the program cannot be loaded, the page is loaded again,
 * because it would stay empty otherwise. If that does not help, the page says what is wrong.
 */

const TRIED = 'starts-tried';
const TRIES_MAX = 3;
const PAUSE_MS = 500;

const root = document.getElementById('app');
const platform = new URLSearchParams(location.search).get('platform');
const isToday = ['', '#/', '#/today'].includes(location.hash);
const paths = ['sign-in', ...(platform !== null && isToday ? ['explore?by=verdict&span=day'] : [])];
const headers: HeadersInit = platform === null ? {} : { 'X-KA-Platform': platform };
const asked = new Map(
  paths.map((path) => [path, fetch(`v1/platform/${path}`, { headers, cache: 'no-store' })]),
);
// An answer that fails is requested again, or reported, where it is shown.
for (const answer of asked.values()) answer.catch(() => {});
if (root !== null)
  import('./app.ts').then(
    ({ drawPage: begin }) => {
      sessionStorage.removeItem(TRIED);
      begin(root, asked);
    },
    () => startAgain(root),
  );

function startAgain(root: HTMLElement) {
  const tried = Number(sessionStorage.getItem(TRIED));
  if (tried < TRIES_MAX) {
    sessionStorage.setItem(TRIED, String(tried + 1));
    setTimeout(() => location.reload(), PAUSE_MS * 2 ** tried);
    return;
  }
  sessionStorage.removeItem(TRIED);
  const notice = document.createElement('main');
  notice.role = 'alert';
  notice.textContent = 'The console could not be loaded. Check that the service runs, then reload this page.';
  root.append(notice);
}
