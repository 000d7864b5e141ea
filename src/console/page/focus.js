/** Parts of a page that may take over the focus of what was inside them, the nearest first. */
const PARTS = 'section, article, dialog, main';

/**
 * Keeps the focus where somebody works with the keyboard. What has it may go away with an action, like the
 * button of a row that is removed, or be disabled; then the part around it has it, and Tab goes on
 * from there and not from the top of the page.
 * @param {HTMLElement} root
 */
export function keepFocus(root) {
  /** @type {Element | null} */
  let focused = null;
  /** @type {readonly HTMLElement[]} */
  let around = [];
  root.addEventListener('focusin', ({ target }) => {
    if (!(target instanceof Element)) return;
    focused = target;
    around = partsAround(target);
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

/** @param {Element} element */
function partsAround(element) {
  const parts = [];
  for (let part = element.closest(PARTS); part !== null; part = part.parentElement?.closest(PARTS) ?? null)
    if (part instanceof HTMLElement) parts.push(part);
  return parts;
}

/** @param {HTMLElement | undefined} part */
function focusPart(part) {
  if (part === undefined) return;
  if (!part.hasAttribute('tabindex')) part.tabIndex = -1;
  part.focus({ preventScroll: true });
}
