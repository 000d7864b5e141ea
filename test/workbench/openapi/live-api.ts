import { join } from 'node:path';
import { type Application, type ApplicationParts, startApplication } from '#application.ts';
import {
  addIncludedOperations,
  GRANTABLE_OPERATIONS,
  INSTALLATION_PLATFORM,
} from '#checkout/access/access-keys.ts';
import { Fleet } from '#checkout/rollout/fleet.ts';
import { type PlatformName, toPlatformName } from '#decision/payer/client-key.ts';
import { ArchiveReader } from '#history/archive/read/archive-reader.ts';
import type { Store } from '#state/store.ts';
import { EvidenceDesk } from '#workbench/evidence/evidence-desk.ts';
import {
  addVersion,
  LONGER_FIRST_WAIT,
  rulesDirectory,
  startQuietNode,
} from '../../checkout/rollout/rule-folders.ts';
import { temporaryDirectory } from '../../servers/temporary-directory.ts';
import { KEY_LIFETIME_MS } from '../../service/key-lifetime.ts';
import { MovableClock } from '../../service/movable-clock.ts';
import { verdictBody } from '../../service/request-bodies.ts';
import { PLAIN_PARTS, SIGNAL_SECRET } from '../../service/running-service.ts';
import { temporarySqlite } from '../../stores/temporary-store.ts';
import type { LiveAnswer } from './described-api.ts';

/** Instead of a key: the request has none. */
export const NO_KEY = '';

const JSON_TYPE = { 'Content-Type': 'application/json' };
/** Where the archive of the services lies. */
export const ARCHIVE = join(temporaryDirectory(), 'archive');

/** Paths that only a key of the installation may ask. */
const OPERATES = /\/rules\/(roll(out|back)(\?|$)|versions\/.)/;

/** A store that fails on demand, with a separate switch for access keys. */
function troubled<T extends object>(
  part: T,
  trouble: () => Error | null,
  keysTrouble: () => Error | null,
): T {
  return new Proxy(part, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target);
      if ((name === 'registers' || name === 'listLog') && typeof value === 'object' && value !== null)
        return troubled(value, trouble, keysTrouble);
      if (name === 'documents' && typeof value === 'object' && value !== null)
        return troubled(value, keysTrouble, keysTrouble);
      if (name === 'recentVersion') return () => null;
      if (typeof value !== 'function') return value;
      return (...args: unknown[]) => {
        const error = name === 'close' ? null : trouble();
        // A store reports faults in its health instead of throwing.
        if (error !== null && name === 'check')
          return [{ server: 'the store', failure: error.message, warnings: [] }];
        return error === null ? Reflect.apply(value, target, args) : Promise.reject(error);
      };
    },
  });
}

type Keys = Readonly<Record<'all' | 'operator' | 'ann' | 'bob' | 'ann of all', string>>;

/** The whole service with a rollout, and a store that can fail. */
export class Live {
  readonly application: Application;
  /** The same, where somebody else has to approve. */
  readonly #gated: Application;
  readonly #keys: Keys;
  readonly #end: () => Promise<void>;
  readonly #issued = new Map<string, Promise<string>>();
  readonly store: Store;
  static trouble: Error | null = null;
  static keysTrouble: Error | null = null;

  private constructor(
    application: Application,
    gated: Application,
    keys: Keys,
    store: Store,
    end: () => Promise<void>,
  ) {
    this.store = store;
    this.application = application;
    this.#gated = gated;
    this.#keys = keys;
    this.#end = end;
  }

  static async start(): Promise<Live> {
    const opened = temporarySqlite();
    const store: Store = troubled(
      opened.store,
      () => Live.trouble,
      () => Live.keysTrouble,
    );
    const rulesDir = rulesDirectory();
    addVersion(rulesDir, 'p2.v11', [LONGER_FIRST_WAIT]);
    addVersion(rulesDir, 'p2.v12', [{ file: 'ladder.yaml', from: 'levels:', to: 'levles:' }], {
      draft: true,
    });
    const clock = new MovableClock().now;
    const fleet = new Fleet(store);
    const node = await startQuietNode(store, rulesDir, clock);
    const parts: ApplicationParts = {
      ...PLAIN_PARTS,
      store,
      clock,
      ruleSource: node,
      rollout: { fleet, loadedRules: node.rules, report: () => node.report() },
      evidence: new EvidenceDesk({
        past: new ArchiveReader(ARCHIVE, store),
        rulesDir,
        signalSecret: SIGNAL_SECRET,
        store,
        clock,
        onTrouble: () => {},
      }),
      rulesDir,
    };
    const application = await startApplication(parts);
    const gated = await startApplication({ ...parts, requiresApproval: true });
    const issue = async (
      platform: PlatformName,
      operations: readonly (typeof GRANTABLE_OPERATIONS)[number][],
      owner?: string,
    ) => (await application.keys.issue(platform, operations, KEY_LIFETIME_MS, owner)).key;
    const keys = {
      all: await issue(toPlatformName('shop'), GRANTABLE_OPERATIONS),
      operator: await issue(INSTALLATION_PLATFORM, GRANTABLE_OPERATIONS),
      ann: await issue(toPlatformName('shop'), GRANTABLE_OPERATIONS, 'ann'),
      bob: await issue(toPlatformName('shop'), GRANTABLE_OPERATIONS, 'bob'),
      'ann of all': await issue(INSTALLATION_PLATFORM, GRANTABLE_OPERATIONS, 'ann'),
    };
    return new Live(application, gated, keys, store, async () => {
      await gated.drain();
      await application.drain();
      await node.stop();
      await opened.remove();
    });
  }

  stop(): Promise<void> {
    return this.#end();
  }

  /** One request with the key of all operations, unless the headers bring another. */
  async ask({ method, path, body, headers = {}, by, key: given, elsewhere }: Ask): Promise<LiveAnswer> {
    const { callerUrl, platformUrl } = by === undefined ? this.application : this.#gated;
    const isOfCallers = path.startsWith('/v1/client') !== (elsewhere === true);
    const base = isOfCallers ? callerUrl : platformUrl;
    const usual = by ?? (OPERATES.test(path) ? 'operator' : 'all');
    const key = given ?? headers['X-KA-Access-Key'] ?? this.#keys[usual];
    const answer = await fetch(base + path, {
      method,
      headers: {
        ...(body === undefined ? {} : JSON_TYPE),
        ...headers,
        ...(key === NO_KEY ? {} : { 'X-KA-Access-Key': key }),
      },
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
    return { status: answer.status, headers: answer.headers, text: await answer.text() };
  }

  /** A key that no node has read yet, so that the store must be asked about it. */
  async newKey(path: string): Promise<string> {
    const platform = OPERATES.test(path) ? INSTALLATION_PLATFORM : toPlatformName('shop');
    return (await this.application.keys.issue(platform, GRANTABLE_OPERATIONS, KEY_LIFETIME_MS)).key;
  }

  /** A key of all operations that grant none of these. */
  keyWithout(path: string, lacking: readonly string[]): Promise<string> {
    return this.keyOf(
      path,
      GRANTABLE_OPERATIONS.filter(
        (one) => !addIncludedOperations([one]).some((granted) => lacking.includes(granted)),
      ),
    );
  }

  /** A key of these operations alone, one for all who ask for the same. */
  keyOf(path: string, operations: readonly string[]): Promise<string> {
    // Only a key of the installation operates.
    const operates = OPERATES.test(path) || operations.join() === 'operate';
    const platform = operates ? INSTALLATION_PLATFORM : toPlatformName('shop');
    const granted = GRANTABLE_OPERATIONS.filter((one) => operations.includes(one));
    const name = `${platform} ${granted.join()}`;
    const key =
      this.#issued.get(name) ??
      this.application.keys.issue(platform, granted, KEY_LIFETIME_MS).then((issued) => issued.key);
    this.#issued.set(name, key);
    return key;
  }

  /** How much the store has recorded. */
  async recorded(): Promise<number> {
    const { entries } = await this.store.readJournal(null, 100_000);
    return entries.length + (await this.store.auditLog.newest());
  }

  /** A verdict's decision, to be asked about. */
  async decisionId(clientIdKey: string): Promise<string> {
    const answer = await this.ask(post('/v1/client/verdict', verdictBody({ clientIdKey })));
    return answer.headers.get('X-Decision-Id') ?? '';
  }
}

export interface Ask {
  readonly method: string;
  readonly path: string;
  readonly body?: object | string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Where somebody else has to approve, with this person's key; "all" has no owner. */
  readonly by?: 'all' | 'ann' | 'bob' | 'ann of all';
  /** Instead of the key of all operations. */
  readonly key?: string;
  /** On the listener that the path does not belong to. */
  readonly elsewhere?: true;
}

type Headed = Readonly<Record<string, string>>;

export function post(path: string, body: object | string, headers: Headed = {}): Ask {
  return { method: 'POST', path, body, headers };
}

export function put(path: string, body: object | string, headers: Headed = {}): Ask {
  return { method: 'PUT', path, body, headers };
}

export function get(path: string): Ask {
  return { method: 'GET', path };
}
