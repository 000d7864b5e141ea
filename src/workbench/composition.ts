import type { Logger } from 'pino';
import { AccessKeys } from '#checkout/access/access-keys.ts';
import { ListNode } from '#checkout/lists/list-node.ts';
import type { Metrics } from '#checkout/metrics/metrics.ts';
import type { RuleSource } from '#checkout/rollout/loaded-rules.ts';
import { ArchivedOrders } from '#checkout/scoring/archived-orders.ts';
import type { MonotonicClock } from '#checkout/scoring/client-updates.ts';
import { ErasureFinder } from '#checkout/scoring/erasure-finder.ts';
import { ScoringService } from '#checkout/scoring/scoring.ts';
import { createHoldoutDraw } from '#decision/holdout.ts';
import type { AttributePseudonymizer } from '#decision/payer/attribute-hmacs.ts';
import {
  createAttributePseudonymizer,
  createPlatformDeviceNameConverter,
  createPseudonymizer,
  deriveNodeSecretIds,
} from '#decision/pseudonym.ts';
import type { ArchiveReader } from '#history/archive/read/archive-reader.ts';
import { EventFeed } from '#history/archive/read/event-feed.ts';
import type { Store } from '#state/store.ts';
import { StoreUnavailable } from '#state/store-errors.ts';
import { Audit } from './access/audit.ts';
import { Sessions } from './access/sessions.ts';
import { ListEditor } from './lists/list-editor.ts';
import { ReportingWatch } from './monitoring/reporting.ts';
import { Erasure, type ErasureLedger } from './payers/erasure.ts';
import { PlatformRecords } from './payers/records.ts';
import type { NodeParts } from './platform/parts.ts';

/** The parts from which the service is composed: the store, the rules and the settings of a process. */
export interface CompositionInputs extends NodeParts {
  readonly store: Store;
  readonly ruleSource: RuleSource;
  /** Reads decisions of past years. Null if the process has no archive. */
  readonly archive?: ArchiveReader | null;
  /** The secret under which HMACs of fingerprints and IP addresses are made. */
  readonly signalSecret: string;
  /** The former secret. It is given while the secret is being changed. */
  readonly signalSecretPrevious?: string | null;
  /**
   * Makes the HMACs of attributes that rules compare with constants. Without this member, the two secrets above are
   * used for them.
   */
  readonly attributeHmacs?: AttributePseudonymizer;
  readonly erasureLedger?: ErasureLedger | null;
  /**
   * The clock of the process, which ignores changes of the system's clock. Without this member, the service uses its
   * own.
   */
  readonly pace?: MonotonicClock;
}

/**
 * Creates the objects (parts) that answer callers and the platform, for nodes and commands alike. It reads nothing,
 * and starts no timer, thread or listener. The code that runs a node starts the parts that follow changes of the
 * store.
 */
export function composeServiceParts(parts: CompositionInputs, metrics: Metrics) {
  const { store, clock, log, signalSecret, signalSecretPrevious: former = null } = parts;
  const { listLog, clientKeys } = store;
  const { archive = null, erasureLedger: ledger = null } = parts;
  const onTrouble = createTroubleLogger(log);
  const keys = new AccessKeys(store.documents, clock, undefined, ({ id, platform }) =>
    log.error({ keyId: id, platform }, LOST_KEY),
  );
  const sessions = new Sessions(store.documents, keys, parts.provider?.roles ?? [], clock);
  const audit = new Audit(store.auditLog, clock);
  const pseudonym = createPseudonymizer(signalSecret);
  const names = createPlatformDeviceNameConverter(signalSecret);
  const formerPseudonym = former === null ? null : createPseudonymizer(former);
  const attributeHmacs =
    parts.attributeHmacs ??
    createAttributePseudonymizer([signalSecret, former].filter((one) => one !== null));
  const lists = new ListNode({ listLog, pseudonym, formerPseudonym, clock, onTrouble });
  const listEditor = new ListEditor({ listLog, node: lists, pseudonym, names, audit, clientKeys, clock });
  const decides = {
    lists,
    holdoutDraw: createHoldoutDraw(signalSecret),
    secrets: deriveNodeSecretIds(signalSecret, former),
  };
  const reporting = new ReportingWatch({
    registers: store.registers,
    clock,
    onTrouble: (error) => onTrouble('whether platforms still report is not shared', error),
  });
  const service = new ScoringService({
    ...parts,
    ...decides,
    archivedOrders: archive === null ? null : ArchivedOrders.of(archive),
    erasures: new ErasureFinder({ store, archive, ledger }),
    pseudonym,
    formerPseudonym,
    metrics,
    reporting,
  });
  const records = new PlatformRecords({ ...parts, ...decides, attributeHmacs });
  const erasure = new Erasure({ ...parts, ledger, service, listEditor, audit });
  const feed = new EventFeed(store, archive);
  return {
    keys,
    sessions,
    audit,
    pseudonym,
    names,
    lists,
    listEditor,
    reporting,
    service,
    records,
    erasure,
    feed,
    clientKeys,
    metrics,
  };
}

const LOST_KEY =
  'the store has lost a live access key, and its callers get 503; restore a backup of the store, or issue another key';

/**
 * Creates the function that logs background failures as warnings. If the store does not answer, the message of the
 * error says everything, so no stack is logged.
 */
export function createTroubleLogger(log: Logger): (message: string, error?: unknown) => void {
  return (message, error) =>
    log.warn(error instanceof StoreUnavailable ? { store: error.message } : { err: error }, message);
}
