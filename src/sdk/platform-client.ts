import { type Answer, parseUncheckedJson, parseUnlessProposed } from './answer.ts';
import {
  checkIdentifier,
  checkWholeNumber,
  encodePathSegment,
  formatJson,
  formatQuery,
} from './arguments.ts';
import {
  type CallOptions,
  Connection,
  type ConnectionOptions,
  type OutgoingRequest,
  pause,
} from './connection.ts';
import type * as records from './records.ts';

/** The result of one of many lines. The line was taken, or it was refused without stopping the others. */
type LineResult<Result> = TakenLine<Result> | RefusedLine;

interface TakenLine<Result> {
  readonly result: Result;
  /**
   * Present only for an outcome of an order for which the client in the report never asked, but another client of the
   * platform did.
   */
  readonly askedBy?: records.OutcomeResult['askedBy'];
}

interface RefusedLine extends Omit<records.RefusedLine, 'line'> {
  /** True if the service could not take the line after several tries. Send the line later, or it is lost. */
  readonly retryable: boolean;
}

/** A reported outcome with what came of it: its effect, or the reason why this line was refused. */
export type ReportWithResult = { readonly report: records.OutcomeReport } & LineResult<records.OutcomeEffect>;

/** The effect of a change of a list. With `absent` the value was not on the list. */
export type ListEffect = Extract<records.ListLineResult, { result: unknown }>['result'];

/** A requested change of a list with what came of it: its effect, or the reason why this line was refused. */
export type ListChangeWithResult = { readonly change: records.ListChangeLine } & LineResult<ListEffect>;

/** Loads and saves the position of a reader of the feed, for example in a file or a database row. */
export interface FeedPositionStore {
  /** Returns the last saved position. Returns null at first. */
  readonly load: () => string | null | Promise<string | null>;
  readonly save: (next: string) => void | Promise<void>;
}

export interface FeedOptions {
  /** Events in one request, from 1 to 500. The default is 100. */
  readonly limit?: number | undefined;
  /**
   * Whether the feed waits for further events. With false, the feed ends if there is nothing new. The default is
   * true.
   */
  readonly follow?: boolean | undefined;
}

const BATCH_LINES_MAX = 1000;
/** How often lines that the service could not take are sent again, each time after a longer pause. */
const RESENDS_MAX = 3;
const RESEND_PAUSE_MS = 500;
/** The longest time that the service waits for an event. */
const FEED_WAIT_SECONDS = 20;
/** The timeout for a thousand lines, a search over years, or a rollout that every node must follow. */
const LONG_TIMEOUT_MS = 60_000;

/** The operations of the platform owner. Every method may throw a ScoringError. */
export class PlatformClient {
  readonly #connection: Connection;

  constructor(options: ConnectionOptions) {
    this.#connection = new Connection({
      ...options,
      // The interface's rate limit applies to scores and verdicts only.
      requestsPerSecondMax: options.requestsPerSecondMax ?? 0,
    });
  }

  /**
   * Reports the final outcome of an order. A repeat changes nothing, and a later different outcome replaces it.
   * `askedBy` in the answer says that another client than the reported one asked for the order.
   */
  async reportOutcome(report: records.OutcomeReport, options?: CallOptions): Promise<records.OutcomeResult> {
    checkIdentifier('clientIdKey', report.clientIdKey);
    checkIdentifier('orderRef', report.orderRef);
    return parseUncheckedJson(await this.#send('POST', 'outcomes', report, options));
  }

  /**
   * Sends any number of reports, a thousand at a time, and yields the result of each in the given sequence. If it
   * throws, reports without a result may not be recorded. Send them again. A repeat does no harm.
   */
  async *reportOutcomes(
    reports: Iterable<records.OutcomeReport> | AsyncIterable<records.OutcomeReport>,
    options: CallOptions = {},
  ): AsyncGenerator<ReportWithResult, void, undefined> {
    for await (const [report, end] of this.#lines<records.OutcomeReport, records.OutcomeEffect>(
      'outcomes',
      reports,
      options,
    ))
      yield { report, ...end };
  }

  /** Reads everything that is known of a client. Throws NotFoundError if nothing is known. */
  async client(clientIdKey: string, options?: CallOptions): Promise<records.ClientView> {
    return parseUncheckedJson(await this.#send('GET', formatClientPath(clientIdKey), undefined, options));
  }

  /** Reads the client's history, the newest entry first. Throws NotFoundError if nothing is known of the client. */
  async clientHistory(
    clientIdKey: string,
    query: records.PageQuery = {},
    options?: CallOptions,
  ): Promise<records.ClientHistory> {
    checkLimit(query);
    const path = formatClientPath(clientIdKey, '/history', query);
    return parseUncheckedJson(await this.#search(path, options));
  }

  /**
   * Finds the clients that share devices and addresses with this one, and the clients that a block would hit. Throws
   * NotFoundError.
   */
  async clientLinks(
    clientIdKey: string,
    query: records.LinksQuery = {},
    options?: CallOptions,
  ): Promise<records.ClientLinks> {
    checkLimit(query);
    return parseUncheckedJson(await this.#search(formatClientPath(clientIdKey, '/links', query), options));
  }

  /** Reads all data about the client into memory. The audit notes the export. */
  async exportClient(clientIdKey: string, options?: CallOptions): Promise<records.ClientExport> {
    return parseUncheckedJson(await this.#search(formatClientPath(clientIdKey, '/export'), options));
  }

  /**
   * Erases all data about the client. Returns the places that still contain bytes of the data for some time. Returns
   * null if there are none.
   */
  async eraseClient(clientIdKey: string, options?: CallOptions): Promise<records.TracesLeft | null> {
    const answer = await this.#send('DELETE', formatClientPath(clientIdKey), undefined, options);
    return answer.status === 202 ? parseUncheckedJson(answer) : null;
  }

  async bind(
    clientIdKey: string,
    binding: records.NewBinding,
    options?: CallOptions,
  ): Promise<records.Binding> {
    return parseUncheckedJson(
      await this.#send('PUT', formatClientPath(clientIdKey, '/binding'), binding, options),
    );
  }

  async unbind(clientIdKey: string, options?: CallOptions): Promise<void> {
    await this.#send('DELETE', formatClientPath(clientIdKey, '/binding'), undefined, options);
  }

  /** Sets an override. Throws ProposedError if another person has to approve it. */
  async setOverride(
    clientIdKey: string,
    override: records.NewOverride,
    options?: CallOptions,
  ): Promise<records.Override> {
    return parseUnlessProposed(
      await this.#send('PUT', formatClientPath(clientIdKey, '/override'), override, options),
    );
  }

  async liftOverride(clientIdKey: string, options?: CallOptions): Promise<void> {
    await this.#send('DELETE', formatClientPath(clientIdKey, '/override'), undefined, options);
  }

  /**
   * Finds a page of decisions about an order, a client or all clients, the newest first. The result says how far the
   * search went.
   */
  async decisions(query: records.DecisionQuery = {}, options?: CallOptions): Promise<records.FoundDecisions> {
    checkLimit(query);
    return parseUncheckedJson(await this.#search(`decisions${formatQuery(query)}`, options));
  }

  /**
   * Finds payers, orders, decisions, devices and list entries by a part of their ids, at least 2 characters long. The
   * result says how far back the search went, and what the key may not read.
   */
  async find(
    text: string,
    query: records.FindQuery = {},
    options?: CallOptions,
  ): Promise<records.FoundRecords> {
    checkIdentifier('text', text);
    checkLimit(query);
    return parseUncheckedJson(await this.#search(`find${formatQuery({ text, ...query })}`, options));
  }

  async decision(decisionId: string, options?: CallOptions): Promise<records.Decision> {
    return parseUncheckedJson(await this.#search(formatDecisionPath(decisionId), options));
  }

  async explanation(decisionId: string, options?: CallOptions): Promise<records.Explanation> {
    return parseUncheckedJson(await this.#search(`${formatDecisionPath(decisionId)}/explanation`, options));
  }

  /**
   * Reads the events of the platform's clients, the oldest first, from the position in `place`. Every event is
   * delivered at least once, always with the same id. The position is saved when the loop asks for the next page. The
   * feed never ends, unless `follow` is false. Then it ends when there is nothing new.
   */
  async *events(
    place: FeedPositionStore,
    { limit, follow = true }: FeedOptions = {},
    options?: CallOptions,
  ): AsyncGenerator<records.PlatformEvent, void, undefined> {
    checkLimit({ limit });
    for (let after = await place.load(); ; ) {
      const wait = follow ? FEED_WAIT_SECONDS : undefined;
      const query = formatQuery({ after: after ?? undefined, limit, wait });
      const { events, next } = parseUncheckedJson<records.EventPage>(
        await this.#search(`events${query}`, options),
      );
      yield* events;
      if (next !== after) await place.save(next);
      if (!follow && events.length === 0 && next === after) return;
      after = next;
    }
  }

  /** Reads the lists of the platform and of the whole installation by name, as the answering node has them. */
  async lists(query: records.PageQuery = {}, options?: CallOptions): Promise<records.SharedLists> {
    checkLimit(query);
    return parseUncheckedJson(await this.#send('GET', `lists${formatQuery(query)}`, undefined, options));
  }

  /** Reads a page of a list, the newest change first. `after` continues after a page. */
  async listEntries(
    list: string,
    query: records.ListEntryQuery = {},
    options?: CallOptions,
  ): Promise<records.ListEntries> {
    checkLimit(query);
    return parseUncheckedJson(await this.#send('GET', formatEntriesPath(list, query), undefined, options));
  }

  /** Makes a list of one kind. A list of kind `attribute` also names its attribute. A repeated call changes nothing. */
  async makeList(list: string, made: records.NewList, options?: CallOptions): Promise<records.SharedList> {
    return parseUncheckedJson(
      await this.#send('PUT', `lists/${encodePathSegment('list', list)}`, made, options),
    );
  }

  /** Puts a value on a list, or renews its reason and end. Every node knows of the value within 2 s. */
  async putListEntry(
    list: string,
    value: string,
    entry: records.NewListEntry,
    options?: CallOptions,
  ): Promise<records.ListEntry> {
    checkIdentifier('value', value);
    return parseUncheckedJson(await this.#send('PUT', formatEntriesPath(list, { value }), entry, options));
  }

  /**
   * Removes a value from a list. The result says whether the value was on the list. A retry after a lost answer says
   * that the value was not on the list. The audit log keeps the reason.
   */
  async removeListEntry(
    list: string,
    value: string,
    { reason }: { readonly reason?: string | undefined } = {},
    options?: CallOptions,
  ): Promise<records.ListRemovalResult> {
    checkIdentifier('value', value);
    return parseUncheckedJson(
      await this.#send('DELETE', formatEntriesPath(list, { value, reason }), undefined, options),
    );
  }

  /**
   * Sends any number of changes of a list, a thousand at a time, and yields the result of each in the given sequence.
   */
  async *changeList(
    list: string,
    changes: Iterable<records.ListChangeLine> | AsyncIterable<records.ListChangeLine>,
    options: CallOptions = {},
  ): AsyncGenerator<ListChangeWithResult, void, undefined> {
    const path = formatEntriesPath(list);
    for await (const [change, end] of this.#lines<records.ListChangeLine, ListEffect>(path, changes, options))
      yield { change, ...end };
  }

  async rulesStatus(options?: CallOptions): Promise<records.RolloutStatus> {
    return parseUncheckedJson(await this.#send('GET', 'rules', undefined, options));
  }

  /**
   * Rolls out a version and waits until every node follows, which may take some time. Throws RolloutRefusedError, or
   * ProposedError if another person has to approve the rollout.
   */
  async rollOut(request: records.RolloutRequest, options: CallOptions = {}): Promise<records.ChangedRollout> {
    return parseUnlessProposed(await this.#changeRules('rules/rollout', request, options));
  }

  /** Withdraws the candidates. If there is no candidate, returns to the previous version. */
  async rollBack(
    request: records.RollbackRequest,
    options: CallOptions = {},
  ): Promise<records.ChangedRollout> {
    return parseUncheckedJson(await this.#changeRules('rules/rollback', request, options));
  }

  /** Sends a change of rules. The change is never retried, because a second rollback would go back one more version. */
  #changeRules(path: string, body: object, options: CallOptions): Promise<Answer> {
    return this.#send('POST', path, body, options, {
      repeatable: false,
      attemptTimeoutMs: LONG_TIMEOUT_MS,
    });
  }

  /** Sends a search. Searches wait in a queue and may read years of the archive. A retry would have to wait again. */
  #search(path: string, options: CallOptions | undefined): Promise<Answer> {
    return this.#send('GET', path, undefined, options, { attemptTimeoutMs: LONG_TIMEOUT_MS });
  }

  /**
   * Sends a request. The request is retried unless `otherwise` forbids that, because most operations are idempotent.
   */
  #send(
    method: OutgoingRequest['method'],
    path: string,
    body: object | undefined,
    options: CallOptions | undefined,
    otherwise: Partial<OutgoingRequest> = {},
  ): Promise<Answer> {
    const content =
      body === undefined ? {} : { body: { type: 'application/json', text: formatJson('body', body) } };
    const request = { method, path: `/v1/platform/${path}`, repeatable: true };
    return this.#connection.send({ ...request, ...content, ...otherwise }, options);
  }

  /** Sends objects as lines of JSON in batches, and yields each with its result. */
  async *#lines<Sent extends object, Result>(
    path: string,
    all: Iterable<Sent> | AsyncIterable<Sent>,
    options: CallOptions,
  ): AsyncGenerator<readonly [Sent, LineResult<Result>], void, undefined> {
    let batch: Sent[] = [];
    for await (const one of all) {
      batch.push(one);
      if (batch.length < BATCH_LINES_MAX) continue;
      yield* await this.#sendBatch<Sent, Result>(path, batch, options);
      batch = [];
    }
    if (batch.length > 0) yield* await this.#sendBatch<Sent, Result>(path, batch, options);
  }

  /**
   * Sends a batch. If a line must be retried, sends the batch again from the first such line, so that the sequence
   * stays.
   */
  async #sendBatch<Sent extends object, Result>(
    path: string,
    batch: readonly Sent[],
    options: CallOptions,
  ): Promise<readonly (readonly [Sent, LineResult<Result>])[]> {
    let ends: readonly LineResult<Result>[] = [];
    for (let sends = 1; ; sends += 1) {
      const done = Math.max(0, ends.findIndex(isRetryable));
      const known = ends;
      const newer = await this.#sendLines<Result>(path, batch.slice(done), options);
      ends = batch.map((_, index) => {
        const before = known[index];
        return before !== undefined && !isRetryable(before)
          ? before
          : toLineResult(newer.get(index - done + 1));
      });
      if (sends > RESENDS_MAX || !ends.some(isRetryable)) break;
      await pause(sends * RESEND_PAUSE_MS, options.signal);
    }
    return batch.map((one, index) => [one, toLineResult(ends[index])]);
  }

  /** Sends lines, and returns the result of each by its number, counted from 1. */
  async #sendLines<Result>(
    path: string,
    sent: readonly object[],
    options: CallOptions,
  ): Promise<ReadonlyMap<number, LineResult<Result>>> {
    const text = sent.map((one) => `${formatJson('line', one)}\n`).join('');
    const answer = await this.#connection.send(
      {
        method: 'POST',
        path: `/v1/platform/${path}`,
        body: { type: 'application/x-ndjson', text },
        repeatable: true,
        attemptTimeoutMs: LONG_TIMEOUT_MS,
      },
      options,
    );
    const lines = answer.text
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => parseUncheckedJson<{ readonly line: number } & LineResult<Result>>(answer, line));
    return new Map(lines.map((line) => [line.line, line]));
  }
}

function isRetryable(end: LineResult<unknown>): boolean {
  return 'error' in end && end.retryable;
}

function toLineResult<Result>(line: LineResult<Result> | undefined): LineResult<Result> {
  if (line === undefined) {
    const detail = 'The answer broke off before this line; send it again.';
    return { error: 'no answer', code: 'no-answer', detail, retryable: true };
  }
  if ('result' in line) {
    const { result, askedBy } = line;
    return { result, ...(askedBy && { askedBy }) };
  }
  const { error, code, detail, errors, retryable } = line;
  return { error, code, detail, ...(errors && { errors }), retryable };
}

/** The value is in the query, because ranges of addresses cannot be in a path. */
function formatEntriesPath(list: string, query: object = {}): string {
  return `lists/${encodePathSegment('list', list)}/entries${formatQuery(query)}`;
}

/** The client is in the query, because URL parsers and proxies rewrite paths, which could turn one id into another. */
function formatClientPath(clientIdKey: string, below = '', query: object = {}): string {
  checkIdentifier('clientIdKey', clientIdKey);
  return `client${below}${formatQuery({ clientIdKey, ...query })}`;
}

function formatDecisionPath(decisionId: string): string {
  return `decisions/${encodePathSegment('decisionId', decisionId)}`;
}

function checkLimit({ limit }: records.PageQuery): void {
  if (limit !== undefined) checkWholeNumber('limit', limit, 1);
}
