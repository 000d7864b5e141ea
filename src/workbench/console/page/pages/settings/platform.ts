import { isAllowed, useAnswer } from '#workbench/console/page/api.ts';
import { type Html, html } from '#workbench/console/page/html.ts';
import type { PageProps } from '#workbench/console/page/page-props.ts';
import { formatDuration, formatPlatform, groupDigits } from '#workbench/console/page/parts/format.ts';
import { toVersionPath } from '#workbench/console/page/parts/links.ts';
import { describeActivation } from '#workbench/console/page/parts/marks.ts';
import { renderAnswer } from '#workbench/console/page/parts/notice.ts';
import { declareColumns, renderTable } from '#workbench/console/page/parts/table.ts';
import type { AccessKeyList, People, Rollout, Settings } from '#workbench/console/page/questions.ts';
import { KEYS, PEOPLE, ROLLOUT_STATUS, SETTINGS } from '#workbench/console/page/questions.ts';

/** A setting, its value, and where it is changed. */
type Row = readonly [what: string, value: Html, where: Html];

function renderDecidingVersion(rollout: Rollout) {
  const { version } = rollout.active;
  const since = describeActivation(rollout).replace(/^S/, 's');
  return html`<a href=${toVersionPath(version)}>${version}</a>${` ${since}`}`;
}

const TO_ROLLOUTS = html`<a href="#/rollouts">Rollouts</a>`;

/**
 * The settings of the platform. Most of them come from the environment of the service. They are shown here
 * and changed there.
 */
export function PlatformPage({ session }: PageProps) {
  const rollout = useAnswer(isAllowed(session, 'rules:read') ? ROLLOUT_STATUS : null).data?.rollout;
  // A person who manages the platform's keys may know who may approve.
  const people = useAnswer(isAllowed(session, 'keys') ? PEOPLE : null).data;
  const keys = useAnswer(isAllowed(session, 'keys') ? KEYS : null).data;
  return renderAnswer(useAnswer(SETTINGS), (settings) => {
    const active: Row[] = rollout ? [['Rules that decide', renderDecidingVersion(rollout), TO_ROLLOUTS]] : [];
    const approves = settings.approvals === 'required' && people && keys;
    const rows = [...active, ...toRows(settings), ...(approves ? [toApproversRow(people, keys)] : [])];
    const head = {
      name: 'Settings',
      columns: ['what', ...declareColumns('wide', 'value'), 'set by'],
      kind: 'in-lines',
    };
    return html`<section class="card">
      <h2>${formatPlatform(settings.platform)}</h2>
      ${renderTable(head, rows, (cells) => cells)}
    </section>`;
  });
}

const APPROVED = { off: 'not needed', required: 'needed for what reaches most payers' } as const;

function toRows(settings: Settings): readonly Row[] {
  const { approvals, limits, keptMs, repeatsErasures, callers } = settings;
  const { perSecond, burst, atOnce } = limits;
  const rate =
    perSecond === 0
      ? 'any number'
      : `${groupDigits(perSecond)} a second, and ${groupDigits(burst)} at once after a pause`;
  const { clients, decisions, archive, audit } = keptMs;
  const kept = archive === null ? 'no archive is set up' : formatDuration(archive);
  const port = callers.port === 0 ? '' : `:${callers.port}`;
  const baseUrl = `${callers.tls ? 'https' : 'http'}://NODE${port}${callers.basePath}`;
  const backup = repeatsErasures
    ? 'If a restored backup brings the payer back, the next start erases the payer again.'
    : 'A restored backup brings the payer back.';
  return [
    ['Approval by a second person', APPROVED[approvals], 'APPROVALS'],
    ['Requests from one address', rate, 'RATE_LIMIT_PER_SECOND, RATE_LIMIT_BURST'],
    ['Requests with one key, on this listener', `${atOnce} at once`, 'the service'],
    [
      'A payer is kept for',
      `${formatDuration(clients)} after the last change, or until an erasure`,
      'the service',
    ],
    ['An erasure removes a payer from', `the store, lists, archive and audit. ${backup}`, 'ERASURE_LEDGER'],
    [
      'The store keeps decisions for',
      formatDuration(decisions),
      archive === null ? 'the service' : 'DECISIONS_HOT',
    ],
    ['The archive keeps decisions for', kept, 'ARCHIVE_DIR, ARCHIVE_KEEP'],
    ['The audit keeps entries for', formatDuration(audit), 'the service'],
    ['The client library’s baseUrl', html`<code>${baseUrl}</code>`, 'a proxy, where there is one'],
  ];
}

function toApproversRow({ roles }: People, { keys }: AccessKeyList): Row {
  const approves = ({ operations }: { operations: readonly string[] }) => operations.includes('approve');
  const who = [
    ...roles
      .filter(approves)
      .map(
        ({ claim, value, role, platform }) => `${role} at ${formatPlatform(platform)} (${claim}: ${value})`,
      ),
    ...keys
      .filter((key) => key.status === 'live' && approves(key))
      .map(({ id, owner }) => `key ${id} of ${owner ?? 'nobody'}`),
  ];
  const where = html`OIDC_ROLES, <a href="#/settings/access">keys</a>`;
  return ['Who may approve', who.join('; ') || 'nobody', where];
}
