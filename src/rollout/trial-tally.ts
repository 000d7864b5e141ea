import { randomUUID } from 'node:crypto';
import type { Tallies } from '../state/store.ts';
import type { ArmCounts } from './arm-counts.ts';
import { noTrialCounts, type TrialCounts, type TrialFigures } from './trial-counts.ts';

type Tally = Readonly<Record<string, number>>;

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

/** What all processes sent of a stage. */
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
