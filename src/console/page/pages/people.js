import { ask, useAnswer } from '../api.js';
import { html, useState } from '../html.js';
import { Confirm } from '../parts/change/confirm.js';
import { counted, dateTime, platformText } from '../parts/format.js';
import { Answered } from '../parts/notice.js';
import { Table } from '../parts/table.js';
import { PEOPLE, SIGN_OUT } from '../questions.js';

/**
 * @import { People } from '../answers.d.ts'
 * @import { PageProps } from '../page-props.d.ts'
 * @import { Proposal } from '../parts/change/confirm.js'
 */

/** @typedef {People['people'][number]} Person */
/** @typedef {(change: Proposal<object | null>) => void} Propose */

/**
 * Who is signed in, who may sign in, and a way to end what somebody has open.
 * @param {PageProps} props
 */
export function PeoplePage({ session }) {
  const answer = useAnswer(PEOPLE);
  const [change, setChange] = useState(/** @type {Proposal<object | null> | null} */ (null));
  const done = () => {
    setChange(null);
    answer.reload();
  };
  const isAll = session.platform === '*';
  const at = isAll ? 'everywhere' : `at ${session.platform}`;
  const shown = (/** @type {People} */ { provider, roles, people }) => html`<section class="card">
      <h2>${counted(people.length, 'person', 'people')} signed in</h2>
      <${Table} name="People" kind="in-lines" columns=${['who', 'by', 'since', 'last seen', 'ends', '']}>
        ${people.map((one) => html`<${Row} key=${one.id} one=${one} at=${at} propose=${setChange} />`)}
      <//>
      <p class="faint">
        Half an hour without use ends a session, too.
        ${isAll ? '' : ' People with access to all platforms are shown to those who look at all of them.'}
      </p>
    </section>
    <section class="card">
      <h2>Who may sign in</h2>
      <${WhoMay} provider=${provider} roles=${roles} />
    </section>
    ${change && html`<${Confirm} ...${change} done=${done} cancel=${() => setChange(null)} />`}`;
  return html`<${Answered} answer=${answer}>${shown}<//>`;
}

/** @param {{ one: Person, at: string, propose: Propose }} props */
function Row({ one: { id, who, access, sessions }, at, propose }) {
  const signOut = () =>
    propose({
      title: `Sign ${id} out ${at}?`,
      action: 'Sign out',
      tone: 'bad',
      act: () => ask('POST', SIGN_OUT, { id }),
      children: html`<p>
        ${counted(sessions.length, 'session')} end at once. Who still has a role or a key can sign in again.
      </p>`,
    });
  const ways = access.map(({ platform, role }) => `${role ?? 'key'} at ${platformText(platform)}`);
  const each = (/** @type {'beganAt' | 'usedAt' | 'endsAt'} */ when) =>
    sessions.map((one) => html`<div class="when">${dateTime(one[when])}</div>`);
  return html`<tr>
    <td>${who}</td>
    <td data-of="by">${ways.join(', ')}</td>
    <td data-of="since">${each('beganAt')}</td>
    <td data-of="last seen">${each('usedAt')}</td>
    <td data-of="ends">${each('endsAt')}</td>
    <td><button type="button" onClick=${signOut}>Sign out …</button></td>
  </tr>`;
}

/** @param {Pick<People, 'provider' | 'roles'>} props */
function WhoMay({ provider, roles }) {
  const byKey = html`Whoever holds one of the <a href="#/settings/keys">keys</a> with platform operations`;
  if (provider === null)
    return html`<p>${byKey}. With OIDC_ISSUER people sign in at an identity provider.</p>`;
  return html`<p>${byKey}, and whoever has one of these roles at ${provider}.</p>
    <${Table} name="Roles" kind="in-lines" columns=${['claim', 'value', 'role', 'platform', 'may']}>
      ${roles.map(
        ({ claim, value, role, platform, operations }) => html`<tr>
          <td><code>${claim}</code></td>
          <td data-of="value"><code>${value}</code></td>
          <td data-of="role">${role}</td>
          <td data-of="platform">${platformText(platform)}</td>
          <td class="wide" data-of="may">${operations.join(', ')}</td>
        </tr>`,
      )}
    <//>
    <p class="faint">
      They are set with OIDC_ROLES. A role that is taken away at the provider lasts until the person signs in
      again: sign them out here.
    </p>`;
}
