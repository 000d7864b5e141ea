import { count, epochMs, list, named, nextPlace, type Shape, shape, word } from '#base/shapes.ts';
import { isInstallation } from '#checkout/access/access-keys.ts';
import { createChapter, declareJsonAnswer, declareOperation } from '#checkout/http/operation/operation.ts';
import type { Parameter } from '#checkout/http/operation/parameter.ts';
import type { ChainEnd } from '#state/audit-log.ts';
import { AuditEntrySchema } from '#workbench/access/audit.ts';
import { AUDIT_ACTIONS } from '#workbench/access/audit-actions.ts';
import * as query from './parameters.ts';
import type { PlatformParts } from './parts.ts';

const FILTERS = {
  who: query.text('who', 'Only entries of whoever has this in the name, in any case'),
  action: query.choice('action', AUDIT_ACTIONS, 'Only entries about this'),
  from: query.instant('from', 'Only entries from then on'),
  to: query.instant('to', 'Only entries from before'),
};
const AFTER = query.after(query.NUMBER_PLACES);
const LIMIT = query.limit();

const KNOWN_FORM = /^([1-9]\d{0,14}):([0-9a-f]{64})$/;
const KNOWN_TEXT = query.text('known', '');

const FaultSchema = shape('An entry that was changed, dropped or swapped', {
  number: count('Its place in the audit'),
  what: word('In a sentence'),
});

export const AuditPageSchema = named(
  'AuditPage',
  shape('Entries of the audit', {
    entries: list(AuditEntrySchema, 'Newest first'),
    unreadable: list(FaultSchema, 'Entries of any platform that were changed past recognition'),
    next: nextPlace,
  }),
);

export const readAudit = declareOperation({
  route: 'get /v1/platform/audit',
  summary: 'Who did what',
  description:
    'At the platform of whoever asks, newest first; the whole installation is shown all. An answer looks through some thousand entries: it may hold few that fit, or none, and `next` leads on. What told of an erased payer is gone.',
  grant: 'audit',
  isSearch: true,
  parameters: [...Object.values(FILTERS), AFTER, LIMIT],
  answers: declareJsonAnswer('A page', AuditPageSchema),
  answer: async (
    { ctx, caller: { platform } },
    { audit }: PlatformParts,
  ): Promise<Shape<typeof AuditPageSchema>> => {
    const { next, ...found } = await audit.search(
      { platform: isInstallation(platform) ? null : platform, ...query.readAll(ctx, FILTERS) },
      AFTER.read(ctx),
      LIMIT.read(ctx),
    );
    return { ...found, next: next === null ? null : String(next) };
  },
});

export const AuditCheckSchema = named(
  'AuditCheck',
  shape('Whether the audit is as it was written', {
    checkedAt: epochMs('When the newest entry was looked at'),
    entries: count('Of the whole installation'),
    forgotten: count('Of these, so many told of payers who were erased'),
    faults: list(FaultSchema, 'None: the chain is whole'),
  }),
);

/** An entry that was written down elsewhere: it must still be there. */
const KNOWN: Parameter<ChainEnd | null> = {
  name: 'known',
  in: 'query',
  required: false,
  description:
    'Number and hash of an entry that was written down elsewhere, like 17:9f86..: it must still be there, and all before it unchanged',
  schema: { type: 'string', pattern: KNOWN_FORM.source },
  read: (ctx) => {
    const text = KNOWN_TEXT.read(ctx);
    if (text === null) return null;
    const [, number, hash = ''] = KNOWN_FORM.exec(text) ?? [];
    if (number !== undefined) return { number: Number(number), hash };
    throw query.BAD_PARAMETER.problem(
      'The parameter known takes the number and the hash of an entry as the audit tells them, like 17:9f86..',
    );
  },
};

export const checkAudit = declareOperation({
  route: 'get /v1/platform/audit/check',
  command: {
    name: 'audit verify',
    summary: 'find entries that were changed, dropped or swapped',
    description:
      'With --known also those that a chain made anew hides, up to that entry. Exit code 1 when there are any.',
  },
  summary: 'Whether the audit was changed',
  description:
    'Follows the chain of all entries that are kept, as the command "audit verify" does; each has the hash of the one before. Without `known` it shows nothing that somebody who writes the store chained anew. Of entries of other platforms it says nothing but their number.',
  grant: 'audit',
  isSearch: true,
  parameters: [KNOWN],
  answers: declareJsonAnswer('What does not fit', AuditCheckSchema),
  answer: async ({ ctx }, { audit, clock }: PlatformParts): Promise<Shape<typeof AuditCheckSchema>> => {
    const { check, faults } = await audit.verify(KNOWN.read(ctx));
    return { checkedAt: clock(), entries: check.entries, forgotten: check.forgotten, faults };
  },
});

export const AUDIT_OPERATIONS = createChapter('Access', { readAudit, checkAudit });
