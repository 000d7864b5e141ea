import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { parse, stringify } from 'yaml';
import { describeWithServer } from '../servers/needed-programs.ts';
import { temporaryDirectory } from '../servers/temporary-directory.ts';
import { packaged, packagedPath } from './packaged.ts';

interface AlertRule {
  readonly alert: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
}

interface AlertCase {
  readonly title: string;
  readonly alert: string;
  /** What Prometheus scrapes every 15 s, in promtool's notation. */
  readonly series: Readonly<Record<string, string>>;
  /** How often Prometheus looks at the rules; every 15 s when absent. */
  readonly every?: string;
  /** When it is looked at. */
  readonly at: string;
  /** The labels that it fires with, beside its severity; null when it does not fire. */
  readonly fires: Readonly<Record<string, string>> | null;
}

const UP = 'up{job="client-scoring",instance="a"}';
const BUILD = 'scoring_build_info{job="client-scoring",instance="a"}';
const STORE_ERRORS = 'scoring_store_errors_total{job="client-scoring",instance="a",operation="verdict"}';
const FAULTS =
  'scoring_request_duration_seconds_count{job="client-scoring",instance="a",operation="verdict",status="500"}';
const ANSWERED =
  'scoring_request_duration_seconds_count{job="client-scoring",instance="a",operation="verdict",status="200"}';
const SHED = 'scoring_shed_total{job="client-scoring",instance="a",operation="score"}';
const GAP = 'scoring_archive_gap_entries{job="client-scoring",instance="a"}';

const GRANTS =
  'scoring_verdicts_total{job="client-scoring",instance="a",verdict="GET_NEW",rule="first",arm="active"}';
const BLOCKS =
  'scoring_verdicts_total{job="client-scoring",instance="a",verdict="BLOCK",rule="chain",arm="active"}';

/** A node that is there and well. */
const WELL = { [UP]: '1x400', [BUILD]: '1x400' };

const CASES: readonly AlertCase[] = [
  {
    title: 'pages when a node is down for two minutes',
    alert: 'ScoringDown',
    series: { [UP]: '1x8 0x40' },
    at: '5m',
    fires: { instance: 'a', job: 'client-scoring' },
  },
  {
    title: 'does not page for a node that restarts within a minute',
    alert: 'ScoringDown',
    series: { [UP]: '1x8 0x3 1x40' },
    at: '3m',
    fires: null,
  },
  {
    title: 'pages when no node is known at all',
    alert: 'ScoringAbsent',
    series: {},
    at: '6m',
    fires: { job: 'client-scoring' },
  },
  { title: 'is quiet while one is known', alert: 'ScoringAbsent', series: WELL, at: '6m', fires: null },
  {
    title: 'does not page for a single failure',
    alert: 'ScoringStoreAway',
    series: { [STORE_ERRORS]: '0x20 1x100' },
    at: '6m',
    fires: null,
  },
  {
    title: 'does not page for a single failure whose series is born with it',
    alert: 'ScoringStoreAway',
    series: { [STORE_ERRORS]: '_x20 1x100' },
    at: '6m',
    fires: null,
  },
  {
    title: 'does not page for one burst, such as a failover of some seconds',
    alert: 'ScoringStoreAway',
    series: { [STORE_ERRORS]: '0x20 400x100' },
    at: '8m',
    fires: null,
  },
  {
    title: 'pages for an outage that goes on',
    alert: 'ScoringStoreAway',
    series: { [STORE_ERRORS]: '0x20 30+30x40' },
    at: '8m',
    fires: {},
  },
  {
    title: 'pages for an outage that its series is born with',
    alert: 'ScoringStoreAway',
    series: { [STORE_ERRORS]: '_x20 30+30x40' },
    at: '7m30s',
    fires: {},
  },
  {
    title: 'does not page for a single 500',
    alert: 'ScoringErrors',
    series: { [FAULTS]: '_x20 1x100' },
    at: '7m',
    fires: null,
  },
  {
    title: 'pages for several, also when the first of them are all that is known',
    alert: 'ScoringErrors',
    series: { [FAULTS]: '_x20 7x100' },
    at: '7m',
    fires: {},
  },
  {
    title: 'pages when more than one of a hundred requests is refused for five minutes',
    alert: 'ScoringShedding',
    series: { [ANSWERED]: '0+1500x60', [SHED]: '0x8 30+30x60' },
    at: '9m',
    fires: {},
  },
  {
    title: 'is quiet about the few that a burst costs',
    alert: 'ScoringShedding',
    series: { [ANSWERED]: '0+1500x60', [SHED]: '0x8 30x60' },
    at: '9m',
    fires: null,
  },
  {
    title: 'pages before a Redis is full',
    alert: 'ScoringStoreMemory',
    series: { 'scoring_store_memory_used_ratio{instance="a",server="Redis at r:6379"}': '0.8x8 0.9x40' },
    at: '8m',
    fires: { server: 'Redis at r:6379' },
  },
  {
    title: 'tells of a clock that is off, whichever way',
    alert: 'ScoringClock',
    series: { 'scoring_store_clock_offset_seconds{instance="a"}': '-15x40' },
    at: '6m',
    fires: { instance: 'a' },
  },
  {
    title: 'is quiet about a clock that is a second off',
    alert: 'ScoringClock',
    series: { 'scoring_store_clock_offset_seconds{instance="a"}': '1x40' },
    at: '6m',
    fires: null,
  },
  {
    title: 'pages when the journal lost entries',
    alert: 'ScoringArchiveGap',
    series: { [GAP]: '0x20 500x40' },
    at: '6m',
    fires: {},
  },
  {
    title: 'pages when the series of the gap is born with it',
    alert: 'ScoringArchiveGap',
    series: { [GAP]: '_x20 500x40' },
    at: '6m',
    fires: {},
  },
  {
    title: 'pages before the journal is full',
    alert: 'ScoringJournalFull',
    series: { 'scoring_journal_entries{instance="a"}': '100000+40000x40' },
    at: '6m',
    fires: {},
  },
  {
    title: 'is quiet about what stays in the journal to look back over',
    alert: 'ScoringJournalFull',
    series: { 'scoring_journal_entries{instance="a"}': '130000x40' },
    at: '6m',
    fires: null,
  },
  {
    title: 'is quiet about a gap of long ago',
    alert: 'ScoringArchiveGap',
    series: { [GAP]: '500x400' },
    at: '90m',
    fires: null,
  },
  {
    title: 'pages when a server takes no writes, also when nobody asks for verdicts',
    alert: 'ScoringStoreTakesNoWrites',
    series: { 'scoring_store_servers_failing{instance="a"}': '0x8 1x40' },
    at: '5m',
    fires: {},
  },
  {
    title: 'does not page for one look that failed and is a minute old',
    alert: 'ScoringStoreTakesNoWrites',
    series: { 'scoring_store_servers_failing{instance="a"}': '0x8 1x4 0x40' },
    at: '3m30s',
    fires: null,
  },
  {
    title: 'opens a ticket for a promise that Redis does not keep',
    alert: 'ScoringStorePromises',
    series: { 'scoring_store_warnings{instance="a",kind="eviction"}': '1x40' },
    at: '6m',
    fires: { kind: 'eviction' },
  },
  {
    title: 'is quiet about a few BLOCKs after a day with none',
    alert: 'ScoringBlocksRise',
    series: { [GRANTS]: '0+10x5900', [BLOCKS]: '0x5700 1x20 2x20 3x20 4x20 5x20 6x20 7x20 8x20 9x40' },
    every: '5m',
    at: '24h30m',
    fires: null,
  },
  {
    title: 'tells that the share of BLOCK is twice that of a day ago',
    alert: 'ScoringBlocksRise',
    series: { [GRANTS]: '0+10x5900', [BLOCKS]: '0+1x5700 5700+5x200' },
    every: '5m',
    at: '24h30m',
    fires: {},
  },
  {
    title: 'tells of many BLOCKs also when nobody was blocked before',
    alert: 'ScoringBlocksRise',
    series: { [GRANTS]: '0+10x5900', [BLOCKS]: '_x5700 0+5x200' },
    every: '5m',
    at: '24h30m',
    fires: {},
  },
  {
    title: 'is quiet while the share of BLOCK is what it was a day ago',
    alert: 'ScoringBlocksRise',
    series: { [GRANTS]: '0+10x5900', [BLOCKS]: '0+5x5900' },
    every: '5m',
    at: '24h30m',
    fires: null,
  },
];

const RULES: { readonly groups: readonly { readonly rules: readonly AlertRule[] }[] } = parse(
  packaged('packaging/alerts.yaml'),
);

function ruleOf(alert: string): AlertRule {
  const rule = RULES.groups.flatMap(({ rules }) => rules).find((one) => one.alert === alert);
  if (rule === undefined) throw new Error(`no alert ${alert}`);
  return rule;
}

/** The alert as it is sent: promtool compares every label and text. */
function fired({ labels, annotations }: AlertRule, more: Readonly<Record<string, string>>) {
  const filled = Object.entries(annotations).map(([name, text]) => [
    name,
    text.replaceAll(/\{\{ \$labels\.(\w+) \}\}/g, (_, label: string) => more[label] ?? ''),
  ]);
  return { exp_labels: { ...labels, ...more }, exp_annotations: Object.fromEntries(filled) };
}

/** What promtool says about a case; null when it holds. */
function complaint({ alert, series, every = '15s', at, fires }: AlertCase, rulesFile: string): string | null {
  const file = join(temporaryDirectory(), 'case.yaml');
  const test = {
    interval: '15s',
    input_series: Object.entries(series).map(([name, values]) => ({ series: name, values })),
    alert_rule_test: [
      { eval_time: at, alertname: alert, exp_alerts: fires === null ? [] : [fired(ruleOf(alert), fires)] },
    ],
  };
  writeFileSync(file, stringify({ rule_files: [rulesFile], evaluation_interval: every, tests: [test] }));
  const { status, stdout, stderr } = spawnSync('promtool', ['test', 'rules', file]);
  return status === 0 ? null : `${stdout}${stderr}`;
}

describeWithServer('promtool', 'the alert rules', () => {
  const rulesFile = packagedPath('packaging/alerts.yaml');

  it('are taken by Prometheus', () => {
    const { status, stderr } = spawnSync('promtool', ['check', 'rules', rulesFile]);
    expect(status, stderr.toString()).to.equal(0);
  });

  for (const { title, ...alertCase } of CASES) {
    it(`${alertCase.alert} ${title}`, () => {
      expect(complaint({ title, ...alertCase }, rulesFile)).to.equal(null);
    });
  }

  it('would miss an outage if they forgot the series that are born with it', () => {
    const forgetful = join(temporaryDirectory(), 'alerts.yaml');
    writeFileSync(
      forgetful,
      packaged('packaging/alerts.yaml').replaceAll(/ unless (\S+) offset \dm/g, ' * 0'),
    );
    const born = CASES.find(({ title }) => title.startsWith('pages for several'));
    if (born === undefined) throw new Error('no case');
    expect(complaint(born, forgetful)).to.include('got:[]');
  });
});
