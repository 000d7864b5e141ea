import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { INSTALLATION, OPERATIONS, type Operation } from '../../src/access/access-keys.ts';
import { Audit, type AuditEntry } from '../../src/access/audit.ts';
import { type Application, startApplication } from '../../src/application.ts';
import { ArchiveReader } from '../../src/archive/read/archive-reader.ts';
import { openShipper } from '../../src/archive/ship/open-shipper.ts';
import { platformName } from '../../src/client/client-key.ts';
import { EvidenceDesk } from '../../src/evidence/desk/evidence-desk.ts';
import { createLog } from '../../src/log.ts';
import { Fleet } from '../../src/rollout/fleet.ts';
import { LoadedRules } from '../../src/rollout/loaded-rules.ts';
import { RolloutNode } from '../../src/rollout/rollout-node.ts';
import { makeRelease } from '../../src/rules/folder/release.ts';
import { readRuleFiles } from '../../src/rules/folder/rule-folder.ts';
import { openSqliteStore } from '../../src/state/sqlite/store.ts';

/** A node with an hour of a shop's life behind it, three versions on its disk, and one of them on trial. */
export interface SeededConsole {
  /** The page, with a slash at its end. */
  readonly url: string;
  readonly callerUrl: string;
  readonly platformUrl: string;
  /** What a command needs to reach the same store and rule sets. */
  readonly environment: { readonly DATA_DIR: string; readonly RULES_DIR: string };
  /** A key of the shop for every operation that a platform's key may have. */
  readonly key: string;
  /** A key of the installation, which rolls versions out. */
  readonly operatorKey: string;
  /** A key of the shop for these operations. */
  keyFor(...operations: readonly Operation[]): Promise<string>;
  revoke(key: string): Promise<void>;
  /** Who changed what, oldest first. */
  audit(): Promise<readonly AuditEntry[]>;
  stop(): Promise<void>;
}

const MINUTES = 60;

/** More than a test or a picture makes. */
const AUDIT_ENTRIES_MAX = 1000;

const DAY_MS = 24 * 3_600_000;

const FIRST_VERSION = join(import.meta.dirname, '..', '..', 'rules', 'p2.v10');

interface Edit {
  readonly file: string;
  readonly from: string;
  readonly to: string;
}

/** What p2.v11 does otherwise: a longer first wait, and two seconds of patience. */
const EDITS: readonly Edit[] = [
  { file: 'ladder.yaml', from: '[30s', to: '[40s' },
  {
    file: 'verdicts.yaml',
    from: '{ fact: waitRemainingSeconds, operator: greaterThan, value: 0 }',
    to: '{ fact: waitRemainingSeconds, operator: greaterThan, value: 2 }',
  },
];

/** What makes p2.v12 unsound. */
const MISTAKE: Edit = { file: 'verdicts.yaml', from: 'fact: attemptOpen', to: 'fact: atemptOpen' };

export async function startSeededConsole(): Promise<SeededConsole> {
  const clock = new CatchingUpClock(MINUTES);
  const folder = mkdtempSync(join(tmpdir(), 'seeded-console-'));
  const rulesDir = join(folder, 'rules');
  cpSync(FIRST_VERSION, join(rulesDir, 'p2.v10'), { recursive: true });
  addVersion(rulesDir, 'p2.v11', EDITS);
  addVersion(rulesDir, 'p2.v12', [MISTAKE]);
  const store = openSqliteStore(folder);
  const fleet = new Fleet(store);
  const node = await RolloutNode.start({
    fleet,
    rulesDir,
    dataDir: folder,
    firstVersion: (await LoadedRules.read(rulesDir)).all()[0]?.version ?? null,
    clock: clock.now,
    onTrouble: () => {},
  });
  const archiveDir = join(folder, 'archive');
  const archive = new ArchiveReader(archiveDir, store);
  const onTrouble = (message: string) => console.error(message);
  const desk = { archiveDir, rulesDir, store, clock: clock.now, onTrouble };
  const application = await startApplication({
    ...SETTINGS,
    store,
    archive,
    evidence: new EvidenceDesk(desk),
    clock: clock.now,
    ruleSource: node,
    rollout: { fleet, loadedRules: node.rules, report: () => node.report() },
    rulesDir,
  });
  const keyFor = async (...operations: readonly Operation[]) =>
    (await application.keys.issue(platformName('shop'), operations, null)).key;
  const key = await keyFor(...OPERATIONS);
  const { key: operatorKey } = await application.keys.issue(INSTALLATION, OPERATIONS, null, 'maria');
  await seed(new Shop(application, key), new Shop(application, operatorKey), clock);
  await shipAll(folder, rulesDir);
  return {
    url: `${application.platformUrl}/`,
    callerUrl: application.callerUrl,
    platformUrl: application.platformUrl,
    environment: { DATA_DIR: folder, RULES_DIR: rulesDir },
    key,
    operatorKey,
    keyFor,
    revoke: async (key) => {
      await application.keys.revoke(key.split('_')[1] ?? '');
    },
    audit: async () => (await new Audit(store.auditLog, clock.now).read(null, AUDIT_ENTRIES_MAX)).entries,
    stop: async () => {
      await application.drain();
      await node.stop();
      await archive.close();
      await store.close();
      rmSync(folder, { recursive: true });
    },
  };
}

const SETTINGS = {
  signalSecret: 'for pictures and tests only',
  rateLimit: { ratePerSecond: 0, burst: 20, trustedProxies: 0 },
  basePath: '',
  caller: { host: '127.0.0.1', port: 0 },
  platform: { host: '127.0.0.1', port: 0 },
  log: createLog('silent'),
} as const;

/** Ships all that happened to the archive, which the service only reads. */
async function shipAll(dataDir: string, rulesDir: string): Promise<void> {
  const archiveDir = join(dataDir, 'archive');
  const { shipper, close } = await openShipper(
    {
      archiveDir,
      archiveKeepMs: 400 * DAY_MS,
      decisionsHotMs: 7 * DAY_MS,
      rulesDir,
      dataDir,
      redisUrl: null,
    },
    (error) => console.error(error),
  );
  try {
    for (let did = ''; did !== 'nothing'; ) ({ did } = await shipper.step());
  } finally {
    await close();
  }
}

/** Adds a version made from p2.v10 with texts replaced, and releases it. */
function addVersion(rulesDir: string, version: string, edits: readonly Edit[]): void {
  const folder = join(rulesDir, version);
  cpSync(FIRST_VERSION, folder, { recursive: true });
  rmSync(join(folder, 'cases'), { recursive: true });
  for (const edit of [
    { file: 'ruleset.yaml', from: 'ruleVersion: p2.v10', to: `ruleVersion: ${version}` },
    ...edits,
  ]) {
    const path = join(folder, edit.file);
    const text = readFileSync(path, 'utf8');
    if (!text.includes(edit.from)) throw new Error(`${edit.file} does not contain ${edit.from}`);
    writeFileSync(path, text.replace(edit.from, edit.to));
  }
  const files = readRuleFiles(folder, []) ?? new Map<string, string>();
  writeFileSync(join(folder, 'release.json'), JSON.stringify(makeRelease(version, files, new Date(0))));
}

/** What the shop's checkout and its back office send; a refusal is part of life. */
class Shop {
  readonly #urls: Pick<Application, 'callerUrl' | 'platformUrl'>;
  readonly #key: string;

  constructor(urls: Pick<Application, 'callerUrl' | 'platformUrl'>, key: string) {
    this.#urls = urls;
    this.#key = key;
  }

  score(body: object): Promise<void> {
    const ordinary = { sellPointKey: 'shop-1', amountRequested: '25.00', selectedMethodKey: 'card' };
    return this.#send('POST', `${this.#urls.callerUrl}/v1/client/score`, { ...ordinary, ...body });
  }

  verdict(body: object): Promise<void> {
    const ordinary = { sellPointKey: 'shop-1', amountRequested: '25.00', method: 'card' };
    return this.#send('POST', `${this.#urls.callerUrl}/v1/client/verdict`, { ...ordinary, ...body });
  }

  outcome(clientIdKey: string, orderRef: string, outcome: 'PAID' | 'UNPAID'): Promise<void> {
    return this.tell('POST', 'outcomes', { clientIdKey, orderRef, outcome });
  }

  tell(method: string, path: string, body: object): Promise<void> {
    return this.#send(method, `${this.#urls.platformUrl}/v1/platform/${path}`, body);
  }

  async #send(method: string, url: string, body: object): Promise<void> {
    const headers = { 'Content-Type': 'application/json', 'X-KA-Access-Key': this.#key };
    const answer = await fetch(url, { method, headers, body: JSON.stringify(body) });
    const text = await answer.text();
    if (!answer.ok && answer.status !== 400) throw new Error(`${method} ${url} was refused: ${text}`);
  }
}

/** Begins some minutes ago, is moved towards the present, and never passes it. */
class CatchingUpClock {
  #behindMs: number;

  constructor(minutes: number) {
    this.#behindMs = minutes * 60_000 - 30_000;
  }

  readonly now = (): number => Date.now() - this.#behindMs;

  moveSeconds(seconds: number): void {
    this.#behindMs = Math.max(0, this.#behindMs - seconds * 1000);
  }
}

/** The same life every time: first decided by people, then by chance that is not chance. */
async function seed(shop: Shop, operator: Shop, clock: CatchingUpClock): Promise<void> {
  await shop.tell('PUT', 'clients/regular-anna/binding', {
    requisiteRef: 'requisite-7',
    acceptorKeys: ['acceptor-1', 'acceptor-2'],
  });
  await shop.tell('PUT', 'clients/chargeback-carl/override', {
    group: 'BLOCKED',
    reason: 'three chargebacks in a month',
    by: 'maria',
  });
  await shop.score({ clientIdKey: 'trap-tom', userAgent: 'x', clientHints: { honeypotTriggered: true } });
  const chance = new Chance();
  for (let minute = 0; minute < MINUTES; minute++) {
    if (minute === 25) await startTrial(operator);
    const payers = 3 + chance.below(4) + Math.round(2 * Math.sin(minute / 8));
    for (let payer = 0; payer < payers; payer++) await visit(shop, chance, `${minute}-${payer}`);
    await ladderStory(shop, minute);
    clock.moveSeconds(60);
  }
}

function startTrial(operator: Shop): Promise<void> {
  const reason = 'try a longer first wait';
  return operator.tell('POST', 'rules/rollout', { version: 'p2.v11', mode: 'shadow', reason });
}

const SPECIAL = ['regular-anna', 'chargeback-carl', 'trap-tom'];

/** A payer comes, perhaps asks again too early, and perhaps pays. */
async function visit(shop: Shop, chance: Chance, name: string): Promise<void> {
  const clientIdKey = chance.below(6) === 0 ? (SPECIAL[chance.below(3)] ?? '') : `payer-${chance.below(70)}`;
  const orderRef = `order-${name}`;
  const amountRequested = `${10 + chance.below(190)}.00`;
  await shop.score({
    clientIdKey,
    amountRequested,
    userAgent: USER_AGENT,
    clientHints: { jsOk: chance.below(12) > 0 },
  });
  await shop.verdict({ clientIdKey, orderRef, amountRequested });
  if (chance.below(4) === 0)
    await shop.verdict({ clientIdKey, orderRef, amountRequested, method: 'transfer' });
  if (chance.below(6) === 0) await shop.verdict({ clientIdKey, orderRef, amountRequested });
  if (chance.below(40) === 0) await shop.verdict({ clientIdKey });
  if (chance.below(10) < 6)
    await shop.outcome(clientIdKey, orderRef, chance.below(5) > 0 ? 'PAID' : 'UNPAID');
}

/** The payer whom pages and pictures are about: pays, comes back, asks too early, waits, and asks again. */
async function ladderStory(shop: Shop, minute: number): Promise<void> {
  const clientIdKey = 'impatient-ivan';
  const ask = (orderRef: string) => shop.verdict({ clientIdKey, orderRef });
  switch (minute) {
    case 4:
      await shop.score({ clientIdKey, userAgent: USER_AGENT, clientHints: { jsOk: true } });
      await ask('order-ivan-1');
      await shop.outcome(clientIdKey, 'order-ivan-1', 'PAID');
      return;
    case 22:
    case 23:
    case 25:
    case 26:
    case 28:
      await ask('order-ivan-2');
      return;
    case 29:
      await shop.outcome(clientIdKey, 'order-ivan-2', 'PAID');
      return;
    case 30:
    case 31:
    case 41:
      await ask('order-ivan-3');
      return;
    case 47:
      await shop.tell('POST', 'outcomes', {
        clientIdKey,
        orderRef: 'order-ivan-3',
        outcome: 'UNPAID',
        cause: 'EXPIRED',
      });
      return;
    case 50:
      await shop.score({ clientIdKey, userAgent: USER_AGENT, clientHints: { jsOk: true } });
      await ask('order-ivan-4');
      await ask('order-ivan-4');
      return;
    default:
      await handledByPeople(shop, clientIdKey, minute);
  }
}

/** What the shop's people decide about a payer, and take back. */
async function handledByPeople(shop: Shop, clientIdKey: string, minute: number): Promise<void> {
  const path = `clients/${clientIdKey}`;
  switch (minute) {
    case 8:
      await shop.tell('PUT', `${path}/binding`, {
        requisiteRef: 'requisite-3',
        acceptorKeys: ['acceptor-1'],
      });
      return;
    case 12:
      await shop.tell('DELETE', `${path}/binding`, {});
      return;
    case 15:
      await shop.tell('PUT', `${path}/override`, {
        group: 'TRUSTED',
        reason: 'vouched for by the support desk',
        by: 'maria',
      });
      return;
    case 18:
      await shop.tell('DELETE', `${path}/override`, {});
      return;
    default:
  }
}

const USER_AGENT = 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0';

class Chance {
  #state = 7;

  below(limit: number): number {
    this.#state = (Math.imul(this.#state, 1_103_515_245) + 12_345) & 0x7fffffff;
    return Math.floor((this.#state / 0x80000000) * limit);
  }
}
