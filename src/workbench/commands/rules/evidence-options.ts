import { statSync } from 'node:fs';
import type { Command } from 'commander';
import { getOrCreateSignalSecret, readConfig } from '#config.ts';
import { NO_ATTRIBUTE_PSEUDONYMIZER } from '#decision/payer/attribute-hmacs.ts';
import { isRuleVersion } from '#decision/rules/rule-set.ts';
import { JournalFileError } from '#history/archive/ship/journal-file.ts';
import { withSnapshotFiles } from '#history/archive/snapshot.ts';
import {
  type EvidenceTable,
  formatCell,
  listSortNames,
  type NotesAndTables,
  sortTables,
} from '#history/evidence/presentation.ts';
import type { QuestionAnswer, RuleSetFinders } from '#history/evidence/question.ts';
import {
  type ArchiveEvidenceAsk,
  createReadSegmentFilter,
  type Evidence,
  type EvidenceAsk,
  type SpanOrAllTimes,
  withEvidence,
} from '#history/evidence/source/evidence.ts';
import { UsageError } from '#workbench/commands/exit.ts';
import {
  formatUnreadSegments,
  readArchiveConfig,
  withSnapshotOpener,
} from '#workbench/commands/open-archive.ts';
import { addSpanOptions, parsePlatform, parseTime } from '#workbench/commands/options.ts';
import { createProgressBar, formatTable, print, printError } from '#workbench/commands/print.ts';
import { createRuleSetFinder } from '#workbench/verify/verify-segment.ts';

/** The options with which a person says which decisions are evaluated. */
export interface EvidenceOptions {
  readonly journal?: string;
  readonly from?: string;
  readonly to?: string;
  readonly asOf?: string;
  readonly platform?: string;
  readonly json?: true;
  /** The name of the column by which tables are sorted. */
  readonly sort?: string;
  readonly decidedBy?: string;
}

/** Adds the options for the source of decisions. The source is the archive unless a journal is named. */
export function addEvidenceOptions(command: Command): Command {
  command.option('--journal <file>', 'a file written by "journal export"; without it the archive is read');
  return addSpanOptions(command)
    .option('--as-of <time>', 'use only decisions and reports that were known at this time')
    .option('--platform <name>', 'only of this platform')
    .option('--sort <column>', 'sort tables by this column, largest numbers first')
    .option('--json', 'print one JSON object');
}

/** Runs `work` on the recorded decisions and outcomes (the evidence) that the options name, and shows its progress. */
export async function withEvidenceOf<T>(
  options: EvidenceOptions,
  reads: SpanOrAllTimes,
  work: (evidence: Evidence, show: (done: number, of: number) => void) => Promise<T>,
): Promise<T> {
  const ask = readAsk(options);
  const progress = await createProgressBar();
  try {
    const show = (some: EvidenceAsk) => withEvidence(some, (evidence) => work(evidence, progress.show));
    return await (ask.place.kind === 'journal'
      ? show(ask)
      : withArchiveEvidence({ ...ask, place: ask.place }, reads, show));
  } catch (error) {
    if (error instanceof JournalFileError && ask.place.kind === 'journal')
      throw new UsageError(`${ask.place.path}:${error.line}  ${error.message}`);
    throw error;
  } finally {
    progress.stop();
  }
}

function withArchiveEvidence<T>(
  ask: ArchiveEvidenceAsk,
  reads: SpanOrAllTimes,
  work: (ask: EvidenceAsk) => Promise<T>,
): Promise<T> {
  return withSnapshotOpener((open, erased) =>
    withSnapshotFiles(open, createReadSegmentFilter(reads, ask), ({ folder, leftOut }) => {
      for (const text of formatUnreadSegments(leftOut)) printError(text);
      return work({ ...ask, place: { kind: 'archive', folder, erased, leftOut } });
    }),
  );
}

/**
 * Creates a function that finds a recorded rule set in the archive or in RULES_DIR. It returns a rule set only if
 * that has the recorded digest.
 */
export function createRecordedRuleSetFinder(): RuleSetFinders['recorded'] {
  const { rulesDir, archiveDir } = readConfig();
  // These rule sets are loaded without secrets. The caller gives them those of the evidence.
  const kept = createRuleSetFinder(archiveDir ?? '', rulesDir, NO_ATTRIBUTE_PSEUDONYMIZER);
  return ({ ruleVersion, digest }) => (isRuleVersion(ruleVersion) ? kept({ ruleVersion, digest }) : null);
}

function readAsk(options: EvidenceOptions): EvidenceAsk {
  const { journal, from, to, asOf, platform, decidedBy } = options;
  return {
    place:
      journal === undefined
        ? { kind: 'archive', folder: requireArchiveFolder() }
        : requireJournalFile(journal),
    from: parseTime(from, '--from'),
    to: parseTime(to, '--to'),
    asOf: parseTime(asOf, '--as-of'),
    platform: platform === undefined ? null : parsePlatform(platform),
    ...(decidedBy === undefined ? {} : { decidedBy }),
    holdoutSecret: getOrCreateSignalSecret(readConfig()),
    formerSecret: readConfig().signalSecretPrevious,
  };
}

function requireArchiveFolder(): string {
  const { archiveDir, archiveS3 } = readArchiveConfig();
  if (archiveS3 !== null || statSync(archiveDir, { throwIfNoEntry: false }) !== undefined) return archiveDir;
  throw new UsageError(
    `there is no archive at ${archiveDir} yet; a running service writes it, or name an export: --journal <file>`,
  );
}

function requireJournalFile(path: string): EvidenceAsk['place'] {
  const found = statSync(path, { throwIfNoEntry: false });
  if (found === undefined)
    throw new UsageError(`there is no file ${path}; write one: journal export --output ${path}`);
  if (found.isDirectory()) throw new UsageError(`${path} is a folder; --journal wants a file`);
  return { kind: 'journal', path };
}

/**
 * Prints the notes and tables of an answer, sorted by the column that was asked for, or with --json one JSON object.
 */
export function printQuestionAnswer(
  answer: QuestionAnswer,
  { json, sort }: Pick<EvidenceOptions, 'json' | 'sort'>,
): void {
  const shown = sortAnswer(answer, sort);
  if (json === true) print(JSON.stringify(shown));
  else print([shown.notes.join('\n'), ...shown.tables.map(formatEvidenceTable)].join('\n\n'));
}

function sortAnswer<Result extends NotesAndTables>(shown: Result, column: string | undefined): Result {
  if (column === undefined) return shown;
  const found = sortTables(shown, column);
  if (found !== null) return found;
  const names = new Set(shown.tables.flatMap(listSortNames).filter((name) => name !== ''));
  throw new UsageError(`--sort is "${column}"; it must be one of ${[...names].join(', ')}`);
}

/** Formats a table with its title, indented. */
function formatEvidenceTable({ title, columns, rows }: EvidenceTable): string {
  const text = formatTable(
    columns.map(({ name }) => name.toUpperCase()),
    rows.map((row) => columns.map(({ kind }, place) => formatCell(row[place] ?? null, kind))),
    { right: columns.flatMap(({ kind }, place) => (kind === 'text' ? [] : [place])) },
  );
  return [title, ...text.split('\n').map((line) => `  ${line}`)].join('\n');
}
