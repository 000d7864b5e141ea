import { expect } from 'chai';
import { parse } from 'yaml';
import { temporaryDirectory } from '../servers/temporary-directory.ts';
import { call } from '../service/http-call.ts';
import { issueKey } from '../service/issued-key.ts';
import { type ServiceProcess, spawnService } from '../service/service-process.ts';
import { Tenant } from '../service/tenant.ts';
import { packaged } from './packaged.ts';

interface Alert extends Readonly<Record<'alert' | 'expr', string>> {
  readonly annotations: Readonly<Record<'summary' | 'description', string>>;
}

type AlertFile = { readonly groups: readonly { readonly rules: readonly Alert[] }[] };

interface Panel {
  readonly id: number;
  readonly title: string;
  readonly targets: readonly { readonly expr: string }[];
}

type Dashboard = { readonly panels: readonly Panel[] };

/** What a running service shows: the names of its metrics, and their labels. */
type Shown = Readonly<Record<'names' | 'labels', ReadonlySet<string>>>;

const ALERT_FILE: AlertFile = parse(packaged('packaging/alerts.yaml'));
const ALERTS = ALERT_FILE.groups.flatMap(({ rules }) => rules);
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
  const declared = [...source.matchAll(/\[((?:\s*'\w+',?)+\s*)\]/g)].flatMap(([, list]) =>
    [...(list ?? '').matchAll(/'(\w+)'/g)].map(([, label]) => label ?? ''),
  );
  return { names: new Set(names), labels: new Set([...declared, 'le']) };
}

/** Where metrics and their labels are declared. */
const METRIC_SOURCES = ['src/metrics/metrics.ts', 'src/metrics/node-gauges.ts'] as const;

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
