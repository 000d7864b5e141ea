import {
  count,
  epochMs,
  list,
  named,
  nextPageCursorSchema,
  plainText,
  shape,
  type ValueOf,
} from '#base/shapes.ts';
import { isInstallation } from '#checkout/access/access-keys.ts';
import {
  createTaggedOperations,
  declareJsonAnswer,
  declareOperation,
} from '#checkout/http/operation/operation.ts';
import type { Parameter } from '#checkout/http/operation/parameter.ts';
import type { ChainEnd } from '#state/audit-log.ts';
import { AuditEntrySchema } from '#workbench/access/audit.ts';
import { AUDIT_ACTIONS } from '#workbench/access/audit-actions.ts';
import * as query from './parameters.ts';
import type { PlatformOperationParts } from './parts.ts';

const FILTERS = {
  who: query.textParameter(
    'who',
    'Only entries by keys, people or users whose name contains this; case does not matter',
  ),
  action: query.choiceParameter(
    'action',
    AUDIT_ACTIONS,
    'Only entries about this client, key, list, version or person',
  ),
  from: query.instantParameter('from', 'Only entries from this time on'),
  to: query.instantParameter('to', 'Only entries before this time'),
};
const AFTER = query.afterParameter(query.NUMBER_CURSOR);
const LIMIT = query.limitParameter();

const KNOWN_FORM = /^([1-9]\d{0,14}):([0-9a-f]{64})$/;
const KNOWN_TEXT = query.textParameter('known', '');

const FaultSchema = shape('An entry that was changed, dropped or swapped', {
  number: count('Its place in the audit'),
  what: plainText('In a sentence'),
});

export const AuditPageSchema = named(
  'AuditPage',
  shape('Entries of the audit', {
    entries: list(AuditEntrySchema, 'Newest first'),
    unreadable: list(FaultSchema, 'Entries of any platform that were changed past recognition'),
    next: nextPageCursorSchema,
  }),
);

export const readAudit = declareOperation({
  route: 'get /v1/platform/audit',
  summary: 'Who did what',
  description:
    'Entries of your own platform, newest first; a key of the whole installation gets all entries. One answer searches a few thousand entries, so it may hold few or none that fit; follow `next` to search on. What entries said about erased payers is removed.',
  grant: 'audit',
  isSearch: true,
  parameters: [...Object.values(FILTERS), AFTER, LIMIT],
  answers: declareJsonAnswer('A page', AuditPageSchema),
  answer: async (
    { ctx, caller: { platform } },
    { audit }: PlatformOperationParts,
  ): Promise<ValueOf<typeof AuditPageSchema>> => {
    const { next, ...found } = await audit.search(
      { platform: isInstallation(platform) ? null : platform, ...query.readParameters(ctx, FILTERS) },
      AFTER.read(ctx),
      LIMIT.read(ctx),
    );
    return { ...found, next: next === null ? null : String(next) };
  },
});

export const AuditCheckSchema = named(
  'AuditCheck',
  shape('Result of checking the audit', {
    checkedAt: epochMs('When the check ended'),
    entries: count('Entries of the whole installation'),
    forgotten: count('Entries about payers who were erased since'),
    faults: list(FaultSchema, 'Faults of the chain; empty when it is whole'),
  }),
);

/** The parameter for an audit entry that somebody noted elsewhere. The audit must still contain this entry. */
const KNOWN: Parameter<ChainEnd | null> = {
  name: 'known',
  in: 'query',
  required: false,
  description:
    'Number and hash of an entry that was noted elsewhere, like 17:9f86..; the check then also proves that this entry and all before it are unchanged',
  schema: { type: 'string', pattern: KNOWN_FORM.source },
  read: (ctx) => {
    const text = KNOWN_TEXT.read(ctx);
    if (text === null) return null;
    const [, number, hash = ''] = KNOWN_FORM.exec(text) ?? [];
    if (number !== undefined) return { number: Number(number), hash };
    throw query.BAD_PARAMETER.problem(
      'The parameter known must be the number and the hash of an audit entry, like 17:9f86..',
    );
  },
};

export const checkAudit = declareOperation({
  route: 'get /v1/platform/audit/check',
  command: {
    name: 'audit verify',
    summary: 'find entries that were changed, dropped or swapped',
    description:
      'With --known it also finds changes that somebody hid by making the chain anew, up to that entry. Exit code 1 when it finds any.',
  },
  summary: 'Check whether the audit was changed',
  description:
    'Follows the chain of all kept entries, as the command "audit verify" does; each entry has the hash of the one before. Without `known` it cannot notice that somebody with write access to the store made the chain anew. Of entries of other platforms it shows only their number.',
  grant: 'audit',
  isSearch: true,
  parameters: [KNOWN],
  answers: declareJsonAnswer('What does not fit', AuditCheckSchema),
  answer: async (
    { ctx },
    { audit, clock }: PlatformOperationParts,
  ): Promise<ValueOf<typeof AuditCheckSchema>> => {
    const { check, faults } = await audit.verify(KNOWN.read(ctx));
    return { checkedAt: clock(), entries: check.entries, forgotten: check.forgotten, faults };
  },
});

export const AUDIT_OPERATIONS = createTaggedOperations('Access', { readAudit, checkAudit });
