import { randomUUID } from 'node:crypto';
import type { PlatformName } from '../client/client-key.ts';
import { markStage, type StageMark } from '../client/client-state.ts';
import type { Arm, Decision } from '../decision/decision.ts';
import { count, type Shape, shape } from '../shapes.ts';
import type { Tallies } from '../state/store.ts';

/**
 * The clients of one arm, each counted once for whatever it was answered since the trial decides for this share of
 * the clients. The verdicts of a client depend on each other, so only clients can be compared statistically.
 */
const ClientCountsSchema = shape(
  'By client, each counted once by all of its verdicts since the canary has this percent',
  {
    seen: count('All'),
    blocked: count('Answered BLOCK at least once'),
    waited: count('Answered WAIT at least once'),
    bots: count('isBot true at least once'),
    paid: count('Of those who asked since then: paid an order, and that was not taken back'),
    unpaid: count('Of the same: paid none, and an order ended unpaid; of the others nothing is known'),
  },
);

export type ClientCounts = Shape<typeof ClientCountsSchema>;

export const ArmCountsSchema = shape('What one version answered', {
  verdicts: count('All'),
  blocks: count('BLOCK'),
  waits: count('WAIT'),
  bots: count('isBot true'),
  clients: ClientCountsSchema,
});

export type ArmCounts = Shape<typeof ArmCountsSchema>;

export type ClientStatus = 'paid' | 'unpaid' | 'unknown';

const NO_CLIENTS: ClientCounts = { seen: 0, blocked: 0, waited: 0, bots: 0, paid: 0, unpaid: 0 };

export const NO_COUNTS: ArmCounts = { verdicts: 0, blocks: 0, waits: 0, bots: 0, clients: NO_CLIENTS };

export function countsOfStatus(before: ClientStatus, after: ClientStatus): ArmCounts {
  if (before === after) return NO_COUNTS;
  const change = (status: ClientStatus) => (after === status ? 1 : 0) - (before === status ? 1 : 0);
  return { ...NO_COUNTS, clients: { ...NO_CLIENTS, paid: change('paid'), unpaid: change('unpaid') } };
}

interface Answered {
  readonly verdict: string;
  readonly isBot: boolean;
}

function countsOf({ verdict, isBot }: Answered): ArmCounts {
  const is = (what: string) => (verdict === what ? 1 : 0);
  return { ...NO_COUNTS, verdicts: 1, blocks: is('BLOCK'), waits: is('WAIT'), bots: isBot ? 1 : 0 };
}

/** What a verdict shows of its client for the first time in the stage that began at `since`. */
export function countsOfClient(mark: StageMark | null, since: number, answered: Answered): ArmCounts {
  const before = mark?.since === since ? mark : null;
  const after = markStage(before, since, answered);
  const isNew = (what: 'blocked' | 'waited' | 'bot') => (after[what] && before?.[what] !== true ? 1 : 0);
  const clients = { blocked: isNew('blocked'), waited: isNew('waited'), bots: isNew('bot') };
  return { ...NO_COUNTS, clients: { ...NO_CLIENTS, seen: before === null ? 1 : 0, ...clients } };
}

export function addCounts(a: ArmCounts, b: ArmCounts): ArmCounts {
  return {
    verdicts: a.verdicts + b.verdicts,
    blocks: a.blocks + b.blocks,
    waits: a.waits + b.waits,
    bots: a.bots + b.bots,
    clients: {
      seen: a.clients.seen + b.clients.seen,
      blocked: a.clients.blocked + b.clients.blocked,
      waited: a.clients.waited + b.clients.waited,
      bots: a.clients.bots + b.clients.bots,
      paid: a.clients.paid + b.clients.paid,
      unpaid: a.clients.unpaid + b.clients.unpaid,
    },
  };
}

type Tally = Readonly<Record<string, number>>;

/** A kind of difference between the active version and its shadow, with decisions to look at. */
interface TrialDifference {
  /** `WAIT/attempt-unpaid -> BLOCK/bot-blocked` */
  readonly change: string;
  readonly count: number;
  /** Only ids: the order is read from its decision, so that it is gone as soon as its client is erased. */
  readonly sampleDecisions: readonly string[];
}

export interface TrialFigures {
  readonly arms: Readonly<Record<Arm, ArmCounts>>;
  readonly shadow: {
    readonly compared: number;
    readonly different: number;
    readonly differences: readonly TrialDifference[];
  };
  /** Decisions for which the candidate threw and the active version stepped in. */
  readonly candidateErrors: number;
}

export interface TrialCounts {
  /** Names the trial, its mode and its share of the clients: each is counted from zero. */
  readonly trial: string;
  readonly platforms: Readonly<Record<string, TrialFigures>>;
}

const DIFFERENCES_MAX = 50;
const SAMPLES_MAX = 5;

/** Further platforms are counted together under one name. */
const PLATFORMS_MAX = 100;
const LEFT_OVER = '';

const NO_FIGURES: TrialFigures = {
  arms: { active: NO_COUNTS, candidate: NO_COUNTS },
  shadow: { compared: 0, different: 0, differences: [] },
  candidateErrors: 0,
};

export function noTrialCounts(trial: string): TrialCounts {
  return { trial, platforms: {} };
}

/** The counts with one more answered verdict of a client that was drawn into an arm, and that had this mark. */
export function countDecision(
  counts: TrialCounts,
  decision: Decision,
  drawnInto: Arm,
  before: StageMark | null,
): TrialCounts {
  const { platform, arm, draw } = decision;
  const counted = countArm(counts, platform, arm, countsOf(decision));
  if (draw === undefined) return counted;
  return countArm(counted, platform, drawnInto, countsOfClient(before, draw.since, decision));
}

export function countStatus(
  counts: TrialCounts,
  platform: PlatformName,
  arm: Arm,
  statuses: readonly [before: ClientStatus, after: ClientStatus],
): TrialCounts {
  return countArm(counts, platform, arm, countsOfStatus(...statuses));
}

export function countShadow(counts: TrialCounts, decision: Decision, shadowed: Decision): TrialCounts {
  return change(counts, decision.platform, (figures) => {
    const { compared, different, differences } = figures.shadow;
    const what = changeBetween(decision, shadowed);
    const shadow =
      what === null
        ? { compared: compared + 1, different, differences }
        : {
            compared: compared + 1,
            different: different + 1,
            differences: noteDifference(differences, what, decision.decisionId),
          };
    return { ...figures, shadow };
  });
}

/** Null when the platform is not known. */
export function countCandidateError(counts: TrialCounts, platform: PlatformName | null): TrialCounts {
  return change(counts, platform ?? LEFT_OVER, (figures) => ({
    ...figures,
    candidateErrors: figures.candidateErrors + 1,
  }));
}

/** What was seen of a trial on one platform, or with null on all. */
export function sumTrialCounts({ platforms }: TrialCounts, platform: string | null): TrialFigures {
  return Object.entries(platforms)
    .filter(([name]) => platform === null || name === platform)
    .map(([, figures]) => figures)
    .reduce(addFigures, NO_FIGURES);
}

function countArm(counts: TrialCounts, platform: PlatformName, arm: Arm, more: ArmCounts): TrialCounts {
  return change(counts, platform, (figures) => ({
    ...figures,
    arms: { ...figures.arms, [arm]: addCounts(figures.arms[arm], more) },
  }));
}

function change(
  { trial, platforms }: TrialCounts,
  platform: string,
  by: (figures: TrialFigures) => TrialFigures,
): TrialCounts {
  const known = platforms[platform];
  const name = known === undefined && Object.keys(platforms).length >= PLATFORMS_MAX ? LEFT_OVER : platform;
  return { trial, platforms: { ...platforms, [name]: by(platforms[name] ?? NO_FIGURES) } };
}

function addFigures(a: TrialFigures, b: TrialFigures): TrialFigures {
  const differences = new Map(a.shadow.differences.map((difference) => [difference.change, difference]));
  for (const { change, count, sampleDecisions } of b.shadow.differences) {
    const known = differences.get(change) ?? { change, count: 0, sampleDecisions: [] };
    const samples = [...known.sampleDecisions, ...sampleDecisions].slice(0, SAMPLES_MAX);
    differences.set(change, { change, count: known.count + count, sampleDecisions: samples });
  }
  return {
    arms: {
      active: addCounts(a.arms.active, b.arms.active),
      candidate: addCounts(a.arms.candidate, b.arms.candidate),
    },
    shadow: {
      compared: a.shadow.compared + b.shadow.compared,
      different: a.shadow.different + b.shadow.different,
      differences: [...differences.values()].toSorted((x, y) => y.count - x.count).slice(0, DIFFERENCES_MAX),
    },
    candidateErrors: a.candidateErrors + b.candidateErrors,
  };
}

/** Null when the shadow answered alike: same verdict, wait, bot flag and group. */
function changeBetween(decision: Decision, shadowed: Decision): string | null {
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

function noteDifference(
  differences: readonly TrialDifference[],
  change: string,
  decisionId: string,
): readonly TrialDifference[] {
  const known = differences.find((difference) => difference.change === change);
  if (known === undefined) {
    return differences.length >= DIFFERENCES_MAX
      ? differences
      : [...differences, { change, count: 1, sampleDecisions: [decisionId] }];
  }
  const { sampleDecisions } = known;
  const samples = sampleDecisions.length < SAMPLES_MAX ? [...sampleDecisions, decisionId] : sampleDecisions;
  return differences.map((difference) =>
    difference === known ? { change, count: known.count + 1, sampleDecisions: samples } : difference,
  );
}

/**
 * What this process counted of a stage. It goes to the shared tally in batches that are sent again until the store
 * has them, each counted once. A process that is killed loses what it counted since its last batch.
 */
export class TrialTally {
  readonly #writer = randomUUID();
  #counts: TrialCounts;
  #sent: Tally = {};
  #sending: { readonly number: number; readonly upTo: Tally } | null = null;
  #number = 0;

  constructor(trial: string) {
    this.#counts = noTrialCounts(trial);
  }

  /** Since this process follows the stage. */
  get counts(): TrialCounts {
    return this.#counts;
  }

  count(counted: (counts: TrialCounts) => TrialCounts): void {
    this.#counts = counted(this.#counts);
  }

  /** Throws StoreUnavailable when the batch may not have arrived; it is sent again with the next call. */
  async send(tallies: Tallies): Promise<void> {
    this.#sending ??= { number: ++this.#number, upTo: tallyOf(this.#counts) };
    const { number, upTo } = this.#sending;
    const counts = difference(upTo, this.#sent);
    if (Object.keys(counts).length > 0)
      await tallies.add(this.#counts.trial, { writer: this.#writer, number, counts });
    this.#sent = upTo;
    this.#sending = null;
  }
}

/** Longer than a store could still apply a commit. */
const UNSURE_MS = 10_000;
const UNSURE_MAX = 10_000;

/** What is counted of a verdict or outcome whose caller was refused, once the store shows that it recorded it all the same. */
export class UnsureCounts {
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

  /** Each is taken out while it is asked for: two looks may overlap. What is not found in time was never recorded. */
  async settle(): Promise<void> {
    for (const isSettled of this.#waiting.splice(0))
      if (!(await isSettled().catch(() => false))) this.#waiting.push(isSettled);
  }
}

export async function sharedCounts(tallies: Tallies, trial: string): Promise<TrialCounts> {
  return countsOfTally(trial, await tallies.read(trial));
}

/** A field is the path to a figure, as JSON: `["shop","arms","active","verdicts"]`. */
export function tallyOf({ platforms }: TrialCounts): Tally {
  const fields = Object.entries(platforms).flatMap(([platform, { arms, shadow, candidateErrors }]) => [
    ...leaves({ arms, candidateErrors }, [platform]),
    ...leaves({ compared: shadow.compared, different: shadow.different }, [platform, 'shadow']),
    ...shadow.differences.flatMap(({ change, count, sampleDecisions }) => [
      [fieldOf(platform, 'change', change), count] as const,
      ...sampleDecisions.map((id) => [fieldOf(platform, 'sample', change, id), 1] as const),
    ]),
  ]);
  return Object.fromEntries(fields);
}

export function countsOfTally(trial: string, tally: Tally): TrialCounts {
  const fields = Object.keys(tally).map(pathOf);
  const names = new Set(fields.map(([platform = '']) => platform));
  const platforms = [...names].map((name) => [name, figuresOf(tally, name, fields)] as const);
  return { trial, platforms: Object.fromEntries(platforms) };
}

function figuresOf(tally: Tally, platform: string, fields: readonly (readonly string[])[]): TrialFigures {
  const count = (...path: readonly string[]) => tally[fieldOf(platform, ...path)] ?? 0;
  const mine = fields.filter(([name]) => name === platform);
  const named = (kind: string) => mine.filter(([, one]) => one === kind);
  const arm = (name: string): ArmCounts => {
    const of = (figure: string) => count('arms', name, figure);
    const ofClients = (figure: string) => count('arms', name, 'clients', figure);
    const [paid, unpaid] = [ofClients('paid'), ofClients('unpaid')];
    // A client with an outcome counts as seen, also when that count was lost with its process.
    const seen = Math.max(ofClients('seen'), paid + unpaid);
    const shares = { blocked: ofClients('blocked'), waited: ofClients('waited'), bots: ofClients('bots') };
    return {
      ...{ verdicts: of('verdicts'), blocks: of('blocks'), waits: of('waits'), bots: of('bots') },
      clients: { seen, ...shares, paid, unpaid },
    };
  };
  const differences = named('change').map(([, , change = '']) => ({
    change,
    count: count('change', change),
    sampleDecisions: named('sample').flatMap(([, , of, id = '']) => (of === change ? [id] : [])),
  }));
  return {
    arms: { active: arm('active'), candidate: arm('candidate') },
    shadow: { compared: count('shadow', 'compared'), different: count('shadow', 'different'), differences },
    candidateErrors: count('candidateErrors'),
  };
}

function fieldOf(...path: readonly string[]): string {
  return JSON.stringify(path);
}

function pathOf(field: string): readonly string[] {
  const path: unknown = JSON.parse(field);
  return Array.isArray(path) ? path.map(String) : [];
}

/** Every number below an object, by its path. */
function leaves(value: object, path: readonly string[]): readonly (readonly [string, number])[] {
  return Object.entries(value).flatMap(([name, below]: [string, unknown]) => {
    if (typeof below === 'number') return [[fieldOf(...path, name), below] as const];
    return typeof below === 'object' && below !== null ? leaves(below, [...path, name]) : [];
  });
}

function difference(after: Tally, before: Tally): Tally {
  return Object.fromEntries(
    Object.entries(after)
      .map(([field, count]) => [field, count - (before[field] ?? 0)] as const)
      .filter(([, count]) => count !== 0),
  );
}
