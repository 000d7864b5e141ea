import Router from '@koa/router';
import { expect } from 'chai';
import { AccessKeys } from '../../../src/access/access-keys.ts';
import { Audit } from '../../../src/access/audit.ts';
import { Sessions } from '../../../src/access/sessions.ts';
import { EventFeed } from '../../../src/archive/read/event-feed.ts';
import { EvidenceDesk } from '../../../src/evidence/desk/evidence-desk.ts';
import { callerApi, callerDocument } from '../../../src/http/caller/caller-api.ts';
import { servedDocument } from '../../../src/http/openapi/docs.ts';
import { platformApi } from '../../../src/http/platform/platform-api.ts';
import { platformDocument } from '../../../src/http/platform/platform-operations.ts';
import { WorkLimit } from '../../../src/http/server/overload.ts';
import { ListEditor } from '../../../src/lists/list-editor.ts';
import { ListNode } from '../../../src/lists/list-node.ts';
import { createLog } from '../../../src/log.ts';
import { Metrics } from '../../../src/metrics/metrics.ts';
import { ReportingWatch } from '../../../src/metrics/reporting.ts';
import { hmacPseudonym, platformNames } from '../../../src/pseudonym.ts';
import { Fleet } from '../../../src/rollout/fleet.ts';
import { Erasure } from '../../../src/service/erasure.ts';
import { Records } from '../../../src/service/records.ts';
import { ScoringService } from '../../../src/service/scoring.ts';
import { startQuietNode } from '../../rollout/quiet-node.ts';
import { rulesDirectory } from '../../rollout/rule-folders.ts';
import { MovableClock } from '../../service/movable-clock.ts';
import { NO_RATE_LIMIT, SIGNAL_SECRET } from '../../service/running-service.ts';
import { temporarySqlite } from '../../stores/temporary-store.ts';
import { disagreements, operationsOf, routersOf, routesOf } from './described-routes.ts';

const BASE_PATH = '/pay';

/** The documents, and the page of the platform's listener that shows both: without a key, and about nobody. */
const DOCUMENTATION = [
  '/openapi.json',
  '/docs',
  '/docs/',
  '/docs/callers.json',
  '/docs/facts',
  '/docs/columns',
  '/docs/codes',
  '/docs/initializer.js',
  '/docs/swagger-ui.css',
  '/docs/swagger-ui-bundle.js',
];

const CALLER_FILES = [`GET ${BASE_PATH}/openapi.json`];
/** The console is a page of files, whatever their names are; what it shows comes from operations. */
function platformFiles(routes: readonly string[]): readonly string[] {
  const page = routes.filter((route) => route === 'GET /' || route.startsWith('GET /console/'));
  return [...DOCUMENTATION.map((path) => `GET ${path}`), ...page];
}

describe('routes and API documents', () => {
  const ends: (() => Promise<void>)[] = [];
  let callerRoutes: readonly string[];
  let platformRoutes: readonly string[];

  before(async () => {
    const opened = temporarySqlite();
    const { store } = opened;
    const clock = new MovableClock().now;
    const rulesDir = rulesDirectory();
    const fleet = new Fleet(store);
    const node = await startQuietNode(store, rulesDir, clock);
    ends.push(() => node.stop(), opened.remove);
    const metrics = new Metrics();
    const reporting = new ReportingWatch({ registers: store.registers, clock, onTrouble: () => {} });
    const pseudonym = hmacPseudonym(SIGNAL_SECRET);
    const shared = {
      store,
      clock,
      metrics,
      pseudonym,
      names: platformNames(SIGNAL_SECRET),
      ruleSource: node,
      keys: new AccessKeys(store.documents, clock),
      log: createLog('silent'),
      clientKeys: store.clientKeys,
      rateLimit: NO_RATE_LIMIT,
      basePath: BASE_PATH,
      document: servedDocument(callerDocument(BASE_PATH)),
    };
    const service = new ScoringService(shared);
    const audit = new Audit(store.auditLog, clock);
    const lists = new ListNode({ listLog: store.listLog, clock });
    const callers = callerApi({
      ...shared,
      service,
      rateBuckets: store.rateBuckets,
      workLimit: new WorkLimit(),
    });
    const listEditor = new ListEditor({ ...shared, listLog: store.listLog, node: lists, audit });
    const records = new Records(shared);
    const platform = platformApi({
      ...shared,
      callerDocument: shared.document,
      caller: { host: '127.0.0.1', port: 0 },
      sessions: new Sessions(store.documents, shared.keys, [], clock),
      service,
      audit,
      lists,
      listEditor,
      erasure: new Erasure({ ...shared, service, listEditor, audit }),
      records,
      feed: new EventFeed(store, null),
      reporting: (name) => reporting.of(name),
      rulesDir,
      readiness: async () => ({ ready: true }),
      rollout: { fleet, loadedRules: node.rules, report: () => node.report() },
      evidence: new EvidenceDesk({
        past: null,
        rulesDir,
        signalSecret: SIGNAL_SECRET,
        store,
        clock,
        onTrouble: () => {},
      }),
    });
    callerRoutes = routesOf(routersOf(callers));
    platformRoutes = routesOf(routersOf(platform));
  });
  after(async () => {
    for (const end of ends) await end();
  });

  it('agree on the listener for callers', () => {
    const operations = operationsOf(callerDocument(BASE_PATH), BASE_PATH);
    expect(operations.length).to.be.at.least(2);
    expect(disagreements(callerRoutes, operations, CALLER_FILES)).to.deep.equal([]);
  });

  it('agree on the listener for the platform', () => {
    const operations = operationsOf(platformDocument());
    expect(operations.length).to.be.above(20);
    expect(disagreements(platformRoutes, operations, platformFiles(platformRoutes))).to.deep.equal([]);
  });

  it('differ when a route is not described', () => {
    const secret = new Router({ prefix: '/v1/platform' });
    secret.put('/secrets/:name', () => {});
    const routes = [...platformRoutes, ...routesOf([secret])];
    expect(
      disagreements(routes, operationsOf(platformDocument()), platformFiles(platformRoutes)),
    ).to.deep.equal(['PUT /v1/platform/secrets/{name} is not in the document']);
  });

  it('differ when an operation has no route with its method and parameter name', () => {
    const routes = platformRoutes.filter((route) => route !== 'GET /v1/platform/decisions/{decisionId}');
    const renamed = [...routes, 'GET /v1/platform/decisions/{id}', 'POST /livez'];
    expect(
      disagreements(renamed, operationsOf(platformDocument()), platformFiles(platformRoutes)),
    ).to.deep.equal([
      'GET /v1/platform/decisions/{id} is not in the document',
      'POST /livez is not in the document',
      'GET /v1/platform/decisions/{decisionId} has no route',
    ]);
  });

  it('differ when a file is missing, or is described after all', () => {
    const files = [...platformFiles(platformRoutes), 'GET /gone.js', 'GET /livez'];
    expect(disagreements(platformRoutes, operationsOf(platformDocument()), files)).to.deep.equal([
      'GET /gone.js is left out, and has no route',
      'GET /livez is left out and described',
    ]);
  });
});
