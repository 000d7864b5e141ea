import { DAY_MS } from '#base/duration.ts';
import { Type } from '#base/json-schema.ts';
import { choice, count, epochMs, list, named, nullable, plainText, shape } from '#base/shapes.ts';
import { isInstallation } from '#checkout/access/access-keys.ts';
import type { Caller } from '#checkout/access/caller.ts';
import {
  createTaggedOperations,
  declareJsonAnswer,
  declareOperation,
} from '#checkout/http/operation/operation.ts';
import type { RouteContext } from '#checkout/http/operation/parameter.ts';
import { FIGURES_OR_RULES } from '#checkout/http/request/authenticate.ts';
import {
  ATTRIBUTE_NAME_FORM_TEXT,
  ATTRIBUTE_NAME_PATTERN,
  isAttributeName,
} from '#decision/payer/attributes.ts';
import { isPlatformName, PLATFORM_NAME_PATTERN, type PlatformName } from '#decision/payer/client-key.ts';
import { erasedSinceMomentSchema } from '#history/archive/read/as-of.ts';
import {
  computeSpanFromSlotStart,
  EXPLAINING_SPLIT_NAMES,
  EXPLORED_SPAN_MS_MAX,
  EXPLORED_SPAN_NAMES,
  type ExplorationAsk,
  SPLIT_NAMES,
  type TimeSpan,
} from '#history/archive/read/exploration.ts';
import { UnreadDecisionsSchema } from '#history/archive/unread-decisions.ts';
import { PRESENT_ANSWER_KEPT_MS } from '#workbench/payers/records.ts';
import { COMMON_FILTER_PARAMETERS, readCommonFilter } from './decisions.ts';
import { FILTER_PARAMETERS } from './filter-parameters.ts';
import * as query from './parameters.ts';
import type { PlatformOperationParts } from './parts.ts';

const counted = shape('Decisions of a time', {
  part: count('With the verdict'),
  whole: count('With any verdict'),
});

const counts = (description: string) => list(count('Decisions'), `${description}, slot by slot`);

export const ExplorationSchema = named(
  'Exploration',
  shape('What was decided in a time span', {
    exploration: shape('Read from the archive and the journal together', {
      stepMs: Type.Integer({ minimum: 1, description: 'Length of a slot, milliseconds' }),
      slots: list(epochMs('Beginning of a slot, in whole steps of UTC'), 'Oldest first'),
      all: counts('Decisions that match the filters, whatever their verdict'),
      values: list(
        shape('Decisions that share one value of the split', {
          value: nullable(plainText('Null: all values other than the most frequent ones', 'WAIT')),
          decisions: counts('With the verdict'),
          money: Type.Record(list(Type.Number(), 'Slot by slot'), {
            description:
              'With include=money, what they asked for, by currency; an order counts once, when it was first asked for',
          }),
          orders: nullable(
            shape(
              'With include=money, the same orders by what came of them; a technical failure is left out',
              {
                granted: counts('A requisite was shown within the time'),
                paid: counts('Granted and paid, and not taken back'),
              },
            ),
          ),
        }),
        'The most frequent first; a decision counts under each of its signals and flags',
      ),
      change: nullable(
        shape('What differs from the time span that it is compared with', {
          before: counted,
          after: counted,
          contributions: list(
            shape('A value that explains a part of the difference', {
              dimension: choice(EXPLAINING_SPLIT_NAMES, 'The dimension'),
              value: plainText('The value'),
              before: counted,
              after: counted,
              difference: Type.Number({
                description: 'How many more decisions there are because of this value',
              }),
              share: Type.Number({ description: 'Share of the whole difference, from 0 to 1' }),
            }),
            'The most likely cause first',
          ),
        }),
      ),
      gaps: list(
        shape('Journal entries that were lost, or that wait to be shipped and are too many to read', {
          from: epochMs('About'),
          to: epochMs('About'),
          entries: count('About'),
        }),
        'Within the time',
      ),
      unreadable: list(
        UnreadDecisionsSchema,
        'Files within the time span that cannot be read; their rows are not counted',
      ),
      upTo: nullable(epochMs('Decisions since then are not counted; null: all are counted')),
      asOf: Type.Optional(erasedSinceMomentSchema),
    }),
  }),
);

const BY = query.choiceParameter(
  'by',
  SPLIT_NAMES.filter((name) => name !== 'attribute'),
  'What to split the decisions by; absent: verdict',
);
const ATTRIBUTE = query.textParameter('attribute', 'Split decisions by this attribute, whatever `by` says', {
  pattern: ATTRIBUTE_NAME_PATTERN,
});
const FROM = query.instantParameter('from', 'The beginning of the time span; absent: as `span` says');
const SPAN = query.choiceParameter(
  'span',
  EXPLORED_SPAN_NAMES,
  'Without `from`: the length of the time span, in whole slots; absent: day',
);
const TO = query.instantParameter(
  'to',
  'The end of the time span; absent: now, at most ten seconds old, or `asOf`',
);
const AS_OF = query.instantParameter(
  'asOf',
  'Count what was known at this time, which must not be before `from`; absent: now',
);
const AGAINST_FROM = query.instantParameter('againstFrom', 'The beginning of the time span to compare with');
const AGAINST_TO = query.instantParameter(
  'againstTo',
  'The end of the time span to compare with, only with `againstFrom`; absent: the beginning of the other',
);
const PLATFORM = query.textParameter(
  'platform',
  'One platform, only with a key of the whole installation; absent: all',
  {
    pattern: PLATFORM_NAME_PATTERN,
  },
);

const INCLUDE = query.choiceParameter(
  'include',
  ['money'],
  'Add the money asked for, granted and paid; this reads every order',
);

const readExploration = declareOperation({
  route: 'get /v1/platform/explore',
  summary: 'Count decisions over time and explain changes',
  description:
    'Counts decisions over a time span, split by what they have in common. Compared with another time span, it also says what contributes to the difference, the most likely cause first: a value ranks by its share of the difference minus its former share of all decisions.',
  grant: FIGURES_OR_RULES,
  isSearch: true,
  parameters: [
    SPAN,
    FROM,
    TO,
    BY,
    ATTRIBUTE,
    FILTER_PARAMETERS.verdict,
    ...COMMON_FILTER_PARAMETERS,
    AGAINST_FROM,
    AGAINST_TO,
    AS_OF,
    PLATFORM,
    INCLUDE,
  ],
  answers: declareJsonAnswer('Counts by slots of time; the example shows one', ExplorationSchema),
  answer: async ({ ctx, caller }, { records, clock }: PlatformOperationParts) => ({
    exploration: await records.explore(readAsk(ctx, caller, clock())),
  }),
});

export const EXPLORE_OPERATIONS = createTaggedOperations('Console', { readExploration });

function readAsk(ctx: RouteContext, caller: Caller, now: number): ExplorationAsk {
  const asOf = AS_OF.read(ctx);
  const to = TO.read(ctx) ?? (asOf === null ? roundUpNow(now) : asOf + 1);
  const [from, lasting] = [FROM.read(ctx), SPAN.read(ctx)];
  const wanted = from === null ? computeSpanFromSlotStart(to, lasting ?? 'day') : { from, to };
  const span = requireSpan(wanted, 'to must be after from');
  if (asOf !== null && asOf < span.from)
    throw query.BAD_PARAMETER.problem('The parameter asOf must not be before from.');
  const [againstFrom, againstTo] = [AGAINST_FROM.read(ctx), AGAINST_TO.read(ctx)];
  if (againstFrom === null && againstTo !== null)
    throw query.BAD_PARAMETER.problem('The parameter againstTo goes only with againstFrom.');
  const against = againstFrom === null ? null : { from: againstFrom, to: againstTo ?? span.from };
  return {
    ...span,
    platform: readPlatform(ctx, caller),
    ...readSplit(ctx),
    verdict: FILTER_PARAMETERS.verdict.read(ctx),
    filter: readCommonFilter(ctx),
    against: against === null ? null : requireSpan(against, 'againstTo must be after againstFrom'),
    asOf,
    money: INCLUDE.read(ctx) !== null,
  };
}

function readSplit(ctx: RouteContext): Pick<ExplorationAsk, 'by' | 'attribute'> {
  const [attribute, by] = [ATTRIBUTE.read(ctx), BY.read(ctx)];
  if (attribute === null) return { by: by ?? 'verdict' };
  if (isAttributeName(attribute)) return { by: 'attribute', attribute };
  throw query.BAD_PARAMETER.problem(`The parameter attribute has ${ATTRIBUTE_NAME_FORM_TEXT}.`);
}

/**
 * Rounds the end of a span up to ten seconds, so that a figure is computed once for everybody who asks in that time.
 */
function roundUpNow(now: number): number {
  return (Math.floor(now / PRESENT_ANSWER_KEPT_MS) + 1) * PRESENT_ANSWER_KEPT_MS;
}

function requireSpan(span: TimeSpan, rule: string): TimeSpan {
  const lengthMs = span.to - span.from;
  if (lengthMs > 0 && lengthMs <= EXPLORED_SPAN_MS_MAX) return span;
  throw query.BAD_PARAMETER.problem(
    `The parameter ${rule}, by at most ${EXPLORED_SPAN_MS_MAX / DAY_MS} days.`,
  );
}

/** Reads the platform of a question. Returns null for all platforms. */
function readPlatform(ctx: RouteContext, { platform }: Caller): PlatformName | null {
  const named = PLATFORM.read(ctx);
  if (named !== null && !isPlatformName(named))
    throw query.BAD_PARAMETER.problem('The parameter platform must be the name of a platform.');
  if (isInstallation(platform)) return named;
  if (named === null || named === platform) return platform;
  throw query.BAD_PARAMETER.problem('The parameter platform is for keys of the whole installation.');
}
