/**
 * What a time line shows of a client's history: its entries as rows, each with the waits that were due
 * around it, and rows for the moments at which a wait was over.
 */

/** The kinds of entries in the order of their buttons, with the word for many of them. */
export const KINDS = [
  { kind: 'verdict', many: 'verdicts' },
  { kind: 'score', many: 'scores' },
  { kind: 'outcome', many: 'outcomes' },
  { kind: 'binding', many: 'bindings' },
  { kind: 'override', many: 'overrides' },
];

/**
 * Rows, newest first. A row has `kind`, `at`, its `entry`, `sinceMs` after the entry before it, and
 * whether a wait was due just before and just after it. A WAIT has its `wait`: from `at` to `end`, at
 * `level`, with the `requests` that came inside, and where and why it was `cut` short. The row of a kind
 * `over` is where a wait was served; that of the kind `running` stands for now.
 * @param {readonly object[]} entries newest first
 * @param {number} now epoch ms
 */
export function rowsOf(entries, now) {
  const rows = [];
  let due = null;
  let before = null;
  const add = (row, waitingBefore) => rows.push({ ...row, waitingBefore, waitingAfter: due !== null });
  const serve = () => {
    const { end, level } = due;
    due = null;
    add({ kind: 'over', at: end, level }, true);
  };
  for (const entry of entries.toReversed()) {
    if (due !== null && due.end <= entry.at) serve();
    const waitingBefore = due !== null;
    const wait = waitOf(entry);
    if (due !== null) due = after(due, entry, wait);
    if (wait !== null) due = wait;
    const sinceMs = before === null ? null : entry.at - before.at;
    const corrects = entry.kind === 'outcome' ? earlierOutcome(rows, entry.orderRef) : null;
    add({ kind: entry.kind, at: entry.at, entry, sinceMs, wait, corrects }, waitingBefore);
    before = entry;
  }
  if (due !== null && due.end <= now) serve();
  if (due !== null) add({ kind: 'running', at: now, end: due.end, level: due.level }, true);
  return rows.toReversed();
}

/** How long before the end of a wait a verdict was asked for, ms; 0 when none was due. */
export function earlyMs({ kind, at, decision }) {
  if (kind !== 'verdict') return 0;
  return Math.max(0, (decision.ladderBefore.waitUntil ?? 0) - at);
}

/** The wait that an entry began; null when it began none. */
function waitOf({ kind, at, decision }) {
  if (kind !== 'verdict' || decision.verdict !== 'WAIT') return null;
  const { waitUntil, level } = decision.ladderAfter;
  return waitUntil === null ? null : { at, end: waitUntil, level, requests: [], cut: null };
}

/** What an entry does to the wait that is due: null when it ends it. */
function after(due, entry, next) {
  if (entry.kind === 'outcome' && entry.outcome === 'PAID') return cut(due, entry.at, 'paid');
  if (entry.kind !== 'verdict') return due;
  due.requests.push(entry.at);
  if (next !== null) return cut(due, entry.at, 'longer');
  return entry.decision.ladderAfter.waitUntil === null ? cut(due, entry.at, 'granted') : due;
}

function cut(wait, at, why) {
  wait.cut = { at, why };
  return null;
}

/** What was said of an order before; null when this is the first outcome of it. */
function earlierOutcome(rows, orderRef) {
  return rows.findLast(({ kind, entry }) => kind === 'outcome' && entry.orderRef === orderRef)?.entry ?? null;
}
