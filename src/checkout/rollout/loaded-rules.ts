import { join } from 'node:path';
import { NamedError } from '#base/named-error.ts';
import type { Arm, Decision, TrialDraw } from '#decision/decision.ts';
import { mergeQuestions, type SharingQuestions } from '#decision/facts/fact.ts';
import { type AttributePseudonymizer, NO_ATTRIBUTE_PSEUDONYMIZER } from '#decision/payer/attribute-hmacs.ts';
import type { ClientKey } from '#decision/payer/client-key.ts';
import type { ClientState, TrialStageAnswers } from '#decision/payer/client-state.ts';
import { findLastPaidAt, findLastUnpaidAt } from '#decision/payer/outcomes.ts';
import { compileWithOtherHmacs } from '#decision/rules/evaluate/compile.ts';
import type { RuleProblem } from '#decision/rules/problem.ts';
import { formatProblems } from '#decision/rules/problem.ts';
import type { RuleSet, RuleVersion } from '#decision/rules/rule-set.ts';
import { compareRuleVersions } from '#decision/rules/rule-set.ts';
import type { RuleReader } from '#state/rule-folders/rule-reader.ts';
import type { ScannedFolder } from '#state/rule-folders/scan.ts';
import type { NodeView } from './fleet.ts';

/** No rule set can decide. The message says why and what to do. */
export class NoUsableRuleSet extends NamedError {}

interface Folder extends ScannedFolder {
  readonly problems: readonly string[];
}

/**
 * Holds the rule sets of this node's RULES_DIR. `refresh` loads new and changed folders without a restart. A rule set
 * that was loaded once is kept under its digest, so that its decisions can be explained and a deciding rule set never
 * disappears.
 */
export class LoadedRules {
  readonly rulesDir: string;
  readonly #reader: RuleReader;
  readonly #hmacs: AttributePseudonymizer;
  readonly #folders = new Map<RuleVersion, Folder>();
  readonly #current = new Map<RuleVersion, RuleSet>();
  readonly #byDigest = new Map<string, RuleSet>();

  /** Creates the object without rule sets. `refresh` loads the folders. */
  constructor(rulesDir: string, reader: RuleReader, hmacs: AttributePseudonymizer) {
    this.rulesDir = rulesDir;
    this.#reader = reader;
    this.#hmacs = hmacs;
  }

  /**
   * Loads all folders. `hmacs` converts the constants in rules to the pseudonyms under which this node stores values.
   */
  static async read(
    rulesDir: string,
    reader: RuleReader,
    hmacs: AttributePseudonymizer = NO_ATTRIBUTE_PSEUDONYMIZER,
  ): Promise<LoadedRules> {
    const rules = new LoadedRules(rulesDir, reader, hmacs);
    await rules.refresh();
    return rules;
  }

  /**
   * Loads new and changed folders and returns their versions. A folder that cannot be read affects only its own
   * version.
   */
  async refresh(): Promise<readonly RuleVersion[]> {
    const scanned = await this.#reader.scan();
    const versions = scanned.map(({ version }) => version);
    for (const version of this.#folders.keys()) if (!versions.includes(version)) this.#forget(version);
    const changed: RuleVersion[] = [];
    for (const folder of scanned) if (await this.#refreshFolder(folder)) changed.push(folder.version);
    return changed;
  }

  /** Loads the folder of one version. Notes which other folders there are, without reading them. */
  async load(version: RuleVersion): Promise<void> {
    for (const folder of await this.#reader.scan()) {
      if (folder.version === version) await this.#refreshFolder(folder);
      else if (!this.#folders.has(folder.version))
        this.#folders.set(folder.version, { ...folder, stamp: NOT_READ, problems: [] });
    }
  }

  close(): Promise<void> {
    return this.#reader.close();
  }

  /**
   * Finds the rule set that is in the folder of this version now. Returns null if the folder is missing or refused.
   */
  findByVersion(version: string): RuleSet | null {
    return [...this.#current.values()].find((rules) => rules.version === version) ?? null;
  }

  /** Lists the versions of all folders, refused ones included, the oldest first. */
  listVersions(): readonly RuleVersion[] {
    return [...this.#folders.keys()].toSorted(compareRuleVersions);
  }

  /** Whether this node has loaded the folder of a version in its present form. */
  async isAsOnDisk(version: RuleVersion): Promise<boolean> {
    const folder = (await this.#reader.scan()).find((scanned) => scanned.version === version);
    return folder?.stamp === this.#folders.get(version)?.stamp;
  }

  findByDigest(digest: string): RuleSet | null {
    return this.#byDigest.get(digest) ?? null;
  }

  listAll(): readonly RuleSet[] {
    return [...this.#current.values()].toSorted((a, b) => compareRuleVersions(a.version, b.version));
  }

  /**
   * Lists the folders that are refused. They decide nothing, but a rule set that was loaded from such a folder
   * earlier stays loaded.
   */
  listRefused(): NodeView['refused'] {
    return [...this.#folders]
      .filter(([, { problems }]) => problems.length > 0)
      .map(([version, { problems }]) => ({ version, problems }));
  }

  /**
   * Finds the released rule set for a first start: the wanted version, or the newest that was not rolled back. Throws
   * NoUsableRuleSet if there is none.
   */
  requireReleased(wanted: RuleVersion | null): RuleSet {
    const found = wanted === null ? this.#findNewest() : this.findByVersion(wanted);
    if (found?.released === true) return found;
    throw new NoUsableRuleSet(this.#explainMissing(wanted, found?.version ?? null));
  }

  #findNewest(): RuleSet | null {
    const eligible = (version: RuleVersion) => this.#folders.get(version)?.rolledBack === false;
    return this.listAll().findLast(({ version, released }) => released && eligible(version)) ?? null;
  }

  #explainMissing(wanted: RuleVersion | null, draft: RuleVersion | null): string {
    const refused = this.listRefused().filter(({ version }) => wanted === null || version === wanted);
    if (refused.length > 0) {
      const names = refused.map(({ version }) => version).join(', ');
      const problems = refused.flatMap((folder) => folder.problems.map((line) => join(this.rulesDir, line)));
      return `no rule set can decide, because ${names} has problems:\n${problems.join('\n')}`;
    }
    if (draft !== null)
      return `the rule set ${draft} is a draft; run "rules release ${draft}" before it may decide`;
    if (wanted !== null) {
      return `there is no rule set ${wanted} in ${this.rulesDir}; set RULE_VERSION to one that is there, or RULES_DIR to its folder`;
    }
    const rolledBack = this.listAll().filter(
      ({ version }) => this.#folders.get(version)?.rolledBack === true,
    );
    if (rolledBack.length > 0) {
      const names = rolledBack.map(({ version }) => version).join(', ');
      return `every released rule set was rolled back (${names}); set RULE_VERSION to the one that is to decide`;
    }
    return `there is no released rule set in ${this.rulesDir}; set RULES_DIR to the folder of rule sets`;
  }

  async #refreshFolder(folder: ScannedFolder): Promise<boolean> {
    const { version, stamp } = folder;
    const known = this.#folders.get(version);
    if (known?.stamp === stamp) {
      this.#folders.set(version, { ...known, ...folder });
      return false;
    }
    const result = await this.#reader.load(version);
    const problems = result.ok ? [] : formatFirstProblems(version, result.problems);
    this.#folders.set(version, { ...folder, problems });
    if (!result.ok) {
      this.#current.delete(version);
      return true;
    }
    const ruleSet = compileWithOtherHmacs(result.ruleSet, this.#hmacs);
    this.#current.set(version, ruleSet);
    this.#byDigest.set(ruleSet.digest, ruleSet);
    return true;
  }

  #forget(version: RuleVersion): void {
    this.#folders.delete(version);
    this.#current.delete(version);
  }
}

/** The stamp of a folder that was seen and not read. No scan gives this stamp. */
const NOT_READ = '';

/** The limit of reported problems, because every node reports its problems every second. */
const PROBLEMS_MAX = 50;

function formatFirstProblems(version: RuleVersion, problems: readonly RuleProblem[]): readonly string[] {
  const lines = formatProblems(version, problems.slice(0, PROBLEMS_MAX)).split('\n');
  const more = problems.length - PROBLEMS_MAX;
  return more <= 0 ? lines : [...lines, `and ${more} more problems; "rules check ${version}" lists all`];
}

/** The rule sets of one request. They are chosen once and used to the request's end. */
export interface RuleChoice {
  readonly rules: RuleSet;
  readonly arm: Arm;
  /**
   * The draw of the client. It is recorded with the decision, whichever version decides. Missing if only one version
   * decides.
   */
  readonly draw?: TrialDraw;
  /** The active rule set, which decides if the candidate throws. Missing unless the arm is the candidate's. */
  readonly fallback?: RuleSet;
  /**
   * The shadow, which decides the same request from a copy of the client's state. Its decision is only compared.
   * Missing if there is no shadow.
   */
  readonly shadow?: RuleSet;
  /**
   * All versions that decide for some clients now. Every verdict records the sightings that any of these versions
   * counts.
   */
  readonly alongside?: readonly RuleSet[];
}

/** Merges the questions of a request's rule sets about shared devices and attributes. */
export function mergeSharingQuestions({ rules, fallback, shadow, alongside }: RuleChoice): SharingQuestions {
  const isAlone = fallback === undefined && shadow === undefined;
  const own = isAlone
    ? rules.sharing
    : mergeQuestions([rules, fallback, shadow].flatMap((one) => one?.sharing ?? []));
  if (alongside === undefined) return own;
  const { fingerprint, ip, attributes = [] } = mergeQuestions(alongside.map(({ sharing }) => sharing));
  // An attribute that only another version counts is recorded, but this request does not count it.
  const noted = attributes.map(({ declared }) => ({ declared, windowsMs: [] }));
  const all = [...(own.attributes ?? []), ...noted];
  return {
    ...(all.length === 0 ? {} : { attributes: all }),
    fingerprint: { ...own.fingerprint, notes: fingerprint.notes },
    ip: { ...own.ip, notes: ip.notes },
  };
}

/** What the rollout counts of a verdict. */
export interface CountedVerdict {
  readonly decision: Decision;
  /** The shadow's decision. Undefined if there is no shadow, null if the shadow threw. */
  readonly shadowed: Decision | null | undefined;
  /**
   * The answers that the client got before this verdict in a stage of the trial, the time since the shares last
   * changed. Null if there are none.
   */
  readonly stageBefore: TrialStageAnswers | null;
}

/** The times of a client's newest paid and unpaid outcomes, epoch ms. */
export interface NewestOutcomeTimes {
  readonly lastPaidAt: number | null;
  readonly lastUnpaidAt: number | null;
}

export function findNewestOutcomeTimes({ outcomes }: ClientState): NewestOutcomeTimes {
  return { lastPaidAt: findLastPaidAt(outcomes), lastUnpaidAt: findLastUnpaidAt(outcomes) };
}

export interface CountedOutcome {
  readonly client: ClientKey;
  readonly before: NewestOutcomeTimes;
  readonly after: NewestOutcomeTimes;
  /** When the report arrived, epoch ms. */
  readonly at: number;
  /** How many changes of the client have been recorded, this one included. Score requests are not counted. */
  readonly changes: number;
  /** Epoch ms. */
  readonly lastVerdictAt: number | null;
}

/** Builds the part of an outcome that the rollout counts. */
export function toCountedOutcome(client: ClientKey, before: ClientState, after: ClientState): CountedOutcome {
  const newest = { before: findNewestOutcomeTimes(before), after: findNewestOutcomeTimes(after) };
  const { lastAt: at, changes } = after;
  return { client, ...newest, at, changes, lastVerdictAt: before.lastVerdictAt };
}

/** Chooses the rule sets of each request, and counts what came of them for the rollout. */
export interface RuleSource {
  choose(client: ClientKey): RuleChoice;
  /**
   * Counts a verdict. If `isRecorded` is false, the caller got an error, and it is not known yet whether the store
   * recorded the verdict.
   */
  countVerdict(verdict: CountedVerdict, isRecorded: boolean): void;
  countOutcome(outcome: CountedOutcome, isRecorded: boolean): void;
  /** Notes that the candidate threw, and that the active rule set decided. */
  countCandidateError(version: RuleVersion, error: unknown): void;
  /** Finds the loaded rule set of a decision by its digest. Returns null if this node does not have it. */
  findRuleSetByDigest(digest: string): RuleSet | null;
}

/** Creates a source with one rule set for every client and without counts, for replays and tests. */
export function createFixedRuleSource(rules: RuleSet): RuleSource {
  return {
    choose: () => ({ rules, arm: 'active' }),
    countVerdict: () => {},
    countOutcome: () => {},
    countCandidateError: () => {},
    findRuleSetByDigest: (digest) => (rules.digest === digest ? rules : null),
  };
}
