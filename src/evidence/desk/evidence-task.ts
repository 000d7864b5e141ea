import type { ErasedClients } from '../../archive/archive.ts';
import type { PlatformName } from '../../client/client-key.ts';
import type { DraftText } from '../../rules/folder/draft.ts';
import type { RuleVersion } from '../../rules/rule-set.ts';
import type { BacktestMode } from '../backtest/backtest-report.ts';
import type { OutcomeAssumption } from '../backtest/lives.ts';
import type { SliceName } from '../report/rule-report.ts';

/** A rule set by its files. */
export interface NamedRuleSet {
  readonly ruleVersion: RuleVersion;
  readonly digest: string;
}

interface TaskSpan {
  /** Null for all platforms. */
  readonly platform: PlatformName | null;
  /** Decisions from this time on and before that one, epoch ms; null for all. */
  readonly from: number | null;
  readonly to: number | null;
}

export interface ReportTask extends TaskSpan {
  readonly kind: 'report';
  readonly rules: NamedRuleSet;
  readonly by: SliceName | null;
}

export interface BacktestTask extends TaskSpan {
  readonly kind: 'backtest';
  readonly rules: NamedRuleSet;
  /** The base of the comparison; null for what was recorded. */
  readonly against: NamedRuleSet | null;
  readonly mode: BacktestMode;
  readonly outcomes: OutcomeAssumption;
}

export interface SweepTask extends TaskSpan {
  readonly kind: 'sweep';
  readonly rules: NamedRuleSet;
  /** Each `PATH=VALUES`, as the command takes them. */
  readonly vary: readonly string[];
  readonly outcomes: OutcomeAssumption;
}

export interface CalibrationTask extends TaskSpan {
  readonly kind: 'calibration';
  readonly rules: NamedRuleSet;
}

export interface DriftTask extends TaskSpan {
  readonly kind: 'drift';
  /** Whose decisions are looked at; null for those of all versions. */
  readonly rules: NamedRuleSet | null;
}

export interface SuggestionTask extends TaskSpan {
  readonly kind: 'suggestion';
  readonly rules: NamedRuleSet;
  /** Share of the paid orders, 0 to 1. */
  readonly budget: number;
}

/** What may be worked out from the archive; plain data, and the same question is the same text. */
export type EvidenceTask =
  | ReportTask
  | BacktestTask
  | SweepTask
  | CalibrationTask
  | DriftTask
  | SuggestionTask;

export const TASK_KINDS = [
  'report',
  'backtest',
  'sweep',
  'calibration',
  'drift',
  'suggestion',
] as const satisfies readonly EvidenceTask['kind'][];

/** Where a node finds what its tasks are about. */
export interface EvidenceFolders {
  readonly archiveDir: string;
  /** Whom the archive may still hold although they were erased. */
  readonly erased: ErasedClients;
  readonly rulesDir: string;
}

/** A task with all that it takes. */
export interface EvidenceWork {
  readonly task: EvidenceTask;
  readonly folders: EvidenceFolders;
  /** The rule set of the task, where it lies in no folder. */
  readonly draft: DraftText | null;
  /** The SIGNAL_SECRET of the fleet. */
  readonly holdoutSecret: string;
}
