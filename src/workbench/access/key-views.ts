import { choice, instantText, list, named, nullable, plainText, shape, type ValueOf } from '#base/shapes.ts';
import {
  type AccessKey,
  GRANTABLE_OPERATIONS,
  type GrantableOperation,
  getKeyStatus,
  isGranted,
  KEY_STATUSES,
  listGrantableOperations,
} from '#checkout/access/access-keys.ts';

/** The example of a key in documents. */
export const KEY_EXAMPLE = 'ka_3f9a0c51d2e7_wJalrXUtnFEMIK7MDENGbPxRfiCYEXAMPLEKEYexampl';

export const AccessKeySchema = named(
  'AccessKey',
  shape('What is kept of an access key; the key itself is shown when it is issued, and never again', {
    id: plainText('The part of the key between its first two underscores', '3f9a0c51d2e7'),
    platform: plainText('Whose key it is; * is the whole installation', 'shop'),
    owner: nullable(plainText('The person or team that answers for it', 'person:248289761001')),
    operations: list(choice(GRANTABLE_OPERATIONS, 'An operation'), 'What it was granted'),
    status: choice(KEY_STATUSES, 'Only live keys are let in'),
    issuedAt: instantText('When it was issued'),
    expiresAt: nullable(instantText('Until when it is let in; null: it does not expire')),
    revokedAt: nullable(instantText('When it was revoked; null: it was not')),
  }),
);

export function toKeyView(record: AccessKey, now: number): ValueOf<typeof AccessKeySchema> {
  const { id, platform, owner = null, operations, issuedAt, expiresAt, revokedAt } = record;
  return {
    id,
    platform,
    owner,
    operations,
    status: getKeyStatus(record, now),
    issuedAt,
    expiresAt,
    revokedAt,
  };
}

/** Creates the entry of the audit about a key that was issued or revoked, without the key's secret. */
export function createKeyAuditNote(
  action: 'key issued' | 'key revoked',
  before: AccessKey | null,
  after: AccessKey,
  now: number,
) {
  const { platform, id: subject } = after;
  const was = before && toKeyView(before, now);
  return { action, platform, subject, before: was, after: toKeyView(after, now) };
}

/** Operations of programs, which no role of people includes. */
const PROGRAM_OPERATIONS: readonly GrantableOperation[] = ['score', 'verdict', 'outcomes', 'events'];

/**
 * Lists the operations that the holder of a key may grant to other keys. A key of a platform may grant its own
 * operations. If the key has `clients` and `decisions`, it may also grant the operations of programs. `operate` and
 * `approve` are granted only by roles, or by commands at the store.
 */
export function listGivableOperations(
  maker: Pick<AccessKey, 'platform' | 'operations'>,
): readonly GrantableOperation[] {
  const actsForPrograms = isGranted(maker, 'clients') && isGranted(maker, 'decisions');
  return listGrantableOperations(maker.platform).filter((one) => {
    if (one === 'operate' || one === 'approve') return false;
    return isGranted(maker, one) || (actsForPrograms && PROGRAM_OPERATIONS.includes(one));
  });
}
