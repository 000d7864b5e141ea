import type { AccessKeyList, IssuedKey, People } from '../answers.ts';
import { ask, useAnswer } from '../api.ts';
import { html, useState } from '../html.ts';
import type { PageProps } from '../page-props.ts';
import { type Proposal, useProposal } from '../parts/confirm.ts';
import { Choice, Copy, sent } from '../parts/form.ts';
import { counted, dateTime, platformText } from '../parts/format.ts';
import { answered } from '../parts/notice.ts';
import { columns, Table } from '../parts/table.ts';
import { Pill } from '../parts/verdict.ts';
import { accessKey, ISSUE_KEY, KEYS, PEOPLE, SIGN_OUT } from '../questions.ts';

type AccessKey = AccessKeyList['keys'][number];

/** Who may call for the platform: its keys, without their secrets, and a form for a new one. */
export function KeysPage({ session }: PageProps) {
  const answer = useAnswer(KEYS);
  const [issued, setIssued] = useState<IssuedKey | null>(null);
  const { propose, dialog } = useProposal((made: IssuedKey | null) => {
    setIssued(made);
    answer.reload();
  });
  return answered(
    answer,
    ({ keys, mayGive }) => html`
      ${issued && html`<${Issued} issued=${issued} />`}
      <section class="card">
        <h2>${counted(keys.length, 'key')}</h2>
        <${Table} name="Keys" kind="in-lines" columns=${KEY_COLUMNS}
          rows=${keys.map((one) => keyCells(one, propose))} />
      </section>
      <section class="card">
        <h2>Issue a key for ${session.platform}</h2>
        <${IssueForm} mayGive=${mayGive} propose=${propose} />
      </section>
      ${dialog}`,
  );
}

const KEY_COLUMNS = ['key', 'platform', 'owner', ...columns('wide', 'may'), 'issued', 'ends', ''];

function Issued({ issued: { key, record } }: { issued: IssuedKey }) {
  return html`<div class="notice" role="status">
    <strong>Key ${record.id} is issued. It is shown only now.</strong>
    <p>Keep it as a secret, where the program that sends it finds it.</p>
    <${Copy} label="Key" text=${key} />
  </div>`;
}

type Propose = (change: Proposal<IssuedKey | null>) => void;

function keyCells(
  { id, platform, owner, operations, status, issuedAt, expiresAt, revokedAt }: AccessKey,
  propose: Propose,
) {
  const revoke = () =>
    propose({
      title: `Revoke the key ${id}?`,
      action: 'Revoke it',
      tone: 'bad',
      act: async () => {
        await ask('DELETE', accessKey(id));
        return null;
      },
      children: html`<p>
        Within a second every node refuses it, and who signed in with it is signed out. Nothing brings it
        back.
      </p>`,
    });
  const end = revokedAt ?? expiresAt;
  return [
    html`<code>${id}</code> ${status !== 'live' && html`<${Pill} tone="faint">${status}<//>`}`,
    platform,
    owner ?? html`<span class="faint">nobody</span>`,
    operations.join(', '),
    dateTime(new Date(issuedAt).getTime()),
    end === null ? html`<span class="faint">no end</span>` : dateTime(new Date(end).getTime()),
    status === 'live' && html`<button type="button" onClick=${revoke}>Revoke …</button>`,
  ];
}

function IssueForm({ mayGive, propose }: { mayGive: AccessKeyList['mayGive']; propose: Propose }) {
  const issue = sent(({ days = '', ...ticked }) => {
    const operations = mayGive.filter((one) => one in ticked);
    propose({
      title: `Issue a key for ${operations.join(', ') || 'nothing'}?`,
      action: 'Issue it',
      act: () => ask('POST', ISSUE_KEY, { operations, days: Number(days) }),
      children: html`<p>Whoever holds it may do that for ${days} days. You answer for it.</p>`,
    });
  });
  return html`<form class="stack" onSubmit=${issue}>
    <fieldset>
      <legend>What it may do</legend>
      <div class="fields">
        ${mayGive.map(
          (one) => html`<label class="choice"><input type="checkbox" name=${one} /> ${one}</label>`,
        )}
      </div>
    </fieldset>
    <div class="filters">
      <${Choice} label="Days" name="days" chosen="90" values=${['1', '30', '90', '365']} />
    </div>
    <button type="submit" class="button-accent">Issue it …</button>
  </form>`;
}

type Person = People['people'][number];

/** Who is signed in, who may sign in, and a way to end what somebody has open. */
export function PeoplePage({ session }: PageProps) {
  const answer = useAnswer(PEOPLE);
  const { propose, dialog } = useProposal(answer.reload);
  const isAll = session.platform === '*';
  const at = isAll ? 'everywhere' : `at ${session.platform}`;
  return answered(
    answer,
    ({ provider, roles, people }) => html`<section class="card">
        <h2>${counted(people.length, 'person', 'people')} signed in</h2>
        <${Table} name="People" kind="in-lines" columns=${['who', 'by', 'since', 'last seen', 'ends', '']}
          rows=${people.map((one) => personCells(one, at, propose))} />
        <p class="faint">
          Half an hour without use ends a session, too.
          ${isAll ? '' : ' People with access to all platforms are shown to those who look at all of them.'}
        </p>
      </section>
      <section class="card">
        <h2>Who may sign in</h2>
        <${WhoMay} provider=${provider} roles=${roles} />
      </section>
      ${dialog}`,
  );
}

/** `at`: where they are signed out. */
function personCells({ id, who, access, sessions }: Person, at: string, propose: Propose) {
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
  const each = (when: 'beganAt' | 'usedAt' | 'endsAt') =>
    sessions.map((one) => html`<div class="when">${dateTime(one[when])}</div>`);
  const button = html`<button type="button" onClick=${signOut}>Sign out …</button>`;
  return [who, ways.join(', '), each('beganAt'), each('usedAt'), each('endsAt'), button];
}

function WhoMay({ provider, roles }: Pick<People, 'provider' | 'roles'>) {
  const byKey = html`Whoever holds one of the <a href="#/settings/keys">keys</a> with platform operations`;
  if (provider === null)
    return html`<p>${byKey}. With OIDC_ISSUER people sign in at an identity provider.</p>`;
  return html`<p>${byKey}, and whoever has one of these roles at ${provider}.</p>
    <${Table} name="Roles" kind="in-lines"
      columns=${['claim', 'value', 'role', 'platform', ...columns('wide', 'may')]}
      rows=${roles.map(({ claim, value, role, platform, operations }) => [
        ...[html`<code>${claim}</code>`, html`<code>${value}</code>`, role],
        ...[platformText(platform), operations.join(', ')],
      ])} />
    <p class="faint">
      They are set with OIDC_ROLES. A role that is taken away at the provider lasts until the person signs in
      again: sign them out here.
    </p>`;
}
