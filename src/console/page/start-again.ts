/**
 * The page stays empty when one of its files fails to load. Then it is loaded again, and says what is the
 * matter when that does not help.
 */

const TRIED = 'starts-tried';
const TRIES_MAX = 3;
const PAUSE_MS = 500;

addEventListener('load', () => {
  const root = document.getElementById('app');
  const tried = Number(sessionStorage.getItem(TRIED));
  if (root === null || root.childElementCount > 0) return sessionStorage.removeItem(TRIED);
  if (tried < TRIES_MAX) {
    sessionStorage.setItem(TRIED, String(tried + 1));
    setTimeout(() => location.reload(), PAUSE_MS * 2 ** tried);
    return undefined;
  }
  sessionStorage.removeItem(TRIED);
  const notice = document.createElement('main');
  notice.role = 'alert';
  notice.textContent = 'The console could not be loaded. Check that the service runs, then reload this page.';
  root.append(notice);
  return undefined;
});
