import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { parse, stringify } from 'yaml';
import { describeWithServer } from '../servers/needed-programs.ts';
import { temporaryDirectory } from '../servers/temporary-directory.ts';
import { call } from '../service/http-call.ts';
import { issueKey } from '../service/issued-key.ts';
import { type ServiceProcess, spawnService } from '../service/service-process.ts';
import { Tenant } from '../service/tenant.ts';
import { packaged, packagedPath } from './packaged.ts';

interface Alert extends Readonly<Record<'alert' | 'expr', string>> {
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<'summary' | 'description', string>>;
}

type Rules = { readonly groups: readonly { readonly rules: readonly Alert[] }[] };

interface Panel {
  readonly id: number;
  readonly title: string;
  readonly targets: readonly { readonly expr: string }[];
}

type Dashboard = { readonly panels: readonly Panel[] };

/** What a running service shows: the names of its metrics, and their labels. */
type Shown = Readonly<Record<'names' | 'labels', ReadonlySet<string>>>;

const RULES: Rules = parse(packaged('packaging/alerts.yaml'));
const ALERTS = RULES.groups.flatMap(({ rules }) => rules);
const DASHBOARD: Dashboard = JSON.parse(packaged('packaging/grafana-dashboard.json'));

/** The metrics that an expression asks for, `up` left out: Prometheus makes that one itself. */
function metricsIn(expression: string): readonly string[] {
  const bare = expression.replaceAll(/"[^"]*"/g, '').replaceAll(/\{[^}]*\}/g, '');
  return [...bare.matchAll(/\b(?:scoring|process|nodejs)_\w+/g)].map(([name]) => name);
}

/** `metric{label=` and `by (label)`: the labels that an expression asks for, but those of Prometheus. */
function labelsIn(expression: string): readonly string[] {
  const matched = [...expression.matchAll(/[{,]\s*(\w+)=~?"/g)].map(([, label]) => label ?? '');
  const grouped = [...expression.matchAll(/\bby \(([^)]*)\)/g)].flatMap(([, labels]) =>
    (labels ?? '').split(',').map((label) => label.trim()),
  );
  return [...matched, ...grouped].filter((label) => !['job', 'instance'].includes(label));
}

/** What a running service shows after some traffic: the names with their labels. */
async function scrape(service: ServiceProcess, dataDir: string): Promise<Shown> {
  const shop = new Tenant(service, await issueKey({ dataDir }));
  await shop.score({ clientHints: { honeypotTriggered: true } });
  for (let n = 0; n < 3; n++)
    await shop.verdict({ orderRef: `order-${n}` }, { 'Idempotency-Key': 'k'.repeat(n + 1) });
  await shop.verdict({ orderRef: 'order-0' }, { 'Idempotency-Key': 'k' });
  await shop.outcome('payer-1', 'order-0', 'PAID');
  const { body } = await call<string>('GET', `${service.platformUrl}/metrics`, {});
  // A counter that has not counted yet shows its help and type only.
  const types = [...body.matchAll(/^# TYPE (\w+) (\w+)$/gm)];
  const names = types.flatMap(([, name = '', type]) =>
    type === 'histogram' ? [`${name}_bucket`, `${name}_count`, `${name}_sum`] : [name],
  );
  const source = METRIC_SOURCES.map(packaged).join('\n');
  // They stand behind the text that says what a metric is, or in lists of their own.
  const declared = [...source.matchAll(/[[,]\s*'([a-z_]+)'(?=\s*[,\]])/g)].map(([, label]) => label ?? '');
  return { names: new Set(names), labels: new Set([...declared, 'le']) };
}

/** Where metrics and their labels are declared. */
const METRIC_SOURCES = [
  'src/checkout/metrics/metrics.ts',
  'src/workbench/monitoring/node-gauges.ts',
] as const;

describe('alerts and dashboard', () => {
  let service: ServiceProcess;
  let shown: Shown;
  before(async () => {
    const dataDir = temporaryDirectory();
    service = await spawnService(dataDir);
    shown = await scrape(service, dataDir);
  });
  after(() => service.stop());

  it('use only metrics that a running service shows', () => {
    const expressions = [
      ...ALERTS.map(({ alert, expr }) => ({ where: alert, expr })),
      ...DASHBOARD.panels.flatMap(({ title, targets }) =>
        targets.map(({ expr }) => ({ where: title, expr })),
      ),
    ];
    expect(expressions.length).to.be.above(25);
    const strangers = expressions.flatMap(({ where, expr }) => {
      const names = metricsIn(expr).filter((name) => !shown.names.has(name));
      const labels = labelsIn(expr).filter((label) => !shown.labels.has(label));
      return [...names, ...labels].map((what) => `${where}: ${what}`);
    });
    expect(strangers).to.deep.equal([]);
    const silent = expressions.filter(({ expr }) => metricsIn(expr).length === 0 && !/^up\{/.test(expr));
    expect(silent).to.deep.equal([]);
  });

  it('leave out no metric of the service', () => {
    const asked = new Set(
      DASHBOARD.panels.flatMap(({ targets }) => targets.flatMap(({ expr }) => metricsIn(expr))),
    );
    const own = [...shown.names].filter((name) => name.startsWith('scoring_') && !name.endsWith('_sum'));
    expect(own.filter((name) => !asked.has(name))).to.deep.equal([]);
  });

  it('would notice a metric that does not exist', () => {
    const expression = 'sum by (le, rule) (rate(scoring_nothing_total{operation="verdict"}[5m]))';
    expect(metricsIn(expression)).to.deep.equal(['scoring_nothing_total']);
    expect(labelsIn(expression)).to.deep.equal(['operation', 'le', 'rule']);
  });

  it('say where to look and what to do, with existing metrics', () => {
    for (const { annotations } of ALERTS) {
      expect(annotations.summary).to.match(/\S/);
      expect(annotations.description).to.match(/^.{20,} Do: .{20,}\.$/);
      expect(metricsIn(annotations.description).filter((name) => !shown.names.has(name))).to.deep.equal([]);
    }
    expect(new Set(ALERTS.map(({ alert }) => alert)).size).to.equal(ALERTS.length);
    expect(new Set(DASHBOARD.panels.map(({ id }) => id)).size).to.equal(DASHBOARD.panels.length);
  });
});

/** The series of a node as Prometheus labels them, with what else tells them apart. */
const labelled = (name: string, more = '') => `${name}{job="client-scoring",instance="a"${more}}`;
const answers = (kind: string, status: number, more = '') =>
  labelled(`scoring_request_duration_seconds_${kind}`, `,operation="verdict",status="${status}"${more}`);
const verdicts = (verdict: string, rule: string) =>
  labelled('scoring_verdicts_total', `,verdict="${verdict}",rule="${rule}",arm="active"`);

/** Short names for series. */
const SERIES: Readonly<Record<string, string>> = {
  UP: labelled('up'),
  BUILD: labelled('scoring_build_info'),
  STORE_ERRORS: labelled('scoring_store_errors_total', ',operation="verdict"'),
  FAULTS: answers('count', 500),
  ANSWERED: answers('count', 200),
  REFUSED: answers('count', 503),
  UNKNOWN: answers('count', 401),
  IN_TIME: answers('bucket', 200, ',le="0.25"'),
  SHED: labelled('scoring_shed_total', ',operation="score"'),
  GAP: labelled('scoring_archive_gap_entries'),
  LAG: 'scoring_archive_lag_seconds{instance="a"}',
  LEADS: 'scoring_archive_leads{instance="a"}',
  CERTIFICATE: 'scoring_certificate_ends_timestamp_seconds{instance="a",listener="caller"}',
  GRANTS: verdicts('GET_NEW', 'first'),
  BLOCKS: verdicts('BLOCK', 'chain'),
  STOPPED: labelled('scoring_reports_stopped', ',platform="shop"'),
};

/**
 * By title, whose first word is the alert: when it is looked at (and how often Prometheus looks at the rules, without
 * which it is every 15 s), whether it fires and with which labels beside its severity, and what Prometheus scrapes
 * every 15 s, in promtool's notation.
 */
const CASES: ReadonlyMap<string, string> = new Map(
  `
ScoringDown pages when a node is down for two minutes
  5m | instance=a, job=client-scoring | UP: 1x8 0x40
ScoringDown does not page for a node that restarts within a minute
  3m | quiet | UP: 1x8 0x3 1x40
ScoringAbsent pages when no node is known at all
  6m | job=client-scoring
ScoringAbsent is quiet while one is known
  6m | quiet | UP: 1x400 | BUILD: 1x400
ScoringStoreAway does not page for a single failure
  6m | quiet | STORE_ERRORS: 0x20 1x100
ScoringStoreAway does not page for a single failure whose series is born with it
  6m | quiet | STORE_ERRORS: _x20 1x100
ScoringStoreAway does not page for one burst, such as a failover of some seconds
  8m | quiet | STORE_ERRORS: 0x20 400x100
ScoringStoreAway pages for an outage that goes on
  8m | fires | STORE_ERRORS: 0x20 30+30x40
ScoringStoreAway pages for an outage that its series is born with
  7m30s | fires | STORE_ERRORS: _x20 30+30x40
ScoringErrors does not page for a single 500
  7m | quiet | FAULTS: _x20 1x100
ScoringErrors pages for several, also when the first of them are all that is known
  7m | fires | FAULTS: _x20 7x100
ScoringShedding pages when more than one of a hundred requests is refused for five minutes
  9m | fires | ANSWERED: 0+1500x60 | SHED: 0x8 30+30x60
ScoringShedding is quiet about the few that a burst costs
  9m | quiet | ANSWERED: 0+1500x60 | SHED: 0x8 30x60
ScoringStoreMemory pages before a Redis is full
  8m | server=Redis at r:6379 | scoring_store_memory_used_ratio{instance="a",server="Redis at r:6379"}: 0.8x8 0.9x40
ScoringOutcomesStopped pages for the platform whose reports stopped, whichever node saw it
  5m | platform=shop | STOPPED: 0x8 1x40 | scoring_reports_stopped{job="client-scoring",instance="b",platform="shop"}: 0x48
ScoringOutcomesStopped is quiet while reports come
  5m | quiet | STOPPED: 0x48
ScoringEmergency tells of a return in the last hour
  30m | fires | scoring_rollout_emergency_timestamp_seconds{instance="a"}: 60x400
ScoringEmergency is over after an hour, and quiet where there never was a return
  90m | quiet | scoring_rollout_emergency_timestamp_seconds{instance="a"}: 0x400
ScoringTooManyWaitsEnded names who was refused in the last hour
  30m | who=key 1 of ann | scoring_too_many_waits_ended_timestamp_seconds{instance="a",who="key 1 of ann"}: 60x400
ScoringClock tells of a clock that is off, whichever way
  6m | instance=a | scoring_store_clock_offset_seconds{instance="a"}: -15x40
ScoringClock tells of a clock that is no number
  7m | instance=a | scoring_store_clock_offset_seconds{instance="a"}: NaNx40
ScoringClock is quiet about a clock that is a second off
  6m | quiet | scoring_store_clock_offset_seconds{instance="a"}: 1x40
ScoringArchiveGap pages when the journal lost entries
  6m | fires | GAP: 0x20 500x40
ScoringArchiveGap pages when the series of the gap is born with it
  6m | fires | GAP: _x20 500x40
ScoringJournalFull pages before the journal is full
  6m | fires | scoring_journal_entries{instance="a"}: 100000+200000x40
ScoringJournalFull is quiet about what stays in the journal to look back over
  6m | quiet | scoring_journal_entries{instance="a"}: 130000x40
ScoringJournalFull pages before Redis is full of it
  5m | fires | scoring_journal_entries{instance="a"}: 1200000x40 | scoring_store_memory_used_ratio: 0.75x40
ScoringJournalFull is quiet about a Redis that payers fill
  5m | quiet | scoring_journal_entries{instance="a"}: 100000x40 | scoring_store_memory_used_ratio: 0.75x40
ScoringCannotShip tells when no node leads and entries wait
  15m | fires | LEADS: 1x8 0x80 | LAG: 5x8 5+15x80
ScoringCannotShip is quiet where another process ships
  14m | quiet | LEADS: 0x60 | LAG: 5x60
ScoringArchiveBehind goes by the node that sees the archive, not by one with another folder
  40m | quiet | LAG: 5x200 | scoring_archive_lag_seconds{instance="b"}: 5+15x200
ScoringArchiveBehind tells when every node sees it behind
  40m | fires | LAG: 5+15x200 | scoring_archive_lag_seconds{instance="b"}: 5+15x200
ScoringCannotShip tells of a node that cannot ship though another does
  11m | instance=b, reason=clock | scoring_archive_cannot_ship{instance="b",reason="clock"}: 1x80 | LEADS: 1x80
ScoringSetAside tells of an entry that nobody could read
  6m | fires | scoring_archive_set_aside_entries{instance="a"}: 0x20 1x40
ScoringListsStale tells of lists that stand still
  6m | instance=a | scoring_lists_age_seconds{instance="a"}: 0+15x40
ScoringListsStale is quiet about a stall of seconds
  3m | quiet | scoring_lists_age_seconds{instance="a"}: 0 15 30 45 0x40
ScoringCertificateEnds tells two weeks before
  1m | instance=a, listener=caller | CERTIFICATE: 1123200x10
ScoringCertificateEnds is quiet before that
  1m | quiet | CERTIFICATE: 1296000x10
ScoringUnavailable pages when failures come fourteen times too fast
  65m | fires | ANSWERED: 0+1500x300 | REFUSED: 0+30x300
ScoringUnavailable is quiet about a failover of ten seconds
  65m | quiet | ANSWERED: 0+1500x300 | REFUSED: 0x230 1000x70
ScoringUnavailableSlowly tells of a trickle that lasts
  6h10m every 1m | fires | ANSWERED: 0+1500x1600 | REFUSED: 0+10x1600
ScoringUnavailableSlowly is quiet about a trickle in the first hour that anybody sees
  1h every 1m | quiet | ANSWERED: 0+1500x1600 | REFUSED: 0+10x1600
ScoringVerySlow pages when a fifth of the verdicts is slow
  65m | fires | IN_TIME: 0+1200x300 | ANSWERED: 0+1500x300
ScoringVerySlow is quiet about one in a hundred
  65m | quiet | IN_TIME: 0+1485x300 | ANSWERED: 0+1500x300
ScoringArchiveGap is quiet about a gap of long ago
  90m | quiet | GAP: 500x400
ScoringStoreTakesNoWrites pages when a server takes no writes, also when nobody asks for verdicts
  5m | fires | scoring_store_servers_failing{instance="a"}: 0x8 1x40
ScoringStoreTakesNoWrites does not page for one look that failed and is a minute old
  3m30s | quiet | scoring_store_servers_failing{instance="a"}: 0x8 1x4 0x40
ScoringStorePromises opens a ticket for a promise that Redis does not keep
  6m | kind=eviction | scoring_store_warnings{instance="a",kind="eviction"}: 1x40
ScoringAnotherStore pages at once when a store is not the one that a node opened
  1m15s | fires,instance=a | scoring_store_another{instance="a"}: 0x4 1x40
ScoringAnotherStore is quiet once the known store is back
  5m | quiet | scoring_store_another{instance="a"}: 0x4 1x4 0x40
ScoringKeyLost pages when a node knows a key that the store has lost
  1m15s | fires | scoring_lost_keys{instance="a"}: 0x4 2x40
ScoringRefusedKeys pages when callers who were let in are refused
  20m | fires | ANSWERED: 0+15x60 900x100 | UNKNOWN: 0x60 0+15x100
ScoringRefusedKeys is quiet about a wrong key that was always there
  90m | quiet | ANSWERED: 0+150x400 | UNKNOWN: 0+15x400
ScoringRefusedKeys is quiet about a few wrong keys
  90m | quiet | ANSWERED: 0+150x400 | UNKNOWN: 0x300 0+1x100
ScoringStoreEvicts pages when a server begins to forget keys
  12m | fires,server=Redis at a | scoring_store_evicted_keys{instance="a",server="Redis at a"}: 0x40 7x40
ScoringStoreEvicts pages when a server is first seen after it began
  2m | fires,server=Redis at a | scoring_store_evicted_keys{instance="a",server="Redis at a"}: 7x40
ScoringStoreEvicts is quiet about keys that were forgotten long ago
  30m | quiet | scoring_store_evicted_keys{instance="a",server="Redis at a"}: 7x200
ScoringRolloutLost pages when the store has lost what a node follows
  3m | fires,instance=a | scoring_rollout_lost{instance="a"}: 0x4 1x40
ScoringRolloutLost is quiet once it was written back
  5m | quiet | scoring_rollout_lost{instance="a"}: 0x4 1x6 0x40
ScoringBlocksRise is quiet about a few BLOCKs after a day with none
  24h30m every 5m | quiet | GRANTS: 0+10x5900 | BLOCKS: 0x5700 1x20 2x20 3x20 4x20 5x20 6x20 7x20 8x20 9x40
ScoringBlocksRise tells that the share of BLOCK is twice that of a day ago
  24h30m every 5m | fires | GRANTS: 0+10x5900 | BLOCKS: 0+1x5700 5700+5x200
ScoringBlocksRise tells of many BLOCKs also when nobody was blocked before
  24h30m every 5m | fires | GRANTS: 0+10x5900 | BLOCKS: _x5700 0+5x200
ScoringBlocksRise is quiet while the share of BLOCK is what it was a day ago
  24h30m every 5m | quiet | GRANTS: 0+10x5900 | BLOCKS: 0+5x5900
`
    .matchAll(/^(\S.*)\n {2}(.*)$/gm)
    .map(([, title = '', what = '']) => [title, what]),
);

/** The alert as it is sent: promtool compares every label and text. */
function fired({ labels, annotations }: Alert, more: Readonly<Record<string, string>>) {
  const filled = Object.entries(annotations).map(([name, text]) => [
    name,
    text.replaceAll(/\{\{ \$labels\.(\w+) \}\}/g, (_, label: string) => more[label] ?? ''),
  ]);
  return { exp_labels: { ...labels, ...more }, exp_annotations: Object.fromEntries(filled) };
}

/** What promtool says about a case of one of the rules, which it is shown alone; null when it holds. */
function complaint(title: string, rules: Rules): string | null {
  const [times = '', fires = '', ...scraped] = CASES.get(title)?.split(' | ') ?? [];
  const [at, every = '15s'] = times.split(' every ');
  const labels = [...fires.matchAll(/(\w+)=([^,]+)/g)].map(([, name, value]) => [name, value]);
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
    input_series: scraped.map((text) => {
      const [name = '', values] = text.split(': ');
      return { series: SERIES[name] ?? name, values: values?.replace('NaNx40', 'NaN '.repeat(40)) };
    }),
    alert_rule_test: [
      {
        eval_time: at,
        alertname: alert,
        exp_alerts:
          fires === 'quiet'
            ? []
            : ALERTS.filter((one) => one.alert === alert).map((one) =>
                fired(one, Object.fromEntries(labels)),
              ),
      },
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

  for (const title of CASES.keys()) {
    it(title, () => {
      expect(complaint(title, RULES)).to.equal(null);
    });
  }

  it('would miss an outage without the series that begin with it', () => {
    const forgetful: Rules = parse(
      packaged('packaging/alerts.yaml').replaceAll(/ unless (\S+) offset \dm/g, ' * 0'),
    );
    const born = CASES.keys().find((title) => title.startsWith('ScoringErrors pages for several'));
    expect(complaint(born ?? 'no case', forgetful)).to.include('got:[]');
  });
});
