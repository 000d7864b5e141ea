import { type TProperties, Type } from '#base/json-schema.ts';
import * as s from '#base/shapes.ts';
import {
  createTaggedOperations,
  declareJsonAnswer,
  declareOperation,
  type GrantedRequest,
  stringifyInSteps,
} from '#checkout/http/operation/operation.ts';
import { createParameterProblem } from '#checkout/http/operation/parameter.ts';
import { TOO_MANY_AT_ONCE, UNKNOWN_KEY } from '#checkout/http/request/refusals.ts';
import type { PlatformName } from '#decision/payer/client-key.ts';
import type { EventFeed, FeedEvent } from '#history/archive/read/event-feed.ts';
import type { JournalGap } from '#state/journal.ts';
import { UnknownCursor } from '#state/store-errors.ts';
import { HISTORY_ENTRY_SCHEMAS, type HistoryEntry, toHistoryEntry } from './client/client-history.ts';
import { GrantWatch } from './grant-watch.ts';
import * as query from './parameters.ts';
import type { PlatformOperationParts } from './parts.ts';

/** Declares the schema of an event: CloudEvents 1.0 in JSON. */
function declareCloudEvent<
  const Name extends string,
  const Data extends TProperties,
  const Subject extends TProperties,
>(type: Name, description: string, subject: Subject, data: Data) {
  return s.named(
    `${type.charAt(0).toUpperCase()}${type.slice(1)}Event`,
    s.shape(description, {
      specversion: s.literal('1.0'),
      id: s.plainText(
        'Always the same for the same event, so that a repeated event can be recognised and dropped',
        'shop.0.0.1.m7v1k0',
      ),
      source: s.plainText('The platform, as a URI-reference', 'client-scoring/shop'),
      type: s.literal(type),
      ...subject,
      time: s.instantText('When it was accepted'),
      datacontenttype: s.literal('application/json'),
      data: s.shape('By type', data),
    }),
  );
}

function declarePayerEvent<const Name extends string, const Data extends TProperties>(
  type: Name,
  description: string,
  data: Data,
) {
  const subject = s.plainText('The payer, by a number of this installation; that of an erasure is the same');
  const clientIdKey = s.plainText('The payer, as the caller chose it');
  return declareCloudEvent(type, description, { subject }, { clientIdKey, ...data });
}

export const PlatformEventSchema = s.named(
  'PlatformEvent',
  s.oneOf(
    'type',
    {
      verdict: declarePayerEvent(
        'verdict',
        'A verdict was answered',
        HISTORY_ENTRY_SCHEMAS.verdict.properties,
      ),
      outcome: declarePayerEvent(
        'outcome',
        'An outcome was reported; it may repeat what was known',
        HISTORY_ENTRY_SCHEMAS.outcome.properties,
      ),
      binding: declarePayerEvent(
        'binding',
        'A binding was set or lifted',
        HISTORY_ENTRY_SCHEMAS.binding.properties,
      ),
      override: declarePayerEvent(
        'override',
        'An override was set or lifted',
        HISTORY_ENTRY_SCHEMAS.override.properties,
      ),
      waitEnded: declarePayerEvent(
        'waitEnded',
        'A person ended a wait before its time',
        HISTORY_ENTRY_SCHEMAS.waitEnded.properties,
      ),
      erasure: declareCloudEvent(
        'erasure',
        'A payer was erased: remove earlier events with this subject from your copies',
        {
          subject: Type.Optional(
            s.plainText(
              'As in the events of the payer. Absent 30 days after the erasure, when the service no longer knows it: if you have older events and have not read on since, read the feed again from its beginning',
            ),
          ),
        },
        { kind: s.literal('erasure'), at: s.epochMs('When it was accepted') },
      ),
      gap: declareCloudEvent(
        'gap',
        'Events were lost before the feed had them; they may be of this or another platform',
        {},
        {
          kind: s.literal('gap'),
          from: s.epochMs('About when; 0 when not known'),
          to: s.epochMs('About when; 0 when not known'),
          entries: s.count('About how many; 0 when not known'),
        },
      ),
    },
    'What happened, as a CloudEvent 1.0; `type` says what its data are',
  ),
);

type PlatformEvent = s.ValueOf<typeof PlatformEventSchema>;

function createGapEvent(platform: PlatformName, { from, to, entries }: JournalGap): PlatformEvent {
  const id = ['gap', from, to, entries].map(shortenPart).join('.');
  return { ...createEnvelope(platform, id, to), type: 'gap', data: { kind: 'gap', from, to, entries } };
}

function toEvent(
  platform: PlatformName,
  record: FeedEvent,
  numberOf: EventFeed['getClientNumber'],
): PlatformEvent {
  const { at, place } = record;
  // A restored store numbers its entries again from the restored moment. The time keeps their ids different.
  const id = [place.partition, place.ms, place.seq, at].map(shortenPart).join('.');
  if (record.kind === 'erasure') {
    const data = { kind: record.kind, at } as const;
    const subject = record.clientNumber === '' ? {} : { subject: record.clientNumber };
    return { ...createEnvelope(platform, id, at), ...subject, type: 'erasure', data };
  }
  const { clientIdKey } = record;
  const subject = numberOf(platform, clientIdKey);
  return {
    ...createEnvelope(platform, id, at),
    subject,
    ...toTypeAndData({ clientIdKey }, toHistoryEntry(record)),
  };
}

/** Returns the type of an event and its data. */
function toTypeAndData(about: { readonly clientIdKey: string }, entry: HistoryEntry) {
  switch (entry.kind) {
    case 'score':
      throw new Error('a score is no event');
    case 'verdict':
      return { type: entry.kind, data: { ...about, ...entry } };
    case 'outcome':
      return { type: entry.kind, data: { ...about, ...entry } };
    case 'binding':
      return { type: entry.kind, data: { ...about, ...entry } };
    case 'override':
      return { type: entry.kind, data: { ...about, ...entry } };
    case 'waitEnded':
      return { type: entry.kind, data: { ...about, ...entry } };
    default:
      throw new Error(entry satisfies never);
  }
}

function createEnvelope(platform: PlatformName, id: string, at: number) {
  return {
    specversion: '1.0',
    id: `${platform}.${id}`,
    source: `client-scoring/${platform}`,
    time: new Date(at).toISOString(),
    datacontenttype: 'application/json',
  } as const;
}

function shortenPart(part: string | number): string {
  return typeof part === 'number' ? part.toString(36) : part;
}

/** The most seconds that a request waits. Proxies wait longer for an answer. */
const WAIT_SECONDS_MAX = 20;

/**
 * The most requests of one key that may wait at once. A reader has one waiting request, and a second one while the
 * first still waits on a broken connection.
 */
const WAITING_MAX = 8;

const PLACE = /^([0-9]{1,15}|1(\.([0-9a-z]{1,8}(-[0-9a-z]{1,4})?)?){64})$/;

const AFTER = query.afterParameter(query.declareTextCursor(PLACE));
const LIMIT = query.limitParameter();
const WAIT = query.wholeNumberParameter(
  'wait',
  { min: 0, default: 0, max: WAIT_SECONDS_MAX },
  'Seconds to wait for an event when there is none',
);

const PageSchema = s.named(
  'EventPage',
  s.shape('What happened to the clients of a platform', {
    events: s.list(
      PlatformEventSchema,
      'Oldest first, about `limit` at most; it may be empty although more follow',
    ),
    next: s.plainText('Pass it as `after` to read on; present even without events', '1'),
  }),
);

const readEvents = declareOperation({
  route: 'get /v1/platform/events',
  summary: 'Read the event feed, oldest first',
  description: `Verdicts, outcomes, bindings, overrides, ended waits and erasures, for a copy in another system. Ask again with \`next\`,
which stays valid while the archive keeps its rows. Each event comes at least once, and the events of one payer
come in sequence; the \`id\` of an event never changes, so that repeats can be dropped. Lost events are reported by an
event of the type \`gap\`. With \`wait\`, an answer without events comes after that time, or when the node shuts down.`,
  grant: 'events',
  parameters: [AFTER, LIMIT, WAIT],
  answers: declareJsonAnswer('A page of events', PageSchema),
  answer: async (asked, { feed, waiting }: PlatformOperationParts) => {
    const { ctx, caller } = asked;
    const question = { after: AFTER.read(ctx), limit: LIMIT.read(ctx) };
    const waitSeconds = WAIT.read(ctx);
    if (waitSeconds > 0 && waiting.getCount(caller.credential.id) >= WAITING_MAX)
      throw TOO_MANY_AT_ONCE.problem('access key');
    waiting.increment(caller.credential.id);
    const end = new WaitEnd(asked, waitSeconds * 1000);
    try {
      const text = await waitForPage(asked, feed, question, end);
      ctx.type = 'json';
      return text;
    } catch (error) {
      if (error instanceof UnknownCursor) throw createParameterProblem(UNKNOWN_PLACE);
      throw error;
    } finally {
      end.stop();
      waiting.decrement(caller.credential.id);
    }
  },
});

export const EVENT_OPERATIONS = createTaggedOperations('Events', { readEvents });

const UNKNOWN_PLACE =
  'The parameter after is not a cursor of this installation. It must be the `next` of an earlier answer, unchanged; without it the feed begins at its start.';

/** Tells when a request stops waiting: when its time is up, its connection closes, or its key ends. */
class WaitEnd {
  readonly came: Promise<void>;
  readonly #grant: GrantWatch;
  readonly #timer: NodeJS.Timeout;
  #hasCome: boolean;

  constructor({ ctx, isStillGranted }: GrantedRequest<never>, waitMs: number) {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.came = promise;
    this.#hasCome = waitMs === 0;
    const come = () => {
      this.#hasCome = true;
      resolve();
    };
    this.#timer = setTimeout(come, waitMs);
    this.#grant = new GrantWatch(isStillGranted);
    this.#grant.ended.then(come);
    ctx.res.once('close', come);
  }

  get hasCome(): boolean {
    return this.#hasCome;
  }

  /** Throws 401 if the key was revoked or has expired in the meantime. */
  requireGrant(): void {
    if (this.#grant.hasEnded)
      throw UNKNOWN_KEY.problem('The access key was revoked or has expired while its request waited.');
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#grant.stop();
  }
}

/**
 * Returns the JSON of the next page. The page has no events only if the waiting time is over. Returns an empty text
 * if the caller no longer waits.
 */
async function waitForPage(
  { caller: { platform }, inTurn }: GrantedRequest<never>,
  feed: EventFeed,
  { after, limit }: { readonly after: string | null; readonly limit: number },
  end: WaitEnd,
): Promise<string> {
  for (let from = after; ; ) {
    const watch = feed.watch(platform);
    try {
      const page = await inTurn(() => readPageText(feed, platform, from, limit), null);
      if (page === null) return '';
      end.requireGrant();
      if (!page.isEmpty || end.hasCome || feed.hasEnded) return page.text;
      from = page.cursor;
      await Promise.race([watch.waitForNews(from), end.came]);
    } finally {
      watch.close();
    }
  }
}

async function readPageText(feed: EventFeed, platform: PlatformName, after: string | null, limit: number) {
  const { cursor, ended, gaps, records } = await feed.readPage(platform, after, limit);
  const events = [
    ...gaps.map((gap) => createGapEvent(platform, gap)),
    ...records.map((record) => toEvent(platform, record, feed.getClientNumber)),
  ];
  const text = await stringifyInSteps({
    events: events.map(s.createMomentWriter(PlatformEventSchema)),
    next: cursor ?? feed.beginning,
  });
  return { text, cursor, isEmpty: ended && events.length === 0 };
}
