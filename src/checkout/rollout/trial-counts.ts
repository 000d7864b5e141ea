import { randomUUID } from 'node:crypto';
import { count, shape, type ValueOf } from '#base/shapes.ts';
import type { Arm, Decision } from '#decision/decision.ts';
import type { PlatformName } from '#decision/payer/client-key.ts';
import { addStageAnswer, type TrialStageAnswers } from '#decision/payer/client-state.ts';
import type { Tallies, TallyBatch } from '#state/store.ts';

/**
 * Counts of the clients of one arm. Within one stage of a trial, a client counts at most once in each figure, however
 * many answers it got. The verdicts of one client depend on each other, so a statistical comparison must count
 * clients and not verdicts.
 */
const ClientCountsSchema = shape(
  'Numbers of clients. Each client counts at most once in a figure, however many verdicts it got since the canary has this percent',
  {
    seen: count('All'),
    blocked: count('Answered BLOCK at least once'),
    waited: count('Answered WAIT at least once'),
    bots: count('isBot true at least once'),
    paid: count('Clients who paid an order that was not reversed'),
    unpaid: count('Clients who paid no order, and had one that ended unpaid; of the others nothing is known'),
  },
);

export type ArmClientCounts = ValueOf<typeof ClientCountsSchema>;

export const ArmCountsSchema = shape('Counts of what one version answered', {
  verdicts: count('All'),
  blocks: count('BLOCK'),
  waits: count('WAIT'),
  bots: count('isBot true'),
  clients: ClientCountsSchema,
});

export type ArmCounts = ValueOf<typeof ArmCountsSchema>;

/** Whether a client of the trial has paid, has only unpaid orders, or has no outcome yet. */
export type ClientPaymentStatus = 'paid' | 'unpaid' | 'unknown';

/** Computes by how much an outcome of a client changes the counts of clients who paid and who did not pay. */
export function computePaymentCountChanges(before: ClientPaymentStatus, after: ClientPaymentStatus) {
  const change = (status: ClientPaymentStatus) => Number(after === status) - Number(before === status);
  return { paid: change('paid'), unpaid: change('unpaid') };
}

/**
 * Computes by how much a verdict raises the counts of clients. A count rises by 1 if the client got such an answer
 * for the first time in the stage that began at `since`.
 */
export function computeClientCountChanges(
  mark: TrialStageAnswers | null,
  since: number,
  answered: Parameters<typeof addStageAnswer>[2],
) {
  const before = mark?.since === since ? mark : null;
  const after = addStageAnswer(before, since, answered);
  const isNew = (what: 'blocked' | 'waited' | 'bot') => Number(after[what] && before?.[what] !== true);
  const seen = Number(before === null);
  return { seen, blocked: isNew('blocked'), waited: isNew('waited'), bots: isNew('bot') };
}

/**
 * A count for each field. The name of a field is the path to a figure as JSON: `["shop","arms","active","verdicts"]`.
 */
type Tally = Readonly<Record<string, number>>;

/** The shared tally of one stage of a trial, as the store keeps it; computeTrialStageFigures makes totals of it. */
export interface TrialStageCounts {
  /**
   * The name of the stage: trial, version, mode, share and the time when the stage began. The counts of each stage
   * begin at zero.
   */
  readonly trial: string;
  readonly tally: Tally;
}

/** What both arms of a trial answered, how the shadow differed, and how often the candidate threw. */
export interface TrialStageFigures {
  readonly arms: Readonly<Record<Arm, ArmCounts>>;
  readonly shadow: {
    readonly compared: number;
    readonly different: number;
    /** The kinds of difference between the active version and its shadow, with sample decisions. */
    readonly differences: readonly TrialDifference[];
  };
  /** The number of decisions for which the candidate threw and the active version decided. */
  readonly candidateErrors: number;
}

interface TrialDifference {
  /** The active version's answer and the shadow's: `WAIT/attempt-unpaid -> BLOCK/bot-blocked`. */
  readonly change: string;
  readonly count: number;
  /** Only ids are kept. The data is read from the decision, so that it disappears when its client is erased. */
  readonly sampleDecisions: readonly string[];
}

const DIFFERENCES_MAX = 50;
const SAMPLES_MAX = 5;

/** The most platforms that are counted by name. All further platforms are counted together under one name. */
const PLATFORMS_MAX = 100;
const LEFT_OVER = '';

/** Sums the counts of a trial on one platform. Sums all platforms if `platform` is null. */
export function computeTrialStageFigures(
  { tally }: TrialStageCounts,
  platform: string | null,
): TrialStageFigures {
  const fields = Object.keys(tally).map(parseField);
  const mine = platform === null ? fields : fields.filter(([name]) => name === platform);
  const platforms = [...new Set(mine.map(([name = '']) => name))];
  const on = (name: string, ...path: readonly string[]) => tally[formatField(name, ...path)] ?? 0;
  const sum = (of: (name: string) => number) => platforms.reduce((total, name) => total + of(name), 0);
  const count = (...path: readonly string[]) => sum((name) => on(name, ...path));
  const arm = (arm: Arm): ArmCounts => {
    const of = (figure: keyof ArmCounts) => count('arms', arm, figure);
    const ofClients = (figure: keyof ArmClientCounts) => count('arms', arm, 'clients', figure);
    // A client with an outcome is included in `seen`, even if the count of its verdict was lost with a process.
    const seen = sum((name) => {
      const [all, paid, unpaid] = (['seen', 'paid', 'unpaid'] as const).map((figure) =>
        on(name, 'arms', arm, 'clients', figure),
      );
      return Math.max(all ?? 0, (paid ?? 0) + (unpaid ?? 0));
    });
    const shares = { blocked: ofClients('blocked'), waited: ofClients('waited'), bots: ofClients('bots') };
    return {
      verdicts: of('verdicts'),
      blocks: of('blocks'),
      waits: of('waits'),
      bots: of('bots'),
      clients: { seen, ...shares, paid: ofClients('paid'), unpaid: ofClients('unpaid') },
    };
  };
  const named = (kind: string) => mine.filter(([, one]) => one === kind);
  const samples = Map.groupBy(named('sample'), ([, , change = '']) => change);
  const differences = [...new Set(named('change').map(([, , change = '']) => change))].map((change) => ({
    change,
    count: count('change', change),
    sampleDecisions: (samples.get(change) ?? []).map(([, , , id = '']) => id).slice(0, SAMPLES_MAX),
  }));
  return {
    arms: { active: arm('active'), candidate: arm('candidate') },
    shadow: {
      compared: count('shadow', 'compared'),
      different: count('shadow', 'different'),
      differences: differences.toSorted((x, y) => y.count - x.count).slice(0, DIFFERENCES_MAX),
    },
    candidateErrors: count('candidateErrors'),
  };
}

function formatField(...path: readonly string[]): string {
  return JSON.stringify(path);
}

function parseField(field: string): readonly string[] {
  const path: unknown = JSON.parse(field);
  return Array.isArray(path) ? path.map(String) : [];
}

export async function readTrialCounts(tallies: Tallies, trial: string): Promise<TrialStageCounts> {
  return { trial, tally: await tallies.read(trial) };
}

/**
 * Describes how the shadow answered differently in verdict, wait, bot flag or group. Returns null if it answered
 * the same.
 */
function describeDifference(decision: Decision, shadowed: Decision): string | null {
  const words = ({ verdict, rule, waitSeconds, isBot, clientGroup }: Decision) =>
    [
      `${verdict}/${rule}`,
      waitSeconds === undefined ? '' : `${waitSeconds} s`,
      isBot ? 'bot' : '',
      clientGroup,
    ]
      .filter((word) => word !== '')
      .join(' ');
  const same =
    decision.verdict === shadowed.verdict &&
    decision.waitSeconds === shadowed.waitSeconds &&
    decision.isBot === shadowed.isBot &&
    decision.clientGroup === shadowed.clientGroup;
  return same ? null : `${words(decision)} -> ${words(shadowed)}`;
}

/**
 * Counts the verdicts and outcomes of a trial's stage in this process, and adds the counts to the shared tally in
 * batches. A batch is sent again until the store has it, and the store adds it only once. A process that is killed
 * loses the counts since its last batch.
 */
export class TrialTally {
  readonly trial: string;
  readonly #writer = randomUUID();
  /** The counts since this process has followed the stage. */
  readonly #counts: Record<string, number> = {};
  #unsent: Record<string, number> = {};
  #sending: TallyBatch | null = null;
  #batches = 0;
  /** How many sample decisions each kind of difference has, by platform. */
  readonly #samples = new Map<string, Map<string, number>>();
  readonly #platforms = new Set<string>();

  constructor(trial: string) {
    this.trial = trial;
  }

  get counts(): TrialStageCounts {
    return { trial: this.trial, tally: this.#counts };
  }

  /**
   * Counts an answered verdict. `drawnInto` is the arm of its client, and `before` has the client's earlier answers
   * in the stage.
   */
  countVerdict(decision: Decision, drawnInto: Arm, before: TrialStageAnswers | null): void {
    const { platform, arm, draw, verdict, isBot } = decision;
    const [blocks, waits] = [Number(verdict === 'BLOCK'), Number(verdict === 'WAIT')];
    this.#add(platform, ['arms', arm], { verdicts: 1, blocks, waits, bots: Number(isBot) });
    if (draw !== undefined)
      this.#add(
        platform,
        ['arms', drawnInto, 'clients'],
        computeClientCountChanges(before, draw.since, decision),
      );
  }

  countStatus(
    platform: PlatformName,
    arm: Arm,
    before: ClientPaymentStatus,
    after: ClientPaymentStatus,
  ): void {
    this.#add(platform, ['arms', arm, 'clients'], computePaymentCountChanges(before, after));
  }

  countShadow(decision: Decision, shadowed: Decision): void {
    const { platform, decisionId } = decision;
    const change = describeDifference(decision, shadowed);
    this.#add(platform, ['shadow'], { compared: 1, different: Number(change !== null) });
    if (change === null) return;
    const samples = this.#samples.getOrInsertComputed(this.#countedPlatform(platform), () => new Map());
    const taken = samples.get(change) ?? 0;
    if (taken === 0 && samples.size >= DIFFERENCES_MAX) return;
    this.#add(platform, ['change'], { [change]: 1 });
    if (taken >= SAMPLES_MAX) return;
    samples.set(change, taken + 1);
    this.#add(platform, ['sample', change], { [decisionId]: 1 });
  }

  /** `platform` is null if it is not known. */
  countCandidateError(platform: PlatformName | null): void {
    this.#add(platform ?? LEFT_OVER, [], { candidateErrors: 1 });
  }

  /**
   * Sends the counts since the last batch as a new batch. Throws StoreUnavailable if the batch may not have arrived.
   * The next call then sends the same batch again.
   */
  async send(tallies: Tallies): Promise<void> {
    if (this.#sending === null) {
      this.#sending = { writer: this.#writer, number: ++this.#batches, counts: this.#unsent };
      this.#unsent = {};
    }
    const batch = this.#sending;
    if (Object.keys(batch.counts).length > 0) await tallies.add(this.trial, batch);
    if (this.#sending === batch) this.#sending = null;
  }

  #countedPlatform(platform: string): string {
    if (this.#platforms.size < PLATFORMS_MAX) this.#platforms.add(platform);
    return this.#platforms.has(platform) ? platform : LEFT_OVER;
  }

  #add(platform: string, path: readonly string[], figures: Readonly<Record<string, number>>): void {
    for (const [figure, count] of Object.entries(figures)) {
      if (count === 0) continue;
      const field = formatField(this.#countedPlatform(platform), ...path, figure);
      for (const counts of [this.#counts, this.#unsent]) counts[field] = (counts[field] ?? 0) + count;
    }
  }
}

/** How long a verdict may stay unconfirmed. A store cannot apply a commit later than that. */
const UNSURE_MS = 10_000;
const UNSURE_MAX = 10_000;

/** Counts a verdict or outcome whose caller got an error, when the store shows that it was recorded after all. */
export class CountsOfUnconfirmedVerdicts {
  readonly #waiting: (() => Promise<boolean>)[] = [];

  add(count: () => void, isRecorded: () => Promise<boolean>): void {
    if (this.#waiting.length >= UNSURE_MAX) return;
    const sinceMs = performance.now();
    this.#waiting.push(async () => {
      const isOver = performance.now() - sinceMs > UNSURE_MS;
      const isFound = await isRecorded();
      if (isFound) count();
      return isFound || isOver;
    });
  }

  /**
   * Checks every waiting entry. An entry is taken out during its check, because two calls may overlap. An entry that
   * is not found in time was never recorded.
   */
  async settle(): Promise<void> {
    for (const isSettled of this.#waiting.splice(0))
      if (!(await isSettled().catch(() => false))) this.#waiting.push(isSettled);
  }
}
