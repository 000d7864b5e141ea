import type { ComponentChildren } from 'preact';
import type { AccessKeyList, People, Rollout, Settings } from '../answers.ts';
import { may, useAnswer } from '../api.ts';
import { html } from '../html.ts';
import type { PageProps } from '../page-props.ts';
import { count, dateTime, duration, platformText } from '../parts/format.ts';
import { toVersion } from '../parts/links.ts';
import { answered } from '../parts/notice.ts';
import { columns, Table } from '../parts/table.ts';
import { KEYS, PEOPLE, ROLLOUT_STATUS, SETTINGS } from '../questions.ts';

type AccessKey = AccessKeyList['keys'][number];

type Role = People['roles'][number];

/** What is set, to what, and where it is changed. */
type Row = readonly [what: string, value: ComponentChildren, where: ComponentChildren];

/**
 * What the platform is set to. The service reads most of it from its environment, so that it is shown here
 * and changed there.
 */
export function PlatformPage({ session }: PageProps) {
  const active = useAnswer(may(session, 'rules:read') ? ROLLOUT_STATUS : null).data?.rollout;
  // Whoever keeps its keys may know who may approve.
  const people = useAnswer(may(session, 'keys') ? PEOPLE : null).data;
  const keys = useAnswer(may(session, 'keys') ? KEYS : null).data;
  return answered(
    useAnswer(SETTINGS),
    (settings) => html`<section class="card">
      <h2>${platformText(settings.platform)}</h2>
      <${Table} name="Settings" kind="in-lines" columns=${['what', ...columns('wide', 'is'), 'changed by']}
        rows=${[
          ...(active ? [activeRow(active)] : []),
          ['Somebody else approves', APPROVED[settings.approvals], 'APPROVALS'],
          ...(settings.approvals === 'required' && people && keys ? [approversRow(people, keys)] : []),
          ...rowsOf(settings),
        ]} />
    </section>
    <section class="card">
      <h2>What an erasure does</h2>
      <p>
        It takes a payer from the store, the shared lists, the archive and the audit; that somebody was erased
        stays.
        ${
          settings.repeatsErasures
            ? ' When a backup brings the payer back, the next start erases them again.'
            : ' A backup brings the payer back, unless ERASURE_LEDGER names a file outside of it.'
        }
        ${may(session, 'erase') && html` Payers are erased on <a href="#/find">their page</a>.`}
      </p>
    </section>
    <section class="card">
      <h2>Where the client library points</h2>
      <p>
        Its <code>baseUrl</code> is <code>${baseUrl(settings)}</code>, or what stands for that at a proxy.
      </p>
    </section>`,
  );
}

const APPROVED: Readonly<Record<Settings['approvals'], string>> = {
  off: 'nothing',
  required: 'what reaches most payers',
};

function baseUrl({ callers: { port, tls, basePath } }: Settings) {
  return `${tls ? 'https' : 'http'}://NODE${port === 0 ? '' : `:${port}`}${basePath}`;
}

function rowsOf({ limits: { perSecond, burst, atOnce }, keptMs }: Settings): readonly Row[] {
  const rate =
    perSecond === 0 ? 'any number' : `${count(perSecond)} a second, ${count(burst)} at once before that`;
  const { clients, decisions, archive, audit } = keptMs;
  return [
    ['Requests of one address', rate, 'RATE_LIMIT_PER_SECOND, RATE_LIMIT_BURST'],
    ['Requests of one key here', `${atOnce} at once`, 'fixed'],
    ['A payer is kept', `${duration(clients)} after the last change`, 'an erasure'],
    ['The store keeps decisions', duration(decisions), archive === null ? 'fixed' : 'DECISIONS_HOT'],
    [
      'The archive keeps them',
      archive === null ? 'there is none' : duration(archive),
      'ARCHIVE_DIR, ARCHIVE_KEEP',
    ],
    ['The audit keeps entries', duration(audit), 'fixed'],
  ];
}

function activeRow(rollout: NonNullable<Rollout>): Row {
  const came = cameBy(rollout);
  const { version } = rollout.active;
  const how = came && `: ${came.action} on ${dateTime(came.at)} by ${came.who}, “${came.reason}”`;
  const what = html`<a href=${toVersion(version)}>${version}</a>${how}`;
  return ['Rules that decide', what, html`<a href="#/rollouts">Rollouts</a>`];
}

/** What made the active version active; null when the history is too long to tell. */
function cameBy({ active, history }: Rollout) {
  let came: Rollout['history'][number] | null = null;
  // A candidate that is taken back leaves active what was active.
  for (const entry of history)
    if (!['shadow', 'canary'].includes(entry.action) && entry.to !== came?.to) came = entry;
  return came?.to === active.version ? came : null;
}

function approversRow({ roles }: People, { keys }: AccessKeyList): Row {
  const approves = ({ operations }: AccessKey | Role) => operations.includes('approve');
  const live = keys.filter((key) => key.status === 'live' && approves(key));
  const who = [
    ...roles
      .filter(approves)
      .map(({ claim, value, role, platform }) => `${role} at ${platformText(platform)} (${claim}: ${value})`),
    ...live.map(({ id, owner }) => `key ${id} of ${owner ?? 'nobody'}`),
  ];
  const where = html`<a href="#/settings/people">OIDC_ROLES</a>, <a href="#/settings/keys">keys</a>`;
  return ['Who may approve', who.join('; ') || 'nobody', where];
}
