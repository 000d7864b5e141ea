import { isAllowed, useAnswer } from '#workbench/console/page/api.ts';
import { h, html, useEffect, useMemo, useRef, useState } from '#workbench/console/page/html.ts';
import {
  chooseOutcomeTone,
  explainUncounted,
  formatOutcome,
} from '#workbench/console/page/parts/decision-table.ts';
import { renderChoice } from '#workbench/console/page/parts/form.ts';
import {
  formatClockSeconds,
  formatCount,
  formatDateTime,
  formatDay,
  formatDuration,
  formatMoney,
  parseMoment,
} from '#workbench/console/page/parts/format.ts';
import {
  toDecisionPath,
  toDecisionsPath,
  toOrderDecisionsPath,
} from '#workbench/console/page/parts/links.ts';
import { renderSafeName, renderSafeNames } from '#workbench/console/page/parts/name.ts';
import { renderAnswer, renderEmpty } from '#workbench/console/page/parts/notice.ts';
import {
  chooseGroupTone,
  renderFlagPill,
  renderPill,
  VerdictPill,
} from '#workbench/console/page/parts/verdict.ts';
import type {
  Binding,
  ClientHistory,
  ClientView,
  HistoryEntry,
  Override,
  Session,
} from '#workbench/console/page/questions.ts';
import { clientHistoryQuestion } from '#workbench/console/page/questions.ts';

type OutcomeEntry = Extract<HistoryEntry, { kind: 'outcome' }>;
type VerdictEntry = Extract<HistoryEntry, { kind: 'verdict' }>;

/** A wait that a verdict imposed, the times of requests within it, and why it was cut short. */
interface Wait {
  readonly at: number;
  readonly end: number;
  readonly level: number;
  readonly requests: number[];
  cut: { readonly at: number; readonly why: 'paid' | 'longer' | 'granted' | 'ended' } | null;
}

/**
 * A row of the history: an entry with the wait that it began and the outcome that it corrects, or the end
 * of a wait.
 */
type Row =
  | {
      readonly at: number;
      readonly entry: HistoryEntry;
      readonly wait: Wait | null;
      readonly corrects: OutcomeEntry | null;
    }
  | { readonly at: number; readonly over: Wait };

/** Converts entries to rows. The entries and the rows are newest first. */
function toRows(entries: readonly HistoryEntry[], now: number): readonly Row[] {
  const rows: Row[] = [];
  const outcomes = new Map<string, OutcomeEntry>();
  let due: Wait | null = null;
  const serve = (at: number) => {
    if (due === null || due.end > at) return;
    rows.push({ at: due.end, over: due });
    due = null;
  };
  for (const entry of entries.toReversed()) {
    serve(parseMoment(entry.at));
    const wait = findBegunWait(entry);
    if (due !== null && noteCut(due, entry, wait)) due = null;
    due = wait ?? due;
    const corrects = entry.kind === 'outcome' ? (outcomes.get(entry.orderRef) ?? null) : null;
    if (entry.kind === 'outcome') outcomes.set(entry.orderRef, entry);
    rows.push({ at: parseMoment(entry.at), entry, wait, corrects });
  }
  serve(now);
  return rows.toReversed();
}

/** How long before the end of a wait a verdict was asked for, in ms. 0 if no wait was due. */
function computeEarlyMs(entry: HistoryEntry) {
  if (entry.kind !== 'verdict') return 0;
  const { waitUntil } = entry.decision.ladderBefore;
  return waitUntil === null ? 0 : Math.max(0, parseMoment(waitUntil) - parseMoment(entry.at));
}

/** Returns the wait that an entry began. Returns null if it began none. */
function findBegunWait(entry: HistoryEntry): Wait | null {
  if (entry.kind !== 'verdict' || entry.decision.verdict !== 'WAIT') return null;
  const { waitUntil, level } = entry.decision.ladderAfter;
  if (waitUntil === null) return null;
  return { at: parseMoment(entry.at), end: parseMoment(waitUntil), level, requests: [], cut: null };
}

/** Returns whether an entry ended the wait that was due, and notes in `due` when and why. */
function noteCut(due: Wait, entry: HistoryEntry, next: Wait | null): boolean {
  const why = explainCut(due, entry, next);
  if (why !== null) due.cut = { at: parseMoment(entry.at), why };
  return why !== null;
}

function explainCut(due: Wait, entry: HistoryEntry, next: Wait | null) {
  if (entry.kind === 'outcome' && entry.outcome === 'PAID') return 'paid';
  if (entry.kind === 'waitEnded') return 'ended';
  if (entry.kind !== 'verdict') return null;
  due.requests.push(parseMoment(entry.at));
  if (next !== null) return 'longer';
  return entry.decision.ladderAfter.waitUntil === null ? 'granted' : null;
}

const ENTRIES_AT_FIRST = 100;
const ENTRIES_MAX = 500;

interface PayerHistoryProps {
  view: ClientView;
  /** How many changes were made on this page since it was opened. */
  changes: number;
  session: Session;
}

/** The payer's entries, newest first. Further pages are requested only when the reader wants them. */
export function PayerHistory({ view, changes, session }: PayerHistoryProps) {
  const [limit, setLimit] = useState(ENTRIES_AT_FIRST);
  const answer = useAnswer(clientHistoryQuestion(view.clientIdKey, limit));
  const shown = useRef<ClientHistory | null>(null);
  useEffect(() => {
    if (changes > 0) answer.reload();
  }, [changes]);
  // While the next page is loaded, the shorter list stays, so that the page does not jump.
  if (answer.data !== null) shown.current = answer.data;
  const all =
    isAllowed(session, 'decisions') &&
    html`<a href=${toDecisionsPath({ clientIdKey: view.clientIdKey })}>Decisions of this payer</a>`;
  const line = renderAnswer({ ...answer, data: shown.current }, ({ entries, complete }) => {
    if (entries.length === 0)
      return renderEmpty(
        'No entry is kept any more',
        html`The journal keeps the newest million entries of all payers. ${all}`,
      );
    // The service leaves out repeated outcomes. So fewer entries than requested do not mean that there are
    // no more.
    return html`${h(TimeLine, { entries, mayLook: isAllowed(session, 'decisions') })}
      ${
        !complete &&
        html`<p class="buttons">
          Older entries are not shown; known since ${formatDateTime(view.firstSeenAt)}. ${all}
          ${
            limit < ENTRIES_MAX &&
            html`<button type="button" onClick=${() => setLimit(ENTRIES_MAX)}>
              Show up to ${ENTRIES_MAX}
            </button>`
          }
        </p>`
      }`;
  });
  return html`<section class="card history"><h2>History</h2>${line}</section>`;
}

const KINDS = [
  ['verdict', 'verdicts'],
  ['score', 'scores'],
  ['outcome', 'outcomes'],
  ['binding', 'bindings'],
  ['override', 'overrides'],
  ['waitEnded', 'ended waits'],
] as const;

/** All entries in one sequence of time. `mayLook` says whether the person may open decisions. */
function TimeLine({ entries, mayLook }: { entries: readonly HistoryEntry[]; mayLook: boolean }) {
  const rows = useMemo(() => toRows(entries, Date.now()), [entries]);
  const [kind, setKind] = useState('');
  // The end of a wait belongs to the verdict that began the wait.
  const kindOf = (row: Row) => ('entry' in row ? row.entry.kind : 'verdict');
  const shown = rows.filter((row) => kind === '' || kindOf(row) === kind);
  return html`<div class="headline">
      <p class="faint" role="status">${renderSummary(rows, entries)}</p>
      <div class="inline">${renderChoice('Show', KINDS, { any: 'everything', go: setKind })}</div>
    </div>
    ${[...Map.groupBy(shown, ({ at }) => formatDay(at))].map(
      ([date, ofDay]) => html`<section key=${date} class="day">
        <h3>${date}</h3>
        <ol class="moments" role="list">
          ${ofDay.map((row) => renderMoment(row, mayLook))}
        </ol>
      </section>`,
    )}`;
}

function renderSummary(rows: readonly Row[], entries: readonly HistoryEntry[]) {
  const waits = rows.filter((row) => 'wait' in row && row.wait !== null).length;
  const early = entries.filter((entry) => computeEarlyMs(entry) > 0).length;
  const all = `${formatCount(entries.length, 'entry', 'entries')}, newest first`;
  if (waits === 0) return `${all}; no wait`;
  const asked =
    early === 0 ? 'no early request' : `asked too early ${early === 1 ? 'once' : `${early} times`}`;
  return `${all}; ${formatCount(waits, 'wait')}, ${asked}`;
}

function renderMoment(row: Row, mayLook: boolean) {
  const { at } = row;
  const over = 'over' in row && html`<p class="faint">wait of level ${row.over.level} over</p>`;
  return html`<li class=${`moment moment-${'entry' in row ? row.entry.kind : 'over'}`}>
    <time class="num" datetime=${new Date(at).toISOString()}>${formatClockSeconds(at)}</time>
    <div class="moment-body">${'entry' in row ? renderEntry(row, mayLook) : over}</div>
  </li>`;
}

function renderEntry({ entry, wait, corrects }: Extract<Row, { entry: HistoryEntry }>, mayLook: boolean) {
  switch (entry.kind) {
    case 'verdict':
      return renderVerdict(entry, wait, mayLook);
    case 'score':
      return renderScore(entry);
    case 'outcome':
      return renderOutcome(entry, corrects, mayLook);
    case 'binding':
      return renderBinding(entry.binding);
    case 'override':
      return renderOverride(entry.override);
    case 'waitEnded':
      return html`<p class="moment-head"><b>wait</b> ${renderPill('ended')} <span
        >by <b>${entry.by}</b></span></p>
        <p>${entry.reason}</p>`;
    default:
      return entry;
  }
}

function renderVerdict(entry: VerdictEntry, wait: Wait | null, mayLook: boolean) {
  const { at, decision } = entry;
  const early = computeEarlyMs(entry);
  const { decisionId, verdict, clientGroup, paymentScore, rule, ruleVersion } = decision;
  const why = {
    href: toDecisionPath(decisionId),
    'aria-label': `why the verdict ${verdict} fell at ${formatClockSeconds(at)}`,
  };
  return html`<p class="moment-head">
      <b>verdict</b> ${h(VerdictPill, decision)}
      <span>order ${renderOrderLink(decision.orderRef, mayLook)}</span>
      ${early > 0 && renderPill(`${formatDuration(early)} too early`, 'bad')}
      ${decision.isBot && renderPill('bot', 'bad')}
      ${decision.arm === 'candidate' && renderPill('candidate', 'note')}
      ${decision.flags?.map(renderFlagPill)}
    </p>
    <p>${decision.reason}</p>
    ${wait && html`<p>${formatWait(wait)}</p>`}
    <p class="faint">
      ${clientGroup} ${paymentScore}, rule ${rule} of ${ruleVersion}${mayLook && html`, <a ...${why}>why</a>`}
    </p>`;
}

function renderOrderLink(orderRef: string, mayLook: boolean) {
  const name = renderSafeName(orderRef);
  return mayLook ? html`<a href=${toOrderDecisionsPath(orderRef)}>${name}</a>` : html`<b>${name}</b>`;
}

/** Formats a wait like `Level 2, to 14:03:27; asked again after 2 min, so a longer wait began`. */
function formatWait({ at, end, level, requests, cut }: Wait) {
  const parts = [`Level ${level}, to ${formatDateTime(end)}`];
  const times = requests.map((moment) => formatFineDuration(moment - at)).join(', ');
  const then = cut?.why === 'longer' ? ', so a longer wait began' : '';
  if (times !== '') parts.push(`asked again after ${times}${then}`);
  if (cut?.why === 'paid') parts.push(`paid after ${formatFineDuration(cut.at - at)}, so the wait ended`);
  if (cut?.why === 'granted') parts.push('granted before its end, so the wait ended');
  if (cut?.why === 'ended') parts.push(`ended by a person after ${formatFineDuration(cut.at - at)}`);
  return parts.join('; ');
}

/** Formats a duration, with milliseconds if it is short, because programs ask again within a second. */
function formatFineDuration(ms: number) {
  return ms < 1000 ? `${ms} ms` : formatDuration(ms);
}

function renderScore({ request, answer, ruleVersion }: Extract<HistoryEntry, { kind: 'score' }>) {
  const { preferredAcceptorKey: acceptors = [], payLimitValue: limits = [] } = answer;
  const told = [
    formatMoney(request.amount, request.currency ?? ''),
    html`${renderSafeName(request.method)} at ${renderSafeName(request.sellPointKey)}, ${ruleVersion}`,
    acceptors.length > 0 && html`acceptors ${renderSafeNames(acceptors)}`,
    limits.length > 0 && `at most ${limits.join(', ')}`,
    request.honeypotTriggered && 'a trap field was filled in',
    request.userAgentIsAutomated && 'the User-Agent is a program',
    request.userAgentIsApp && 'the User-Agent is an app',
    request.jsOk === false && 'the page ran no JavaScript',
    !request.fingerprintPresent && !request.ipPresent && 'no fingerprint or IP was sent',
  ];
  const said = told.filter(Boolean).map((words, place) => html`${place > 0 && '; '}${words}`);
  return html`<p class="moment-head">
      <b>score</b> ${renderPill(answer.clientGroup, chooseGroupTone(answer.clientGroup))}
      <b class="num">${answer.paymentScore}</b> ${answer.isBot && renderPill('bot', 'bad')}
    </p>
    <p class="faint">${said}</p>`;
}

function renderOutcome(entry: OutcomeEntry, corrects: OutcomeEntry | null, mayLook: boolean) {
  const { orderRef, at, occurredAt, report, amount } = entry;
  const agoMs = parseMoment(at) - parseMoment(occurredAt);
  const isOther = report !== undefined && formatOutcome(report) !== formatOutcome(entry);
  const told = [
    explainUncounted(entry),
    amount && padAmount(amount),
    isOther && describeOtherReport(entry, report),
    !isOther && corrects && `corrects ${formatOutcome(corrects)}, reported at ${formatDateTime(corrects.at)}`,
    agoMs >= 1000 && `happened ${formatDuration(agoMs)} before it was reported`,
  ];
  return html`<p class="moment-head">
      <b>outcome</b> ${renderPill(formatOutcome(entry), chooseOutcomeTone(entry))}
      <span>order ${renderOrderLink(orderRef, mayLook)}</span>
    </p>
    <p class="faint">${told.filter(Boolean).join('; ')}</p>`;
}

/** Writes `27.50 EUR` for `27.5 EUR`, as amounts stand everywhere else. */
function padAmount(text: string) {
  const [amount = text, currency = ''] = text.split(' ');
  return formatMoney(amount, currency);
}

/** Describes a report that differs from the result of its order: what the report changed. */
function describeOtherReport(
  { outcome, occurredAt, amount }: OutcomeEntry,
  report: NonNullable<OutcomeEntry['report']>,
) {
  const told = `reported: ${formatOutcome(report)}`;
  const isLater = parseMoment(report.occurredAt) >= parseMoment(occurredAt);
  const isOfPart = outcome === 'PAID' && report.cause === 'REVERSED' && isLater;
  return isOfPart && report.amount !== undefined && amount !== undefined
    ? `${told} ${report.amount} of it, so ${amount} stay paid`
    : `${told}, which changes nothing`;
}

function renderBinding(binding: Binding | null) {
  if (binding === null) return html`<p class="moment-head"><b>binding</b> ${renderPill('removed')}</p>`;
  const fits =
    binding.method === null ? 'fits every method' : html`fits ${renderSafeName(binding.method)} only`;
  return html`<p class="moment-head">
      <b>binding</b> ${renderPill('set', 'good')}${' '}
      <span>requisite <b>${renderSafeName(binding.requisiteRef)}</b></span>
    </p>
    <p class="faint">acceptors ${renderSafeNames(binding.acceptorKeys)}; ${fits}${formatUntil(binding)}</p>`;
}

function renderOverride(override: Override | null) {
  if (override === null) return html`<p class="moment-head"><b>override</b> ${renderPill('lifted')}</p>`;
  return html`<p class="moment-head">
      <b>override</b> ${renderPill(override.group, chooseGroupTone(override.group))}
      <span>set by <b>${override.by}</b></span>
    </p>
    <p>${override.reason}<span class="faint">${formatUntil(override)}</span></p>`;
}

function formatUntil({ expiresAt }: { expiresAt: string | null }) {
  return expiresAt === null ? '' : `; until ${formatDateTime(expiresAt)}`;
}
