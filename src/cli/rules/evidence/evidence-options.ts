import { statSync } from 'node:fs';
import type { Command } from 'commander';
import { whileHere } from '../../../archive/frozen-archive.ts';
import { JournalFileError } from '../../../archive/ship/journal-file.ts';
import { readConfig, signalSecretOf } from '../../../config.ts';
import {
  type ArchiveAsk,
  type Evidence,
  type EvidenceAsk,
  isEvidence,
  withDayAfter,
  withEvidence,
} from '../../../evidence/source/evidence.ts';
import { keptRules } from '../../../evidence/verify/verify-segment.ts';
import { isRuleVersion, type RuleSet } from '../../../rules/rule-set.ts';
import { erasedNow, leftOutTexts, readArchiveConfig, withArchive } from '../../archive/archive-folder.ts';
import { UsageError } from '../../exit.ts';
import { parsePlatform } from '../../platform-option.ts';
import { printError } from '../../print.ts';
import { parseTime, spanOptions } from '../../time.ts';
import { soundRuleSet } from '../rule-folders.ts';
import { progressBar } from './progress-bar.ts';

/** Which decisions a figure is taken from, as a person says it. */
export interface EvidenceOptions {
  readonly journal?: string;
  readonly from?: string;
  readonly to?: string;
  readonly asOf?: string;
  readonly platform?: string;
  readonly json?: true;
  /** Only decisions that this version made. */
  readonly decidedBy?: string;
}

/** Adds the options that say where decisions are read from: from the archive unless a journal is named. */
export function evidenceOptions(command: Command): Command {
  command.option('--journal <file>', 'what "journal export" wrote; without it the archive is read');
  return spanOptions(command)
    .option('--as-of <time>', 'what was known then: only decisions and reports that had come by this time')
    .option('--platform <name>', 'only of this platform')
    .option('--json', 'print one JSON object');
}

/** Adds the option that says where the time is parted in two. */
export function splitOption(command: Command): Command {
  return command.option(
    '--split <time>',
    'where the later part begins; without it in the middle of the time',
  );
}

/** Lets `work` look at the evidence that the options name, and a person see how far it is. */
export async function onEvidence<T>(
  options: EvidenceOptions,
  work: (evidence: Evidence, show: (done: number, of: number) => void) => Promise<T>,
): Promise<T> {
  const ask = await askOf(options);
  const progress = await progressBar();
  try {
    const show = (some: EvidenceAsk) => withEvidence(some, (evidence) => work(evidence, progress.show));
    return await (ask.place.kind === 'journal' ? show(ask) : onArchive({ ...ask, place: ask.place }, show));
  } catch (error) {
    if (error instanceof JournalFileError && ask.place.kind === 'journal')
      throw new UsageError(`${ask.place.path}:${error.line}  ${error.message}`);
    throw error;
  } finally {
    progress.stop();
  }
}

function onArchive<T>(ask: ArchiveAsk, work: (ask: EvidenceAsk) => Promise<T>): Promise<T> {
  return withArchive((archive) =>
    whileHere(archive, isEvidence(withDayAfter(ask)), (folder, leftOut) => {
      for (const text of leftOutTexts(leftOut)) printError(text);
      return work({ ...ask, place: { ...ask.place, folder, leftOut } });
    }),
  );
}

/** The rule set that a person names, or else the one that decided last. */
export async function chosenRules(version: string | undefined, evidence: Evidence): Promise<RuleSet> {
  if (version !== undefined) return soundRuleSet(version);
  const [last] = await evidence.decidingRules();
  if (last === undefined)
    throw new UsageError('there is no decision within this time, so name the version to look at');
  const { rulesDir, archiveDir } = readConfig();
  const { ruleVersion, digest } = last;
  const found = isRuleVersion(ruleVersion)
    ? keptRules(archiveDir ?? '', rulesDir)({ ruleVersion, digest })
    : null;
  if (found !== null) return found;
  throw new UsageError(
    `${ruleVersion} with digest ${digest.slice(0, 12)} decided last, and this rule set is neither in RULES_DIR nor in the archive; name the version to look at`,
  );
}

async function askOf({
  journal,
  from,
  to,
  asOf,
  platform,
  decidedBy,
}: EvidenceOptions): Promise<EvidenceAsk> {
  return {
    place:
      journal === undefined
        ? { kind: 'archive', folder: archiveFolder(), erased: await erasedNow() }
        : journalAt(journal),
    from: parseTime(from, '--from'),
    to: parseTime(to, '--to'),
    asOf: parseTime(asOf, '--as-of'),
    platform: platform === undefined ? null : parsePlatform(platform),
    ...(decidedBy === undefined ? {} : { decidedBy }),
    holdoutSecret: signalSecretOf(readConfig()),
  };
}

function archiveFolder(): string {
  const { archiveDir, archiveS3 } = readArchiveConfig();
  if (archiveS3 !== null || statSync(archiveDir, { throwIfNoEntry: false }) !== undefined) return archiveDir;
  throw new UsageError(
    `there is no archive at ${archiveDir} yet; a running service writes it, or name an export: --journal <file>`,
  );
}

function journalAt(path: string): EvidenceAsk['place'] {
  const found = statSync(path, { throwIfNoEntry: false });
  if (found === undefined)
    throw new UsageError(`there is no file ${path}; write one: journal export --output ${path}`);
  if (found.isDirectory()) throw new UsageError(`${path} is a folder; --journal wants a file`);
  return { kind: 'journal', path };
}
