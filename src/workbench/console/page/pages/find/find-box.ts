import { h, html } from '#workbench/console/page/html.ts';
import { goTo } from '#workbench/console/page/parts/form.ts';
import { SearchBox } from '#workbench/console/page/parts/search-box.ts';
import type { Choice } from '#workbench/console/page/parts/search-results.ts';
import type { Session } from '#workbench/console/page/questions.ts';

/** A box that finds things by a part of their names and leads to them. */
export function FindBox({ session, hasFocus }: { session: Session; hasFocus: boolean }) {
  const choose = ({ act }: Choice) => (typeof act === 'function' ? act() : goTo(act.href));
  const labels = {
    label: 'Payer, order, decision, request, device or list entry',
    shortLabel: 'Payer, order, device or list entry',
  };
  return html`<div class="card">${h(SearchBox, { session, id: 'found', ...labels, hasFocus, choose })}</div>`;
}
