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

/** Of the alert that its name begins with. */
type AlertCase = readonly [
  /** What Prometheus scrapes every 15 s, in promtool's notation. */
  series: Readonly<Record<string, string>>,
  /** When it is looked at. */
  at: string,
  /** The labels that it fires with, beside its severity; null when it does not fire. */
  fires: Readonly<Record<string, string>> | null,
  /** How often Prometheus looks at the rules. */
  every?: string,
];

const UP = 'up{job="client-scoring",instance="a"}';
const BUILD = 'scoring_build_info{job="client-scoring",instance="a"}';
const STORE_ERRORS = 'scoring_store_errors_total{job="client-scoring",instance="a",operation="verdict"}';
const FAULTS =
  'scoring_request_duration_seconds_count{job="client-scoring",instance="a",operation="verdict",status="500"}';
const ANSWERED =
  'scoring_request_duration_seconds_count{job="client-scoring",instance="a",operation="verdict",status="200"}';
const SHED = 'scoring_shed_total{job="client-scoring",instance="a",operation="score"}';
const GAP = 'scoring_archive_gap_entries{job="client-scoring",instance="a"}';
const LAG = 'scoring_archive_lag_seconds{instance="a"}';
const LEADS = 'scoring_archive_leads{instance="a"}';
const CERTIFICATE = 'scoring_certificate_ends_timestamp_seconds{instance="a",listener="caller"}';
const REFUSED =
  'scoring_request_duration_seconds_count{job="client-scoring",instance="a",operation="verdict",status="503"}';
const IN_TIME =
  'scoring_request_duration_seconds_bucket{job="client-scoring",instance="a",operation="verdict",status="200",le="0.25"}';

const GRANTS =
  'scoring_verdicts_total{job="client-scoring",instance="a",verdict="GET_NEW",rule="first",arm="active"}';
const BLOCKS =
  'scoring_verdicts_total{job="client-scoring",instance="a",verdict="BLOCK",rule="chain",arm="active"}';

/** A node that is there and well. */
const WELL = { [UP]: '1x400', [BUILD]: '1x400' };

const STOPPED = 'scoring_reports_stopped{job="client-scoring",instance="a",platform="shop"}';

const CASES: Readonly<Record<string, AlertCase>> = {
  'ScoringDown pages when a node is down for two minutes': [
    { [UP]: '1x8 0x40' },
    '5m',
    { instance: 'a', job: 'client-scoring' },
  ],
  'ScoringDown does not page for a node that restarts within a minute': [
    { [UP]: '1x8 0x3 1x40' },
    '3m',
    null,
  ],
  'ScoringAbsent pages when no node is known at all': [{}, '6m', { job: 'client-scoring' }],
  'ScoringAbsent is quiet while one is known': [WELL, '6m', null],
  'ScoringStoreAway does not page for a single failure': [{ [STORE_ERRORS]: '0x20 1x100' }, '6m', null],
  'ScoringStoreAway does not page for a single failure whose series is born with it': [
    { [STORE_ERRORS]: '_x20 1x100' },
    '6m',
    null,
  ],
  'ScoringStoreAway does not page for one burst, such as a failover of some seconds': [
    { [STORE_ERRORS]: '0x20 400x100' },
    '8m',
    null,
  ],
  'ScoringStoreAway pages for an outage that goes on': [{ [STORE_ERRORS]: '0x20 30+30x40' }, '8m', {}],
  'ScoringStoreAway pages for an outage that its series is born with': [
    { [STORE_ERRORS]: '_x20 30+30x40' },
    '7m30s',
    {},
  ],
  'ScoringErrors does not page for a single 500': [{ [FAULTS]: '_x20 1x100' }, '7m', null],
  'ScoringErrors pages for several, also when the first of them are all that is known': [
    { [FAULTS]: '_x20 7x100' },
    '7m',
    {},
  ],
  'ScoringShedding pages when more than one of a hundred requests is refused for five minutes': [
    { [ANSWERED]: '0+1500x60', [SHED]: '0x8 30+30x60' },
    '9m',
    {},
  ],
  'ScoringShedding is quiet about the few that a burst costs': [
    { [ANSWERED]: '0+1500x60', [SHED]: '0x8 30x60' },
    '9m',
    null,
  ],
  'ScoringStoreMemory pages before a Redis is full': [
    { 'scoring_store_memory_used_ratio{instance="a",server="Redis at r:6379"}': '0.8x8 0.9x40' },
    '8m',
    { server: 'Redis at r:6379' },
  ],
  'ScoringOutcomesStopped pages for the platform whose reports stopped, whichever node saw it': [
    { [STOPPED]: '0x8 1x40', [STOPPED.replace('"a"', '"b"')]: '0x48' },
    '5m',
    { platform: 'shop' },
  ],
  'ScoringOutcomesStopped is quiet while reports come': [{ [STOPPED]: '0x48' }, '5m', null],
  'ScoringEmergency tells of a return in the last hour': [
    { 'scoring_rollout_emergency_timestamp_seconds{instance="a"}': '60x400' },
    '30m',
    {},
  ],
  'ScoringEmergency is over after an hour, and quiet where there never was a return': [
    { 'scoring_rollout_emergency_timestamp_seconds{instance="a"}': '0x400' },
    '90m',
    null,
  ],
  'ScoringTooManyWaitsEnded names who was refused in the last hour': [
    { 'scoring_too_many_waits_ended_timestamp_seconds{instance="a",who="key 1 of ann"}': '60x400' },
    '30m',
    { who: 'key 1 of ann' },
  ],
  'ScoringClock tells of a clock that is off, whichever way': [
    { 'scoring_store_clock_offset_seconds{instance="a"}': '-15x40' },
    '6m',
    { instance: 'a' },
  ],
  'ScoringClock tells of a clock that is no number': [
    { 'scoring_store_clock_offset_seconds{instance="a"}': 'NaN '.repeat(40) },
    '7m',
    { instance: 'a' },
  ],
  'ScoringClock is quiet about a clock that is a second off': [
    { 'scoring_store_clock_offset_seconds{instance="a"}': '1x40' },
    '6m',
    null,
  ],
  'ScoringArchiveGap pages when the journal lost entries': [{ [GAP]: '0x20 500x40' }, '6m', {}],
  'ScoringArchiveGap pages when the series of the gap is born with it': [{ [GAP]: '_x20 500x40' }, '6m', {}],
  'ScoringJournalFull pages before the journal is full': [
    { 'scoring_journal_entries{instance="a"}': '100000+200000x40' },
    '6m',
    {},
  ],
  'ScoringJournalFull is quiet about what stays in the journal to look back over': [
    { 'scoring_journal_entries{instance="a"}': '130000x40' },
    '6m',
    null,
  ],
  'ScoringJournalFull pages before Redis is full of it': [
    { 'scoring_journal_entries{instance="a"}': '1200000x40', scoring_store_memory_used_ratio: '0.75x40' },
    '5m',
    {},
  ],
  'ScoringJournalFull is quiet about a Redis that payers fill': [
    { 'scoring_journal_entries{instance="a"}': '100000x40', scoring_store_memory_used_ratio: '0.75x40' },
    '5m',
    null,
  ],
  'ScoringCannotShip tells when no node leads and entries wait': [
    { [LEADS]: '1x8 0x80', [LAG]: '5x8 5+15x80' },
    '15m',
    {},
  ],
  'ScoringCannotShip is quiet where another process ships': [{ [LEADS]: '0x60', [LAG]: '5x60' }, '14m', null],
  'ScoringArchiveBehind goes by the node that sees the archive, not by one with another folder': [
    { [LAG]: '5x200', 'scoring_archive_lag_seconds{instance="b"}': '5+15x200' },
    '40m',
    null,
  ],
  'ScoringArchiveBehind tells when every node sees it behind': [
    { [LAG]: '5+15x200', 'scoring_archive_lag_seconds{instance="b"}': '5+15x200' },
    '40m',
    {},
  ],
  'ScoringCannotShip tells of a node that cannot ship though another does': [
    { 'scoring_archive_cannot_ship{instance="b",reason="clock"}': '1x80', [LEADS]: '1x80' },
    '11m',
    { instance: 'b', reason: 'clock' },
  ],
  'ScoringSetAside tells of an entry that nobody could read': [
    { 'scoring_archive_set_aside_entries{instance="a"}': '0x20 1x40' },
    '6m',
    {},
  ],
  'ScoringListsStale tells of lists that stand still': [
    { 'scoring_lists_age_seconds{instance="a"}': '0+15x40' },
    '6m',
    { instance: 'a' },
  ],
  'ScoringListsStale is quiet about a stall of seconds': [
    { 'scoring_lists_age_seconds{instance="a"}': '0 15 30 45 0x40' },
    '3m',
    null,
  ],
  'ScoringCertificateEnds tells two weeks before': [
    { [CERTIFICATE]: `${13 * 86_400}x10` },
    '1m',
    { instance: 'a', listener: 'caller' },
  ],
  'ScoringCertificateEnds is quiet before that': [{ [CERTIFICATE]: `${15 * 86_400}x10` }, '1m', null],
  'ScoringUnavailable pages when failures come fourteen times too fast': [
    { [ANSWERED]: '0+1500x300', [REFUSED]: '0+30x300' },
    '65m',
    {},
  ],
  'ScoringUnavailable is quiet about a failover of ten seconds': [
    { [ANSWERED]: '0+1500x300', [REFUSED]: '0x230 1000x70' },
    '65m',
    null,
  ],
  'ScoringUnavailableSlowly tells of a trickle that lasts': [
    { [ANSWERED]: '0+1500x1600', [REFUSED]: '0+10x1600' },
    '6h10m',
    {},
    '1m',
  ],
  'ScoringVerySlow pages when a fifth of the verdicts is slow': [
    { [IN_TIME]: '0+1200x300', [ANSWERED]: '0+1500x300' },
    '65m',
    {},
  ],
  'ScoringVerySlow is quiet about one in a hundred': [
    { [IN_TIME]: '0+1485x300', [ANSWERED]: '0+1500x300' },
    '65m',
    null,
  ],
  'ScoringArchiveGap is quiet about a gap of long ago': [{ [GAP]: '500x400' }, '90m', null],
  'ScoringStoreTakesNoWrites pages when a server takes no writes, also when nobody asks for verdicts': [
    { 'scoring_store_servers_failing{instance="a"}': '0x8 1x40' },
    '5m',
    {},
  ],
  'ScoringStoreTakesNoWrites does not page for one look that failed and is a minute old': [
    { 'scoring_store_servers_failing{instance="a"}': '0x8 1x4 0x40' },
    '3m30s',
    null,
  ],
  'ScoringStorePromises opens a ticket for a promise that Redis does not keep': [
    { 'scoring_store_warnings{instance="a",kind="eviction"}': '1x40' },
    '6m',
    { kind: 'eviction' },
  ],
  'ScoringBlocksRise is quiet about a few BLOCKs after a day with none': [
    { [GRANTS]: '0+10x5900', [BLOCKS]: '0x5700 1x20 2x20 3x20 4x20 5x20 6x20 7x20 8x20 9x40' },
    '24h30m',
    null,
    '5m',
  ],
  'ScoringBlocksRise tells that the share of BLOCK is twice that of a day ago': [
    { [GRANTS]: '0+10x5900', [BLOCKS]: '0+1x5700 5700+5x200' },
    '24h30m',
    {},
    '5m',
  ],
  'ScoringBlocksRise tells of many BLOCKs also when nobody was blocked before': [
    { [GRANTS]: '0+10x5900', [BLOCKS]: '_x5700 0+5x200' },
    '24h30m',
    {},
    '5m',
  ],
  'ScoringBlocksRise is quiet while the share of BLOCK is what it was a day ago': [
    { [GRANTS]: '0+10x5900', [BLOCKS]: '0+5x5900' },
    '24h30m',
    null,
    '5m',
  ],
};

interface Rules {
  readonly groups: readonly { readonly rules: readonly AlertRule[] }[];
}

const RULES: Rules = parse(packaged('packaging/alerts.yaml'));

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

/** What promtool says about a case of one of the rules, which it is shown alone; null when it holds. */
function complaint(title: string, rules: Rules): string | null {
  const [series, at, fires, every = '15s'] = CASES[title] ?? [{}, '', null];
  const [alert = ''] = title.split(' ');
  const folder = temporaryDirectory();
  const [file, rulesFile] = [join(folder, 'case.yaml'), join(folder, 'rules.yaml')];
  // To work out all of them every 15 s of some hours takes seconds.
  const one = rules.groups.map((group) => ({
    ...group,
    rules: group.rules.filter((rule) => rule.alert === alert),
  }));
  writeFileSync(rulesFile, stringify({ groups: one }));
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
  it('are accepted by Prometheus', () => {
    const { status, stderr } = spawnSync('promtool', [
      'check',
      'rules',
      packagedPath('packaging/alerts.yaml'),
    ]);
    expect(status, stderr.toString()).to.equal(0);
  });

  for (const title of Object.keys(CASES)) {
    it(title, () => {
      expect(complaint(title, RULES)).to.equal(null);
    });
  }

  it('would miss an outage without the series that begin with it', () => {
    const forgetful: Rules = parse(
      packaged('packaging/alerts.yaml').replaceAll(/ unless (\S+) offset \dm/g, ' * 0'),
    );
    const born = Object.keys(CASES).find((title) => title.startsWith('ScoringErrors pages for several'));
    expect(complaint(born ?? 'no case', forgetful)).to.include('got:[]');
  });
});
