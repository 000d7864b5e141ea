import { choice, count, named, nullable, plainText, shape, type ValueOf, yesNo } from '#base/shapes.ts';
import {
  createTaggedOperations,
  declareJsonAnswer,
  declareOperation,
} from '#checkout/http/operation/operation.ts';
import { ANY_CONSOLE_OPERATION } from '#checkout/http/request/authenticate.ts';
import { RETENTION } from '#state/retention.ts';
import { PLATFORM_LISTENER_LIMITS } from './listener-shares.ts';
import type { PlatformOperationParts } from './parts.ts';

export const SettingsSchema = named(
  'Settings',
  shape('The settings of this node; they are changed in its environment', {
    platform: plainText('The platform of whoever asks; * is the whole installation', 'shop'),
    approvals: choice(['off', 'required'], 'Whether somebody else approves what reaches most payers'),
    limits: shape('How much may be asked', {
      perSecond: count('Requests of callers from one address; 0: any number'),
      burst: count('How many requests may come at once before that limit counts'),
      atOnce: count(
        'How many requests of one key or session this node answers at the same time, at the listener of platforms',
      ),
    }),
    keptMs: shape('How long each kind of data is kept, in ms', {
      clients: count('What is known of a payer, after the last change'),
      decisions: count('Decisions in the store'),
      archive: nullable(count('Decisions and outcomes in the archive; null: nothing is archived')),
      audit: count('Entries of the audit'),
    }),
    repeatsErasures: yesNo('After a backup is put back, clients who had been erased are erased again'),
    callers: shape('Where the client library reaches this node', {
      port: count('0: the system chose one'),
      tls: yesNo('Whether it speaks TLS itself'),
      basePath: plainText('Before every path; empty, or like /scoring', '/scoring'),
    }),
  }),
);

const readSettings = declareOperation({
  route: 'get /v1/platform/settings',
  summary: 'Read the settings of the service',
  description:
    'Shows the settings as the answering node read them at its start. The console shows them; none is secret.',
  grant: ANY_CONSOLE_OPERATION,
  answers: declareJsonAnswer('The settings of this node', SettingsSchema),
  answer: async (
    { caller: { platform } },
    parts: PlatformOperationParts,
  ): Promise<ValueOf<typeof SettingsSchema>> => {
    const { rateLimit, caller, basePath, requiresApproval, archive = null, erasureLedger = null } = parts;
    const { archiveKeepMs = RETENTION.stateMs, decisionsHotMs = RETENTION.decisionMs } = parts;
    return {
      platform,
      approvals: requiresApproval === true ? 'required' : 'off',
      limits: {
        perSecond: rateLimit.ratePerSecond,
        burst: rateLimit.burst,
        atOnce: PLATFORM_LISTENER_LIMITS.keyMax,
      },
      keptMs: {
        clients: RETENTION.stateMs,
        decisions: archive === null ? RETENTION.decisionMs : decisionsHotMs,
        archive: archive === null ? null : archiveKeepMs,
        audit: RETENTION.auditMs,
      },
      repeatsErasures: erasureLedger !== null,
      callers: { port: caller.port, tls: caller.tls !== undefined, basePath },
    };
  },
});

export const SETTINGS_OPERATIONS = createTaggedOperations('Console', { readSettings });
