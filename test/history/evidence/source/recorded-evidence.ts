import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { RuleSet } from '#decision/rules/rule-set.ts';
import { toExportedEntry } from '#history/archive/ship/journal-file.ts';
import { reportRuleWorth } from '#history/evidence/report/report.ts';
import type { SliceName, WorthReport } from '#history/evidence/report/worth-report.ts';
import { type EvidenceAsk, type EvidencePlace, withEvidence } from '#history/evidence/source/evidence.ts';
import { openSqliteStore } from '#state/sqlite/store.ts';
import type { Store } from '#state/store.ts';
import { TEST_SALT } from '../../../decision/payer/client-keys.ts';
import { temporaryDirectory } from '../../../servers/temporary-directory.ts';
import { type RunningService, startService } from '../../../service/running-service.ts';
import type { Tenant } from '../../../service/tenant.ts';
import { ArchivedStore } from '../../archive/archived-store.ts';

/** The history of a store as both kinds of evidence: an archive and an exported journal. */
export interface RecordedEvidence {
  readonly archive: Extract<EvidencePlace, { readonly kind: 'archive' }>;
  readonly journal: Extract<EvidencePlace, { readonly kind: 'journal' }>;
}

/** Runs `live` on a new store, then ships and exports its journal. */
export async function recordedEvidence(live: (store: Store) => Promise<void>): Promise<RecordedEvidence> {
  const archived = await ArchivedStore.open(openSqliteStore(temporaryDirectory(), { salt: TEST_SALT }));
  try {
    await live(archived.store);
    const journal = await exportedJournal(archived.store);
    await archived.shipAll();
    return { archive: { kind: 'archive', folder: archived.archive.folder }, journal };
  } finally {
    await archived.close();
  }
}

/** The journal of a store, or what came after a place in it, as a file of evidence. */
export async function exportedJournal(
  { readJournal, clientKeys }: Store,
  after: string | null = null,
): Promise<RecordedEvidence['journal']> {
  const { entries } = await readJournal(after, 100_000);
  const path = join(temporaryDirectory(), 'journal[1].ndjson');
  writeFileSync(
    path,
    entries.map((entry) => `${JSON.stringify(toExportedEntry(entry, clientKeys))}\n`).join(''),
  );
  return { kind: 'journal', path };
}

/** What a platform of a service under these rules recorded. */
export function servedEvidence(
  rules: RuleSet,
  live: (shop: Tenant, service: RunningService) => Promise<void>,
): Promise<RecordedEvidence> {
  return recordedEvidence(async (store) => {
    const service = await startService({ store, rules });
    try {
      await live(await service.tenant(), service);
    } finally {
      await service.stop();
    }
  });
}

/** All evidence of a source. */
export function all(place: EvidencePlace): EvidenceAsk {
  return { place, from: null, to: null, platform: null, threads: 1 };
}

export function reportOn(
  place: EvidencePlace,
  rules: RuleSet,
  by: SliceName | null = null,
): Promise<WorthReport> {
  return withEvidence(all(place), (evidence) => reportRuleWorth(evidence, { rules, by }));
}
