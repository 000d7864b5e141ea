/** Counts that many processes add to, by tally and field. */
export interface Tallies {
  /** Adds a batch exactly once: the one that a writer added last changes nothing when it comes again. */
  add(tally: string, batch: TallyBatch): Promise<void>;
  /** By field; nothing of a tally that nobody added to, or not for RETENTION.tallyMs. */
  read(tally: string): Promise<Readonly<Record<string, number>>>;
}

export interface TallyBatch {
  readonly writer: string;
  /** Higher than that of the writer's batch before, never 0. */
  readonly number: number;
  readonly counts: Readonly<Record<string, number>>;
}

/** The field that holds the number of a writer's last batch; no count begins so. */
const WRITER = 'writer:';

export function writerField(writer: string): string {
  return WRITER + writer;
}

/** The counts among the fields of a tally, as the store gives them. */
export function tallyCounts(fields: Iterable<readonly [string, unknown]>): Readonly<Record<string, number>> {
  return Object.fromEntries(
    [...fields]
      .filter(([field]) => !field.startsWith(WRITER))
      .map(([field, count]) => [field, Number(count)]),
  );
}
