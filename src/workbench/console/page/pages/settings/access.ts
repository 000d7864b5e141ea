import { askService, useAnswer } from '#workbench/console/page/api.ts';
import { h, html, useState } from '#workbench/console/page/html.ts';
import type { PageProps } from '#workbench/console/page/page-props.ts';
import { type PlannedChange, useConfirmedChange } from '#workbench/console/page/parts/confirm.ts';
import { CopyButton, onSubmit, renderChoice } from '#workbench/console/page/parts/form.ts';
import { formatCount, formatDateTime, formatPlatform } from '#workbench/console/page/parts/format.ts';
import { renderAnswer } from '#workbench/console/page/parts/notice.ts';
import { declareColumns, renderTable } from '#workbench/console/page/parts/table.ts';
import { renderPill } from '#workbench/console/page/parts/verdict.ts';
import type { AccessKeyList, IssuedKey, People } from '#workbench/console/page/questions.ts';
import {
  accessKeyQuestion,
  ISSUE_KEY,
  KEYS,
  PEOPLE,
  SIGN_PERSON_OUT,
} from '#workbench/console/page/questions.ts';

type Propose = (change: PlannedChange<IssuedKey | null>) => void;

/**
 * The keys that may call for the platform, the people who are signed in, and those who may sign in. Each
 * access can be ended here.
 */
export function AccessPage({ session: { platform } }: PageProps) {
  const [keys, people] = [useAnswer(KEYS), useAnswer(PEOPLE)];
  const [issued, setIssued] = useState<IssuedKey | null>(null);
  const { propose, dialog } = useConfirmedChange((made: IssuedKey | null) => {
    if (made !== null) setIssued(made);
    keys.reload();
    people.reload();
  });
  return html`${issued && renderIssuedKey(issued)}
    ${renderAnswer(
      keys,
      (found) => html`<section class="card">
          <h2>${formatCount(found.keys.length, 'key')}</h2>
          ${renderTable(KEYS_HEAD, found.keys, (one) => renderKeyCells(one, propose))}
        </section>
        <details class="card">
          <summary><h2>Issue a key for ${platform}</h2></summary>
          ${renderIssueForm(found, propose)}
        </details>`,
    )}
    ${renderAnswer(
      people,
      (found) => html`<section class="card">
          <h2>${formatCount(found.people.length, 'person', 'people')} signed in</h2>
          ${renderTable(PEOPLE_HEAD, found.people, (one) => renderPersonCells(one, platform, propose))}
          ${
            platform !== '*' &&
            html`<p class="faint">People who may see all platforms are listed at “all platforms”.</p>`
          }
        </section>
        <section class="card">
          <h2>Who may sign in</h2>
          ${renderRoles(found)}
        </section>`,
    )}
    ${dialog}`;
}

const KEYS_HEAD = {
  name: 'Keys',
  kind: 'in-lines',
  columns: ['key', 'platform', 'owner', ...declareColumns('wide', 'may'), 'issued', 'ends', ''],
};

const PEOPLE_HEAD = {
  name: 'People',
  kind: 'in-lines',
  columns: ['who', 'by', 'since', 'last seen', 'ends', ''],
};

function renderIssuedKey({ key, record }: IssuedKey) {
  return html`<div class="notice" role="status">
    <strong>Key ${record.id} is issued. It is shown only now.</strong>
    <p>Keep it as a secret, where the program that sends it finds it.</p>
    ${h(CopyButton, { label: 'Key', text: key })}
  </div>`;
}

function renderKeyCells(key: AccessKeyList['keys'][number], propose: Propose) {
  const { id, platform, owner, operations, status, issuedAt, expiresAt, revokedAt } = key;
  const revoke = () =>
    propose({
      title: `Revoke the key ${id}?`,
      action: 'Revoke it',
      tone: 'bad',
      act: () => askService('DELETE', accessKeyQuestion(id)).then(() => null),
      children: html`<p>
        Within a second every node refuses it, and who signed in with it is signed out. Nothing brings it
        back.
      </p>`,
    });
  const end = revokedAt ?? expiresAt;
  return [
    html`<code>${id}</code> ${status !== 'live' && renderPill(status)}`,
    platform,
    owner ?? html`<span class="faint">nobody</span>`,
    operations.join(', '),
    formatDateTime(issuedAt),
    end === null ? renderPill('no end', 'note') : formatDateTime(end),
    status === 'live' && html`<button type="button" onClick=${revoke}>Revoke …</button>`,
  ];
}

function renderIssueForm({ mayGive }: AccessKeyList, propose: Propose) {
  const issue = onSubmit(({ days = '', ...ticked }) => {
    const operations = mayGive.filter((one) => one in ticked);
    propose({
      title: `Issue a key for ${operations.join(', ') || 'nothing'}?`,
      action: 'Issue it',
      act: () => askService('POST', ISSUE_KEY, { operations, days: Number(days) }),
      children: html`<p>
        Whoever holds the key may do that for ${days} days. The audit names you as its owner.
      </p>`,
    });
  });
  return html`<form class="stack" onSubmit=${issue}>
    <fieldset class="fields">
      <legend>What it may do</legend>
      ${mayGive.map((one) => html`<label class="row"><input type="checkbox" name=${one} /> ${one}</label>`)}
    </fieldset>
    ${renderChoice('Days', ['1', '30', '90', '365'], { name: 'days', chosen: '90' })}
    <button type="submit" class="button-accent">Issue it …</button>
  </form>`;
}

function renderPersonCells(
  { id, who, access, sessions }: People['people'][number],
  platform: string,
  propose: Propose,
) {
  const signOut = () =>
    propose({
      title: `Sign ${id} out ${platform === '*' ? 'everywhere' : `at ${platform}`}?`,
      action: 'Sign out',
      tone: 'bad',
      act: () => askService('POST', SIGN_PERSON_OUT, { id }),
      children: html`<p>
        ${formatCount(sessions.length, 'session')} end at once.
        Who still has a role or a key can sign in again.
      </p>`,
    });
  const ways = access.map((one) => `${one.role ?? 'key'} at ${formatPlatform(one.platform)}`);
  const each = (when: 'beganAt' | 'usedAt' | 'endsAt') =>
    html`<ul class="plain">
      ${sessions.map((one) => html`<li class="when">${formatDateTime(one[when])}</li>`)}
    </ul>`;
  const button = html`<button type="button" onClick=${signOut}>Sign out …</button>`;
  return [who, ways.join(', '), each('beganAt'), each('usedAt'), each('endsAt'), button];
}

const ROLE_COLUMNS = ['claim', 'value', 'role', 'platform', ...declareColumns('wide', 'may')];

function renderRoles({ provider, roles }: People) {
  const byKey = 'Whoever holds a key with a platform operation';
  if (provider === null)
    return html`<p>${byKey}. Set OIDC_ISSUER to let people sign in at an identity provider.</p>`;
  return html`<p>
      ${byKey}, and whoever has one of these roles at ${provider} (OIDC_ROLES). A person who loses a role
      there keeps it here until the next sign-in: sign that person out here.
    </p>
    ${renderTable(
      { name: 'Roles', columns: ROLE_COLUMNS, kind: 'in-lines' },
      roles,
      ({ claim, value, role, platform, operations }) => [
        html`<code>${claim}</code>`,
        html`<code>${value}</code>`,
        role,
        formatPlatform(platform),
        operations.join(', '),
      ],
    )}`;
}
