import { useAnswer } from './api.js';
import { html } from './html.js';
import { toVersion } from './parts/links.js';
import { RULE_FOLDERS } from './questions.js';

/**
 * @import { Place } from './page-props.d.ts'
 * @import { PageEntry, PlaceEntry } from './places.js'
 * @import { ChoiceEvent } from './parts/form.js'
 */

/** What the parts of a version share: the time that they look at. */
const TIME = ['days', 'from', 'to', 'asOf'];

/**
 * The parts of the place that is shown; those of a version are apart from those of all.
 * @param {{ places: readonly PlaceEntry[], current: PageEntry | null, place: Place }} props
 */
export function PlaceParts({ places, current, place: { version, query } }) {
  const here = places.find(({ pages }) => pages.some((one) => one === current));
  const parts = here?.pages.filter(({ path }) => path.includes('*') === (version !== '')) ?? [];
  if (parts.length < 2 || current === null) return null;
  const time = Object.fromEntries([...query].filter(([name]) => TIME.includes(name)));
  const to = (/** @type {string} */ path) =>
    version === '' ? `#/${path}` : toVersion(version, path.split('/')[2], time);
  const go = (/** @type {string} */ other) => {
    location.hash = toVersion(other, current.path.split('/')[2], time);
  };
  return html`<nav class="parts" aria-label=${version === '' ? here?.title : `Parts of ${version}`}>
    ${version !== '' && html`<${VersionSwitch} version=${version} go=${go} />`}
    ${parts.map(
      (one) =>
        html`<a href=${to(one.path)} aria-current=${one === current ? 'page' : undefined}>${one.title}</a>`,
    )}
  </nav>`;
}

/** The same of another version. @param {{ version: string, go: (version: string) => void }} props */
function VersionSwitch({ version, go }) {
  const { data } = useAnswer(RULE_FOLDERS);
  const all = new Set([version, ...(data?.versions ?? []).map((one) => one.version)]);
  const choose = (/** @type {ChoiceEvent} */ event) => go(event.currentTarget.value);
  return html`<select aria-label="Version" value=${version} onChange=${choose}>
    ${[...all].map((one) => html`<option>${one}</option>`)}
  </select>`;
}
