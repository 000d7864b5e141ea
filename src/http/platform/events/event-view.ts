import type { EventFeed, FeedPage, FeedRecord } from '../../../archive/read/event-feed.ts';
import type { PlatformName } from '../../../client/client-key.ts';
import { type TProperties, Type } from '../../../json-schema.ts';
import { always, count, epochMs, named, oneOf, type Shape, shape, word } from '../../../shapes.ts';
import type { JournalGap } from '../../../state/journal/text.ts';
import { HAPPENED, type HistoryEntry, viewOfEntry } from '../client/client-history.ts';

/** CloudEvents 1.0 in JSON. */
function cloudEvent<
  const Name extends string,
  const Data extends TProperties,
  const Subject extends TProperties,
>(type: Name, description: string, subject: Subject, data: Data) {
  return named(
    `${type.charAt(0).toUpperCase()}${type.slice(1)}Event`,
    shape(description, {
      specversion: always('1.0'),
      id: word('Always the same for the same event: what was seen under it may be dropped'),
      source: word('The platform, as a URI-reference'),
      type: always(type),
      ...subject,
      time: word('When it was accepted, RFC 3339'),
      datacontenttype: always('application/json'),
      data: shape('By type', data),
    }),
  );
}

/** An event about a payer. */
function payerEvent<const Name extends string, const Data extends TProperties>(
  type: Name,
  description: string,
  data: Data,
) {
  const subject = word('The payer, by a number of this installation; that of an erasure is the same');
  const clientIdKey = word('The payer, as the caller chose it');
  return cloudEvent(type, description, { subject }, { clientIdKey, ...data });
}

export const PlatformEventSchema = named(
  'PlatformEvent',
  oneOf(
    'type',
    {
      verdict: payerEvent('verdict', 'A verdict was answered', HAPPENED.verdict.properties),
      outcome: payerEvent(
        'outcome',
        'An outcome was reported; it may repeat what was known',
        HAPPENED.outcome.properties,
      ),
      binding: payerEvent('binding', 'A binding was set or lifted', HAPPENED.binding.properties),
      override: payerEvent('override', 'An override was set or lifted', HAPPENED.override.properties),
      erasure: cloudEvent(
        'erasure',
        'A payer was erased: whoever keeps earlier events with this subject removes them',
        {
          subject: Type.Optional(
            word(
              'As in the events of the payer; absent when that is more than 30 days ago and nobody knows it any more: whoever keeps events from before it, and did not read on since, reads the feed anew from its beginning',
            ),
          ),
        },
        { kind: always('erasure'), at: epochMs('When it was accepted') },
      ),
      gap: cloudEvent(
        'gap',
        'Events were lost before they could be told, of this or another platform',
        {},
        {
          kind: always('gap'),
          from: epochMs('About; 0 where nobody can tell'),
          to: epochMs('About; 0 where nobody can tell'),
          entries: count('How many, about; 0 where nobody can tell'),
        },
      ),
    },
    'What happened, as a CloudEvent 1.0; `type` says what its data are',
  ),
);

type PlatformEvent = Shape<typeof PlatformEventSchema>;

/** The events of a page, the gaps first. */
export function eventsOf(
  platform: PlatformName,
  { records, gaps }: Pick<FeedPage, 'records' | 'gaps'>,
  numberOf: EventFeed['numberOf'],
): readonly PlatformEvent[] {
  return [
    ...gaps.map((gap) => gapEvent(platform, gap)),
    ...records.map((record) => eventOf(platform, record, numberOf)),
  ];
}

function gapEvent(platform: PlatformName, { from, to, entries }: JournalGap): PlatformEvent {
  const id = ['gap', from, to, entries].map(short).join('.');
  return { ...envelope(platform, id, to), type: 'gap', data: { kind: 'gap', from, to, entries } };
}

function eventOf(platform: PlatformName, record: FeedRecord, numberOf: EventFeed['numberOf']): PlatformEvent {
  const { at, place } = record;
  // A store that was restored numbers its entries from there again: the time tells them apart.
  const id = [place.partition, place.ms, place.seq, at].map(short).join('.');
  if (record.kind === 'erasure') {
    const data = { kind: record.kind, at } as const;
    const subject = record.clientNumber === '' ? {} : { subject: record.clientNumber };
    return { ...envelope(platform, id, at), ...subject, type: 'erasure', data };
  }
  const { clientIdKey } = record;
  const subject = numberOf(platform, clientIdKey);
  return { ...envelope(platform, id, at), subject, ...typed({ clientIdKey }, viewOfEntry(record)) };
}

/** An event's type with its data. */
function typed(about: { readonly clientIdKey: string }, entry: HistoryEntry) {
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
    default:
      throw new Error(entry satisfies never);
  }
}

function envelope(platform: PlatformName, id: string, at: number) {
  return {
    specversion: '1.0',
    id: `${platform}.${id}`,
    source: `client-scoring/${platform}`,
    time: new Date(at).toISOString(),
    datacontenttype: 'application/json',
  } as const;
}

function short(part: string | number): string {
  return typeof part === 'number' ? part.toString(36) : part;
}
