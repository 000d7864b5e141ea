import type { Registry } from 'prom-client';
import type { ArchiveWatch } from '../archive/read/archive-watch.ts';
import type { ShippingReport } from '../archive/ship/shipping.ts';
import type { ListsReport } from '../lists/list-node.ts';
import type { NodeReport } from '../rollout/fleet.ts';
import { sumTrialCounts, type TrialFigures } from '../rollout/trial-counts.ts';
import { type StoreHealth, WARNING_KINDS } from '../state/store-health.ts';
import { addGauge } from './metrics.ts';

/** What the metrics show of the store. */
export interface StoreReport {
  readonly health: StoreHealth;
  readonly clockOffsetMs: number;
}

/** Shows what this node reports to the fleet. */
export function watchRollout(registry: Registry, report: () => NodeReport): void {
  addGauge(
    registry,
    'scoring_rollout_revision',
    'Revision of the rollout that this node follows',
    (gauge) => gauge.set(report().revision),
    { ofWorkers: 'min' },
  );
  addGauge(
    registry,
    'scoring_rules_refused',
    'Version folders that this node refuses',
    (gauge) => gauge.set(report().refused.length),
    { ofWorkers: 'max' },
  );
  addGauge(
    registry,
    'scoring_rollout_trouble',
    '1 while this node cannot follow the newest revision',
    (gauge) => gauge.set(report().trouble === null ? 0 : 1),
    { ofWorkers: 'max' },
  );
  addGauge(
    registry,
    'scoring_rollout_emergency_timestamp_seconds',
    'When one person last returned to an earlier version without approval; 0: never',
    (gauge) => gauge.set((report().emergencyAt ?? 0) / 1000),
    { ofWorkers: 'max' },
  );
  addGauge(
    registry,
    'scoring_shadow_compared',
    'Verdicts that the shadow decided, too, in this trial',
    (gauge) => gauge.set(sumOf(report(), ({ shadow }) => shadow.compared)),
  );
  addGauge(
    registry,
    'scoring_shadow_different',
    'Verdicts that the shadow would have answered otherwise',
    (gauge) => gauge.set(sumOf(report(), ({ shadow }) => shadow.different)),
  );
  addGauge(
    registry,
    'scoring_candidate_errors',
    'Decisions in this trial for which the candidate threw',
    (gauge) => gauge.set(sumOf(report(), ({ candidateErrors }) => candidateErrors)),
  );
}

/** Shows what this node ships. */
export function watchShipping(registry: Registry, report: () => ShippingReport): void {
  addGauge(registry, 'scoring_archive_leads', '1 while this node ships the journal to the archive', (gauge) =>
    gauge.set(report().leads ? 1 : 0),
  );
  addGauge(
    registry,
    'scoring_archive_cannot_ship',
    '1 while this node cannot ship; archive status says why',
    (gauge) => gauge.set(report().trouble === null ? 0 : 1),
  );
  addGauge(
    registry,
    'scoring_archive_shipped_entries',
    'Journal entries that this process shipped',
    (gauge) => gauge.set(report().shippedEntries),
  );
}

/** Shows what the archive holds and how far it is behind, whoever ships to it. */
export function watchArchive(registry: Registry, archive: ArchiveWatch): void {
  addGauge(
    registry,
    'scoring_archive_lag_seconds',
    'How long the oldest journal entry has waited that is not archived',
    async (gauge) => gauge.set((await archive.lagMs()) / 1000),
  );
  addGauge(
    registry,
    'scoring_journal_entries',
    'Entries in the journal, shipped or not; the oldest are lost when there are more than about a million',
    async (gauge) => gauge.set(await archive.journalEntries()),
  );
  addGauge(registry, 'scoring_archive_segments', 'Segments in the archive', (gauge) =>
    gauge.set(archive.contents().segments),
  );
  addGauge(registry, 'scoring_archive_bytes', 'Bytes of all segments of the archive', (gauge) =>
    gauge.set(archive.contents().bytes),
  );
  addGauge(
    registry,
    'scoring_archive_gap_entries',
    "Journal entries that were lost to the journal's bound before they were shipped",
    (gauge) => gauge.set(archive.contents().gapEntries),
  );
  addGauge(
    registry,
    'scoring_archive_set_aside_entries',
    'Journal entries that could not be read; archive status names them',
    (gauge) => gauge.set(archive.contents().setAsideEntries),
  );
}

/** Shows the copy of the shared lists that this node holds. */
export function watchLists(registry: Registry, report: () => ListsReport): void {
  addGauge(
    registry,
    'scoring_lists_entries',
    'Entries of shared lists that this node holds',
    (gauge) => gauge.set(report().entries),
    { ofWorkers: 'max' },
  );
  addGauge(
    registry,
    'scoring_lists',
    'Shared lists that this node holds',
    (gauge) => gauge.set(report().lists),
    { ofWorkers: 'max' },
  );
  addGauge(
    registry,
    'scoring_lists_age_seconds',
    'Since this node compared its copy of the shared lists with the store',
    (gauge) => gauge.set((report().ageMs ?? 0) / 1000),
    { ofWorkers: 'max' },
  );
}

/** Shows how the store was at the last look. */
export function watchStore(registry: Registry, report: () => StoreReport): void {
  addGauge(
    registry,
    'scoring_store_clock_offset_seconds',
    "By how much the store's clock, which decides, is ahead of this node's",
    (gauge) => gauge.set(report().clockOffsetMs / 1000),
    { ofWorkers: 'max' },
  );
  addGauge(
    registry,
    'scoring_store_servers_failing',
    'Servers of the store that take no writes',
    (gauge) => gauge.set(report().health.filter(({ failure }) => failure !== null).length),
    { ofWorkers: 'max' },
  );
  addGauge(
    registry,
    'scoring_store_memory_used_ratio',
    'Share of its maxmemory that a server of the store uses, where it has one',
    (gauge) => {
      for (const { server, memoryUsedShare } of report().health)
        if (memoryUsedShare !== undefined) gauge.set({ server }, memoryUsedShare);
    },
    { labels: ['server'], ofWorkers: 'max' },
  );
  const warnings = () => report().health.flatMap((server) => server.warnings);
  addGauge(
    registry,
    'scoring_store_warnings',
    'Promises that a server of the store does not keep, or that could not be checked',
    (gauge) => {
      for (const kind of WARNING_KINDS)
        gauge.set({ kind }, warnings().filter((warning) => warning.kind === kind).length);
    },
    { labels: ['kind'], ofWorkers: 'max' },
  );
}

/** Shows when the certificates of the listeners end, by listener; `endsMs` is null while one cannot be read. */
export function watchCertificates(
  registry: Registry,
  listeners: Readonly<Record<string, () => number | null>>,
): void {
  addGauge(
    registry,
    'scoring_certificate_ends_timestamp_seconds',
    'When the certificate of a listener ends; only where it speaks TLS',
    (gauge) => {
      for (const [listener, endsMs] of Object.entries(listeners)) {
        const ms = endsMs();
        if (ms !== null) gauge.set({ listener }, ms / 1000);
      }
    },
    { labels: ['listener'], ofWorkers: 'min' },
  );
}

/** What this node saw of its trial, on all platforms. */
/** Over the trials of all candidates. */
function sumOf({ counts }: NodeReport, of: (figures: TrialFigures) => number): number {
  return counts.reduce((sum, one) => sum + of(sumTrialCounts(one, null)), 0);
}
