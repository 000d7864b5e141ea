import { statSync } from 'node:fs';
import { join } from 'node:path';
import { type Command, Option } from 'commander';
import { readConfig } from '../../config.ts';
import type { LadderLevelReport, OrderEffects } from '../../evidence/backtest/aftermath.ts';
import {
  BACKTEST_MODES,
  type BacktestMode,
  type BacktestReport,
  backtest,
} from '../../evidence/backtest/backtest.ts';
import type { RulesOfEntry } from '../../evidence/backtest/relived-journal.ts';
import { JournalFileError } from '../../evidence/journal-file.ts';
import { loadRuleSet } from '../../rules/folder/rule-folder.ts';
import { isRuleVersion, type RuleSet, VERDICTS } from '../../rules/rule-set.ts';
import { EXIT, UsageError } from '../exit.ts';
import { print, printError } from '../print.ts';
import { table } from '../table.ts';
import { progressBar } from './evidence/progress-bar.ts';
import { fromHere, soundRuleSet } from './rule-folders.ts';

interface BacktestOptions {
  readonly journal: string;
  readonly against?: string;
  readonly mode: BacktestMode;
  readonly json?: true;
}

/** rules backtest: what a version would have decided on recorded history. */
export function backtestCommand(rules: Command): void {
  rules
    .command('backtest <version>')
    .description('what a version, draft or released, would have decided on an exported journal')
    .requiredOption('--journal <file>', 'what "journal export" wrote')
    .option('--against <version>', 'compare with this version instead of with what was recorded')
    .addOption(
      new Option(
        '--mode <mode>',
        'recorded: each decision again on its recorded facts; closed-loop: all inputs again from an empty state',
      )
        .choices(BACKTEST_MODES)
        .default('recorded'),
    )
    .option('--json', 'print one JSON object')
    .action((version: string, options: BacktestOptions) => run(version, options));
}

async function run(version: string, { journal, against, mode, json }: BacktestOptions): Promise<void> {
  const candidate = soundRuleSet(version);
  const base = against === undefined ? null : soundRuleSet(against);
  refuseUnlessFile(journal);
  const progress = await progressBar();
  try {
    const report = backtest({
      path: journal,
      candidate,
      against: base,
      mode,
      rulesOf: recordedRuleSets(),
      onProgress: progress.show,
    });
    progress.stop();
    print(
      json === true
        ? JSON.stringify(report)
        : describe(report, unseenSettings(candidate, base ?? recordedBase(report))),
    );
  } catch (error) {
    progress.stop();
    if (error instanceof JournalFileError) throw new UsageError(`${journal}:${error.line}  ${error.message}`);
    if (!isSystemError(error)) throw error;
    printError(`error: ${journal} cannot be read: ${error.message}`);
    process.exitCode = EXIT.environment;
  }
}

function refuseUnlessFile(path: string): void {
  const found = statSync(path, { throwIfNoEntry: false });
  if (found === undefined)
    throw new UsageError(`there is no file ${path}; write one: journal export --output ${path}`);
  if (found.isDirectory()) throw new UsageError(`${path} is a folder; --journal wants a file`);
}

/** The rule sets that the journal names, each loaded once and only if its digest is the recorded one. */
function recordedRuleSets(): RulesOfEntry {
  const { rulesDir } = readConfig();
  const loaded = new Map<string, RuleSet>();
  return (ruleVersion, digest) => {
    const known = loaded.get(ruleVersion) ?? load(rulesDir, ruleVersion);
    loaded.set(ruleVersion, known);
    if (digest === null || digest === known.digest) return known;
    throw new UsageError(
      `the journal was decided by ${ruleVersion} with digest ${digest}, and ${fromHere(join(rulesDir, ruleVersion))} has ${known.digest}; name the base yourself: --against <version>`,
    );
  };
}

function load(rulesDir: string, ruleVersion: string): RuleSet {
  const folder = join(rulesDir, ruleVersion);
  const result = isRuleVersion(ruleVersion) ? loadRuleSet(folder) : null;
  if (result?.ok === true) return result.ruleSet;
  throw new UsageError(
    `the journal was decided by ${ruleVersion}, and there is no sound rule set at ${fromHere(folder)}; name the base yourself: --against <version>`,
  );
}

function isSystemError(error: unknown): error is NodeJS.ErrnoException {
  return error instanceof Error && 'syscall' in error;
}

/** The one version that decided then, when it is still at hand. */
function recordedBase({ journal: { ruleVersions } }: BacktestReport): RuleSet | null {
  const [version = '', ...others] = ruleVersions;
  if (others.length > 0 || !isRuleVersion(version)) return null;
  const loaded = loadRuleSet(join(readConfig().rulesDir, version));
  return loaded.ok ? loaded.ruleSet : null;
}

/** In what the two differ that facts recorded under the one already have in them. */
function unseenSettings(candidate: RuleSet, base: RuleSet | null): readonly string[] {
  return (['currency', 'smoothing', 'ladder'] as const).filter(
    (name) =>
      base !== null && JSON.stringify(base.settings[name]) !== JSON.stringify(candidate.settings[name]),
  );
}

function describe(report: BacktestReport, unseen: readonly string[]): string {
  const { changed, compared } = report;
  if (compared === 0)
    return [heading(report), ...notes(report, []), 'There is no decision to compare.'].join('\n\n');
  const sections = [
    heading(report),
    ...notes(report, unseen),
    `${count(changed)} of ${count(compared)} verdicts change (${percent(changed, compared)}).`,
    section(
      'Verdicts: rows say what the base decides, columns what the version decides',
      transitions(report),
    ),
    ...optional(report.changes.length > 0, () => section('Changes by rule', changes(report))),
    botsAndGroups(report),
    section('Outcomes', outcomes(report)),
    ...optional(report.ladder.base.length + report.ladder.candidate.length > 0, () =>
      section('Cooldown ladder: who came back after a wait and paid', ladder(report)),
    ),
  ];
  return sections.join('\n\n');
}

function optional(wanted: boolean, make: () => string): readonly string[] {
  return wanted ? [make()] : [];
}

function section(title: string, body: string): string {
  return `${title}\n${indent(body)}`;
}

function indent(text: string): string {
  return text
    .split('\n')
    .map((line) => `  ${line}`)
    .join('\n');
}

function heading({ ruleVersion, digest, mode, journal }: BacktestReport): string {
  const { records, decisions, from, to, ruleVersions } = journal;
  const by = ruleVersions.length === 0 ? '' : ` decided by ${ruleVersions.join(', ')}`;
  const span = from === null || to === null ? '' : `, ${instant(from)} to ${instant(to)}`;
  return [
    `${ruleVersion} (sha256:${digest.slice(0, 12)}), mode ${mode}`,
    `Journal: ${count(records)} records, ${count(decisions)} decisions${by}${span}.`,
  ].join('\n');
}

function notes(report: BacktestReport, unseen: readonly string[]): readonly string[] {
  const { journal, undecidable, mode, reproduced, compared, against } = report;
  const found: string[] = [];
  if (journal.torn)
    found.push('The last line of the journal is incomplete and was left out; export again to complete it.');
  if (undecidable.count > 0)
    found.push(
      `${count(undecidable.count)} decisions cannot be decided again: their records lack ${undecidable.facts.join(', ')}. Use --mode closed-loop, which counts these facts anew.`,
    );
  if (mode === 'recorded' && unseen.length > 0)
    found.push(
      `The versions differ in ${unseen.join(', ')}, which recorded facts cannot show; use --mode closed-loop.`,
    );
  if (reproduced !== null && against === null && reproduced < compared)
    found.push(
      `Lived through again, the recorded versions repeat ${count(reproduced)} of ${count(compared)} recorded verdicts (${percent(reproduced, compared)}): the journal does not begin with an empty state, or clients were erased.`,
    );
  return found.length === 0 ? [] : [found.map((text) => `Note: ${text}`).join('\n')];
}

function transitions({ transitions: cells, ruleVersion, against }: BacktestReport): string {
  const corner = `${against ?? 'recorded'} \\ ${ruleVersion}`;
  const rows = VERDICTS.map((from) => [from, ...VERDICTS.map((to) => count(cells[from][to]))]);
  return table([corner, ...VERDICTS], rows, { right: [1, 2, 3, 4] });
}

function changes(report: BacktestReport): string {
  const headings = ['COUNT', 'FROM', 'BY RULE', 'TO', 'BY RULE', 'ORDERS, FOR EXAMPLE'];
  const rows = report.changes.map(({ from, to, fromRule, toRule, count: times, samples }) => [
    count(times),
    from,
    fromRule,
    to,
    toRule,
    samples.join(', '),
  ]);
  return table(headings, rows, { right: [0] });
}

function botsAndGroups({ bots, groups, waits, compared }: BacktestReport): string {
  const lines = [
    `Bot flag: ${count(bots.base)} -> ${count(bots.candidate)} of ${count(compared)} decisions; ${count(bots.gained)} newly flagged, ${count(bots.lost)} no longer.`,
    groups.length === 0
      ? 'Client groups: no change.'
      : `Client groups: ${groups.map(({ from, to, count: times }) => `${from} -> ${to} ${count(times)}`).join(', ')}.`,
  ];
  if (waits !== null)
    lines.push(`Waits of another length: ${count(waits.longer)} longer, ${count(waits.shorter)} shorter.`);
  return lines.join('\n');
}

function outcomes({ outcomes: known, ruleVersion, against }: BacktestReport): string {
  const { paidOrders, unpaidOrders, base, candidate } = known;
  if (paidOrders + unpaidOrders === 0) return 'No outcome is known for any order of this journal.';
  const row = (name: string, total: number, effect: (of: OrderEffects) => number) => [
    name,
    count(total),
    withShare(effect(base), total),
    withShare(effect(candidate), total),
  ];
  const headings = ['', 'ORDERS', against ?? 'RECORDED', ruleVersion];
  const rows = [
    row('paid orders held back or blocked', paidOrders, (of) => of.paidHeldBack + of.paidBlocked),
    row('  held back (WAIT)', paidOrders, (of) => of.paidHeldBack),
    row('  blocked', paidOrders, (of) => of.paidBlocked),
    row('unpaid attempts stopped', unpaidOrders, (of) => of.unpaidStopped),
  ];
  return table(headings, rows, { right: [1, 2, 3] });
}

function ladder({ ladder: reports, ruleVersion, against }: BacktestReport): string {
  const headings = ['RULE SET', 'LEVEL', 'WAITS', 'CLIENTS', 'CAME BACK', 'CAME BACK AND PAID'];
  const row = (name: string, { level, waits, clients, cameBack, paid }: LadderLevelReport) => [
    name,
    String(level),
    count(waits),
    count(clients),
    withShare(cameBack, clients),
    withShare(paid, clients),
  ];
  const rows = [
    ...reports.base.map((level) => row(against ?? 'recorded', level)),
    ...reports.candidate.map((level) => row(ruleVersion, level)),
  ];
  return table(headings, rows, { right: [1, 2, 3, 4, 5] });
}

function count(value: number): string {
  return value.toLocaleString('en');
}

function withShare(part: number, whole: number): string {
  return `${count(part)} (${percent(part, whole)})`;
}

function percent(part: number, whole: number): string {
  return whole === 0 ? '-' : `${((100 * part) / whole).toFixed(2)} %`;
}

function instant(at: number): string {
  return `${new Date(at).toISOString().slice(0, 19)}Z`;
}
