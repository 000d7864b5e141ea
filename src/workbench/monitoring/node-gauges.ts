import type { Gauge, Registry } from 'prom-client';
import type { PlatformKeyRef } from '#checkout/access/keys-seen-live.ts';
import type { ListsReport } from '#checkout/lists/list-node.ts';
import { addGauge } from '#checkout/metrics/metrics.ts';
import type { OwnNodeReport } from '#checkout/rollout/fleet.ts';
import { computeTrialStageFigures, type TrialStageFigures } from '#checkout/rollout/trial-counts.ts';
import type { ArchiveFigures } from '#history/archive/read/archive-figures.ts';
import type { ShippingReport } from '#history/archive/ship/shipping.ts';
import { VERSION } from '#sdk/version.ts';
import { type StoreHealth, WARNING_KINDS } from '#state/store-health.ts';
import type { Reporting } from './reporting.ts';

interface StoreReport {
  readonly health: StoreHealth;
  readonly clockOffsetMs: number;
}

/** The help text of a gauge, and the function that reads it at every scrape. */
type Figure = readonly [help: string, read: () => number | Promise<number>];

function showFigures(registry: Registry, figures: Readonly<Record<`scoring_${string}`, Figure>>): void {
  for (const [name, [help, read]] of Object.entries(figures))
    addGauge(registry, name, help, async (gauge) => gauge.set(await read()));
}

/** Adds a gauge with one label that is read at every scrape. A figure of null is left out. */
function showLabelledFigure(
  registry: Registry,
  name: string,
  help: string,
  label: string,
  read: () => Iterable<readonly [value: string, figure: number | null]>,
): void {
  const collect = (gauge: Gauge) => {
    gauge.reset();
    for (const [value, figure] of read()) if (figure !== null) gauge.set({ [label]: value }, figure);
  };
  addGauge(registry, name, help, collect, [label]);
}

/** Shows which version of the service runs. The service and its client library have the same version. */
export function addBuildGauge(registry: Registry): void {
  addGauge(
    registry,
    'scoring_build_info',
    'Always 1; the labels say which version of the service runs, and on which Node',
    (gauge) => gauge.set({ version: VERSION, node: process.version }, 1),
    ['version', 'node'],
  );
}

/** Shows the figures about the rollout that this node reports to the fleet. */
export function addRolloutGauges(registry: Registry, report: () => OwnNodeReport): void {
  showFigures(registry, {
    scoring_rollout_revision: ['Revision of the rollout that this node follows', () => report().revision],
    scoring_rules_refused: ['Version folders that this node refuses', () => report().refused.length],
    scoring_rollout_trouble: [
      '1 while this node cannot follow the newest revision',
      () => (report().trouble === null || report().hasLostRollout ? 0 : 1),
    ],
    scoring_rollout_lost: [
      '1 while the store has lost the rollout that this node follows, or holds an older one',
      () => (report().hasLostRollout ? 1 : 0),
    ],
    scoring_rollout_emergency_timestamp_seconds: [
      'When one person last returned to an earlier version without approval; 0: never',
      () => (report().emergencyAt ?? 0) / 1000,
    ],
  });
  const sumOf = (of: (figures: TrialStageFigures) => number) => () =>
    report().counts.reduce((sum, one) => sum + of(computeTrialStageFigures(one, null)), 0);
  showFigures(registry, {
    scoring_shadow_compared: [
      'Verdicts that the shadow also decided in this trial',
      sumOf(({ shadow }) => shadow.compared),
    ],
    scoring_shadow_different: [
      'Verdicts that the shadow would have answered differently',
      sumOf(({ shadow }) => shadow.different),
    ],
    scoring_candidate_errors: [
      'Decisions in this trial for which the candidate failed with an error',
      sumOf(({ candidateErrors }) => candidateErrors),
    ],
  });
}

/**
 * The reasons why a node cannot ship, as words for alerts, each with the pattern of the error messages that have this
 * reason.
 */
const SHIPPING_REASONS: readonly (readonly [RegExp, string])[] = [
  [/ENOSPC|EDQUOT/, 'no room'],
  [/EACCES|EPERM|EROFS/, 'no rights'],
  [/RequestTimeTooSkewed/, 'clock'],
  [/: 403 /, 'key'],
  [/this store's archive is|knows nothing of|another salt/, 'another archive'],
  [/^s3:/, 'S3 is away'],
];

/** Shows whether this node ships the journal to the archive, and why it cannot. */
export function addShippingGauges(registry: Registry, report: () => ShippingReport): void {
  showFigures(registry, {
    scoring_archive_leads: [
      '1 while this node ships the journal to the archive',
      () => (report().leads ? 1 : 0),
    ],
    scoring_archive_shipped_entries: [
      'Journal entries that this process shipped',
      () => report().shippedEntries,
    ],
  });
  const help = '1 while this node cannot ship; archive status says more than the reason';
  showLabelledFigure(registry, 'scoring_archive_cannot_ship', help, 'reason', () => {
    const { trouble } = report();
    if (trouble === null) return [];
    return [[SHIPPING_REASONS.find(([pattern]) => pattern.test(trouble))?.[1] ?? 'other', 1]];
  });
}

/** Shows the contents of the archive and how far it is behind, whichever node ships to it. */
export function addArchiveGauges(registry: Registry, archive: ArchiveFigures): void {
  showFigures(registry, {
    scoring_archive_lag_seconds: [
      'How long the oldest journal entry that is not archived has waited',
      async () => (await archive.lagMs()) / 1000,
    ],
    scoring_journal_entries: [
      'Entries in the journal, shipped or not; the oldest are lost when there are more than about 12 million',
      () => archive.journalEntries(),
    ],
    scoring_archive_segments: ['Segments in the archive', () => archive.contents().segments],
    scoring_archive_bytes: ['Bytes of all segments of the archive', () => archive.contents().bytes],
    scoring_archive_gap_entries: [
      'Journal entries that were lost because the journal was full before they were shipped',
      () => archive.contents().gapEntries,
    ],
    scoring_archive_set_aside_entries: [
      'Journal entries that could not be read; archive status names them',
      () => archive.contents().setAsideEntries,
    ],
  });
}

export function addListGauges(registry: Registry, report: () => ListsReport): void {
  showFigures(registry, {
    scoring_lists_entries: ['Entries of shared lists that this node holds', () => report().entries],
    scoring_lists: ['Shared lists that this node holds', () => report().lists],
    scoring_lists_age_seconds: [
      'Time since this node last read the shared lists from the store',
      () => (report().ageMs ?? 0) / 1000,
    ],
  });
}

/** Shows whether platforms still report the outcomes of their orders, as all nodes see it. */
export function addReportingGauges(registry: Registry, known: () => ReadonlyMap<string, Reporting>): void {
  const figures: Readonly<Record<string, readonly [help: string, of: (one: Reporting) => number | null]>> = {
    scoring_reports_newest_timestamp_seconds: [
      'When the platform last reported an outcome',
      ({ newestAt }) => newestAt && newestAt / 1000,
    ],
    scoring_reports_usual_delay_seconds: [
      'Time after the grant within which 95 % of the reports usually come; only for platforms that report',
      ({ usualMs }) => usualMs && usualMs / 1000,
    ],
    scoring_reports_unreported_ratio: [
      'Share of the orders of a week, granted longer ago than reports usually take, without a report',
      ({ unreportedShare }) => unreportedShare,
    ],
    scoring_reports_stopped: [
      '1 while a platform that usually reports has not reported on 50 orders or more for three times as long as usual',
      ({ stopped }) => (stopped ? 1 : 0),
    ],
  };
  for (const [name, [help, of]] of Object.entries(figures))
    showLabelledFigure(registry, name, help, 'platform', () =>
      [...known()].map(([platform, one]) => [platform, of(one)] as const),
    );
}

/** Shows whether the store has lost access keys. */
export function addLostAccessKeysGauge(registry: Registry, lost: () => readonly PlatformKeyRef[]): void {
  showFigures(registry, {
    scoring_lost_keys: [
      'Access keys that the store has lost, and that somebody used in the last ten minutes',
      () => lost().length,
    ],
  });
}

/** Shows the state of the store at its last check. */
export function addStoreGauges(registry: Registry, report: () => StoreReport): void {
  showFigures(registry, {
    scoring_store_clock_offset_seconds: [
      "Seconds by which the store's clock, which decides, is ahead of this node's; on SQLite, by which the clock was set in the last ten minutes",
      () => report().clockOffsetMs / 1000,
    ],
    scoring_store_servers_failing: [
      'Servers of the store that take no writes',
      () => report().health.filter(({ failure }) => failure !== null).length,
    ],
    scoring_store_another: [
      'Servers of the store that are not what this node opened: emptied, replaced, or of another installation',
      () => report().health.filter(({ isAnotherStore = false }) => isAnotherStore).length,
    ],
  });
  showLabelledFigure(
    registry,
    'scoring_store_evicted_keys',
    'Keys that a server of the store has forgotten since it started, to stay within its memory',
    'server',
    () => report().health.map(({ server, evictedKeys = null }) => [server, evictedKeys] as const),
  );
  showLabelledFigure(
    registry,
    'scoring_store_memory_used_ratio',
    'Share of its maxmemory that a server of the store uses, where it has one',
    'server',
    () => report().health.map(({ server, memoryUsedShare = null }) => [server, memoryUsedShare] as const),
  );
  const warnings = () => report().health.flatMap((server) => server.warnings);
  showLabelledFigure(
    registry,
    'scoring_store_warnings',
    'Promises that a server of the store does not keep, or that could not be checked',
    'kind',
    () => WARNING_KINDS.map((kind) => [kind, warnings().filter((one) => one.kind === kind).length] as const),
  );
}

/** Shows when the listeners' certificates end. `endsMs` returns null if a certificate cannot be read. */
export function addCertificateGauge(
  registry: Registry,
  listeners: Readonly<Record<string, () => number | null>>,
): void {
  showLabelledFigure(
    registry,
    'scoring_certificate_ends_timestamp_seconds',
    'When the certificate of a listener ends; only where it speaks TLS',
    'listener',
    () =>
      Object.entries(listeners).map(([listener, endsMs]) => {
        const ms = endsMs();
        return [listener, ms && ms / 1000] as const;
      }),
  );
}
