import { LRUCache } from 'lru-cache';
import { Type } from '#base/json-schema.ts';
import { plainText, shape, type ValueOf } from '#base/shapes.ts';
import { searchThrottle } from '#base/work/step-throttle.ts';
import type { RuleSource } from '#checkout/rollout/loaded-rules.ts';
import { countSightings } from '#checkout/scoring/device-sightings.ts';
import type { Assessment } from '#decision/assess.ts';
import { assessNow, type DecisionStanding } from '#decision/decide.ts';
import type { Decision } from '#decision/decision.ts';
import { type DrawHoldouts, NO_HOLDOUTS } from '#decision/holdout.ts';
import { type NextVerdict, predictNextVerdict } from '#decision/next-verdict.ts';
import type { AttributePseudonymizer } from '#decision/payer/attribute-hmacs.ts';
import type { NodeSecretIds } from '#decision/payer/attribute-secrets.ts';
import type { ClientKey, PlatformName } from '#decision/payer/client-key.ts';
import { type ClientState, chooseEventTime, toShortHash } from '#decision/payer/client-state.ts';
import { moveStateBack } from '#decision/payer/clock-set-back.ts';
import { getKnownHints } from '#decision/payer/hints.ts';
import { type Ladder, resetLadderAfterAbsence } from '#decision/payer/ladder.ts';
import { OrderOutcomeSchema, turnedAwaySchema } from '#decision/payer/order.ts';
import { findRecentOrder } from '#decision/payer/outcomes.ts';
import { getPlatformSettings, type RuleSet } from '#decision/rules/rule-set.ts';
import { NO_LISTS, type SharedLists } from '#decision/shared-lists.ts';
import { ArchiveReader } from '#history/archive/read/archive-reader.ts';
import {
  DecisionLookup,
  type HistoryPage,
  type LookedUpDecision,
  type LookedUpDecisions,
} from '#history/archive/read/decision-lookup.ts';
import {
  type Exploration,
  type ExplorationAsk,
  exploreDecisions,
} from '#history/archive/read/exploration.ts';
import type { LinksAsk } from '#history/archive/read/linked-clients.ts';
import { ArchivedRuleSets } from '#history/archive/ship/archived-rule-sets.ts';
import type { DatedJournalPlace } from '#state/journal.ts';
import type { Store } from '#state/store.ts';
import { type ClientExportParts, streamClientExport } from './client-export.ts';
import { type ClientLinks, findClientLinks, type LinksParts } from './client-links.ts';

export interface RecordsParts {
  readonly store: Store;
  readonly ruleSource: RuleSource;
  /** The archive with older decisions. Null if the node has none. */
  readonly archive?: ArchiveReader | null;
  /** This node's copy of the shared lists. If missing, nobody is on any list. */
  readonly lists?: SharedLists;
  /** Draws who is held out of a rule. If missing, nobody is held out. */
  readonly holdoutDraw?: DrawHoldouts;
  /** The secrets of this node. If missing, every stored pseudonym is used unchanged. */
  readonly secrets?: NodeSecretIds;
  /** How decisions keep the pseudonyms that rules compare with constants. */
  readonly attributeHmacs?: AttributePseudonymizer;
  /** The time in epoch ms. */
  readonly clock: () => number;
}

/** What the platform may see of a client. */
export interface KnownClient {
  readonly state: ClientState;
  /** The present ladder. It is reset after a long absence, as it is for the facts. */
  readonly ladder: Ladder;
  readonly facts: Assessment;
  readonly nextVerdict: NextVerdict;
  readonly rules: RuleSet;
  readonly decisions: readonly Decision[];
  /** The files that cannot be read and may hold further recent decisions. */
  readonly unread: LookedUpDecisions['unread'];
  /** The moment of the view, in epoch ms. */
  readonly now: number;
}

export const OrderWithOutcomeSchema = shape('An order with the outcome that holds', {
  clientIdKey: plainText('Whose it is'),
  orderRef: plainText('The order'),
  ...OrderOutcomeSchema.properties,
  turnedAway: Type.Optional(turnedAwaySchema),
});

type ReportedOrder = ValueOf<typeof OrderWithOutcomeSchema>;

const RECENT_DECISIONS_MAX = 20;

/** How long an answer about the present is reused, in ms. Ten seconds do not matter in figures of the last hour. */
export const PRESENT_ANSWER_KEPT_MS = 10_000;

const EXPLORED_MAX = 200;

/** The most archived rule sets in memory. Questions about the past need few of them. */
const RULE_SETS_MAX = 8;

/** Answers a platform's questions about its records. It writes nothing to the store and changes no client. */
export class PlatformRecords {
  readonly #parts: RecordsParts;
  readonly #past: ArchiveReader;
  readonly decisions: DecisionLookup;
  /** Answers to questions that reach to the present, by question. */
  readonly #explored = new LRUCache<string, Promise<Exploration>>({
    max: EXPLORED_MAX,
    ttl: PRESENT_ANSWER_KEPT_MS,
  });
  readonly #shelf: ArchivedRuleSets | null;
  /** Rule sets from the archive, by digest. */
  readonly #ruleSets = new LRUCache<string, RuleSet>({ max: RULE_SETS_MAX });

  constructor(parts: RecordsParts) {
    this.#parts = parts;
    const { store, archive = null } = parts;
    this.#past = archive ?? ArchiveReader.withoutArchive(store);
    this.decisions = new DecisionLookup(store, this.#past);
    this.#shelf = archive === null ? null : new ArchivedRuleSets(archive.folder, null, parts.attributeHmacs);
  }

  /** Returns everything that is known of a client. Returns null if nothing is known. */
  async findClient(platform: PlatformName, clientIdKey: string): Promise<KnownClient | null> {
    const client = this.#parts.store.clientKeys.of(platform, clientIdKey);
    const { state: stored, stamp } = await this.#parts.store.load(client);
    if (stamp.raw === null) return null;
    const state = moveStateBack(stored, this.#parts.clock());
    const { rules } = this.#parts.ruleSource.choose(client);
    const [standing, { decisions, unread }] = await Promise.all([
      this.#standing(client, state, rules),
      this.decisions.ofClient(client, RECENT_DECISIONS_MAX),
    ]);
    const { now } = standing;
    const ladder = resetLadderAfterAbsence(state, getPlatformSettings(rules, platform).ladder, now);
    return {
      state,
      ladder,
      facts: assessNow(rules, standing),
      nextVerdict: predictNextVerdict(rules, standing, decisions[0]),
      rules,
      decisions,
      unread,
      now,
    };
  }

  /**
   * Reads a client's entries before the position `after` in the history, newest first. If `after` is null, it begins
   * with the newest entry. Returns null if nothing is known of the client. The history is complete only if it begins
   * with the first contact, because the journal deletes its oldest entries earlier than the store deletes the state.
   */
  async findHistory(
    platform: PlatformName,
    clientIdKey: string,
    { limit, after }: { readonly limit: number; readonly after: DatedJournalPlace | null },
  ): Promise<HistoryPage | null> {
    const client = this.#parts.store.clientKeys.of(platform, clientIdKey);
    const { state, stamp } = await this.#parts.store.load(client);
    if (stamp.raw === null) return null;
    const { entries, complete, next } = await this.decisions.history(client, limit, after);
    const oldestAt = entries.at(-1)?.at ?? Number.POSITIVE_INFINITY;
    return {
      entries,
      next,
      complete: complete && oldestAt <= (state.firstSeenAt ?? Number.NEGATIVE_INFINITY),
    };
  }

  /**
   * Finds the clients with whom a client shares devices and addresses. Returns null if nothing is known of the
   * client.
   */
  findLinks(
    platform: PlatformName,
    clientIdKey: string,
    ask: LinksAsk,
    known: Pick<LinksParts, 'lists' | 'names'>,
  ): Promise<ClientLinks | null> {
    const { store, clock } = this.#parts;
    return findClientLinks(
      { store, archive: this.#past, ...known, now: clock() },
      platform,
      clientIdKey,
      ask,
    );
  }

  /** Yields the JSON of all data about a client, piece by piece. */
  streamExport(
    parts: Pick<ClientExportParts, 'listEditor' | 'names' | 'audit'>,
    client: ClientKey,
    who: string,
  ): AsyncGenerator<string> {
    const { store, clock } = this.#parts;
    return streamClientExport({ ...parts, store, clock, decisions: this.decisions }, client, who);
  }

  /**
   * Counts the decisions within a span of time, and explains what changed since an earlier span. If the span is not
   * over, everybody who asks within some seconds gets the same answer.
   */
  explore(ask: ExplorationAsk): Promise<Exploration> {
    if (ask.to <= this.#parts.clock()) return exploreDecisions(this.#past, ask);
    const key = JSON.stringify(ask);
    const known = this.#explored.get(key);
    if (known !== undefined) return known;
    const exploration = exploreDecisions(this.#past, ask);
    this.#explored.set(key, exploration);
    exploration.catch(() => this.#explored.delete(key));
    return exploration;
  }

  /** Finds a decision by its id, if it is one of this platform. */
  async findDecision(platform: PlatformName, decisionId: string): Promise<LookedUpDecision> {
    const { decision, unread } = await this.decisions.decision(decisionId, platform);
    return { decision: decision?.platform === platform ? decision : null, unread };
  }

  /**
   * Finds the rule set that decided. If this node no longer has it, it comes from the archive. Returns null if
   * neither has it.
   */
  findDecidingRules({ ruleVersion, digest }: Decision): RuleSet | null {
    const known = this.#parts.ruleSource.findRuleSetByDigest(digest) ?? this.#ruleSets.get(digest);
    if (known !== undefined) return known;
    const kept = this.#shelf?.get(ruleVersion, digest) ?? null;
    if (kept !== null) this.#ruleSets.set(digest, kept);
    return kept;
  }

  /** Finds the reports on the orders of some decisions. Orders without a report are left out. */
  async listReportedOrders(decisions: readonly Decision[]): Promise<readonly ReportedOrder[]> {
    const oneOfEach = new Map(
      decisions.map((one) => [JSON.stringify([one.platform, one.clientIdKey, one.orderRef]), one]),
    );
    const known = await searchThrottle.mapInSteps([...oneOfEach.values()], (some) =>
      Promise.all(some.map((decision) => this.#reported(decision))),
    );
    return known.flat();
  }

  async #reported({ platform, clientIdKey, orderRef }: Decision): Promise<readonly ReportedOrder[]> {
    const { store } = this.#parts;
    const client = store.clientKeys.of(platform, clientIdKey);
    const { state, order: older } = await store.load(client, { orderRef });
    const order = findRecentOrder(state.outcomes, toShortHash(orderRef)) ?? older;
    if (order === null) return [];
    const { outcome, cause, occurredAt, turnedAway } = order;
    const exposed = turnedAway ? { turnedAway } : {};
    return [{ clientIdKey, orderRef, outcome, cause, occurredAt, ...exposed }];
  }

  async #standing(client: ClientKey, state: ClientState, rules: RuleSet): Promise<DecisionStanding> {
    const now = chooseEventTime(state, this.#parts.clock());
    const hints = getKnownHints(state.hints, now);
    const choice = { rules, arm: 'active' } as const;
    const { lists = NO_LISTS, holdoutDraw = NO_HOLDOUTS, secrets: secretIds } = this.#parts;
    const sightings = await countSightings(this.#parts, { client, choice, state, hints, now });
    return { client, state, sightings, lists, holdoutDraw, secretIds, now };
  }
}
