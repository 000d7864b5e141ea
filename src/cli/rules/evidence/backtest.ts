import { type Command, Option } from 'commander';
import { readConfig } from '../../../config.ts';
import { backtest } from '../../../evidence/backtest/backtest.ts';
import { BACKTEST_MODES, type BacktestMode } from '../../../evidence/backtest/backtest-report.ts';
import {
  OUTCOME_ASSUMPTIONS,
  type OutcomeAssumption,
  type RulesOfRequest,
} from '../../../evidence/backtest/lives.ts';
import { keptRules } from '../../../evidence/verify/verify-segment.ts';
import { isRuleVersion } from '../../../rules/rule-set.ts';
import { UsageError } from '../../exit.ts';
import { soundRuleSet } from '../rule-folders.ts';
import { type EvidenceOptions, evidenceOptions, onEvidence } from './evidence-options.ts';
import { printResult } from './print-result.ts';

interface BacktestOptions extends EvidenceOptions {
  readonly against?: string;
  readonly mode: BacktestMode;
  readonly outcomes: OutcomeAssumption;
}

/** rules backtest: what a version would have decided on recorded history. */
export function backtestCommand(rules: Command): void {
  evidenceOptions(rules.command('backtest <version>'))
    .description('what a version, draft or released, would have decided on what happened')
    .option('--against <version>', 'compare with this version instead of with what was recorded')
    .addOption(
      new Option(
        '--mode <mode>',
        'recorded: each decision again on its recorded facts; closed-loop: all inputs again from an empty state',
      )
        .choices(BACKTEST_MODES)
        .default('recorded'),
    )
    .addOption(outcomesOption())
    .action((version: string, options: BacktestOptions) => run(version, options));
}

/** Which recorded outcomes happen when inputs are replayed. */
export function outcomesOption(): Option {
  return new Option(
    '--outcomes <which>',
    'closed-loop: granted lets only outcomes of orders happen that the version granted, all repeats every recorded one',
  )
    .choices(OUTCOME_ASSUMPTIONS)
    .default('granted');
}

async function run(version: string, options: BacktestOptions): Promise<void> {
  const { against, mode, outcomes } = options;
  const candidate = soundRuleSet(version);
  const base = against === undefined ? null : soundRuleSet(against);
  const rulesOf = recordedRuleSets();
  const report = await onEvidence(options, (evidence, onProgress) =>
    backtest(evidence, { candidate, against: base, mode, outcomes, rulesOf, onProgress }),
  );
  printResult(report, options);
}

/** The rule sets that decided, from the archive or RULES_DIR, each only with the digest that was recorded. */
function recordedRuleSets(): RulesOfRequest {
  const { archiveDir, rulesDir } = readConfig();
  const kept = keptRules(archiveDir ?? '', rulesDir);
  return ({ ruleVersion, digest }) => {
    const found = isRuleVersion(ruleVersion) ? kept({ ruleVersion, digest }) : null;
    if (found !== null) return found;
    throw new UsageError(
      `${ruleVersion} with digest ${digest.slice(0, 12)} decided, and this rule set is neither in RULES_DIR nor in the archive; name the base yourself: --against <version>`,
    );
  };
}
