import { type Command, Option } from 'commander';
import type { ValueOf, WithMomentsAsText } from '#base/shapes.ts';
import {
  GRANTABLE_OPERATIONS,
  type GrantableOperation,
  INSTALLATION_PLATFORM,
  isInstallation,
  KEY_DAYS_MAX,
  KeyRefused,
  listGrantableOperations,
} from '#checkout/access/access-keys.ts';
import type { PlatformName } from '#decision/payer/client-key.ts';
import { type AccessKeySchema, toKeyView } from '#workbench/access/key-views.ts';
import type { StoredProposal } from '#workbench/approvals/proposals.ts';
import { issueKey, type KeyListSchema, listKeys, revokeKey } from '#workbench/platform/keys.ts';
import { UsageError } from './exit.ts';
import { addOperationCommand, type CommandContext, formatProposedChange } from './operation-command.ts';
import { formatItemTable } from './operation-table.ts';
import { parseLifetime } from './options.ts';

type KeyView = WithMomentsAsText<ValueOf<typeof AccessKeySchema>>;

/** The lifetime of a key for which none is given, so that a forgotten key expires. */
const DEFAULT_LIFETIME = '365d';

/** Matches the name of a key's owner. It is printable, so that any terminal can show it. */
const OWNER = /^[^\p{C}\p{Zl}\p{Zp}]{1,64}$/u;

/** Adds `keys issue`, `list` and `revoke`. A key lets its holder call some operations for a platform. */
export function addKeysCommands(program: Command): void {
  const keys = program.command('keys').description('access keys of platforms');

  addOperationCommand<Issued>(keys, {
    operation: issueKey,
    platform: 'named or *',
    omittedInputs: ['days'],
    options: [
      new Option(
        '--operations <list>',
        `comma-separated: ${GRANTABLE_OPERATIONS.join(', ')}; operate only with "*"; approve needs an owner`,
      ).makeOptionMandatory(),
      new Option(
        '--expires <duration>',
        `lifetime, like 90d, ${KEY_DAYS_MAX} days at most; "never" for a key of "*" that does not expire`,
      ).default(DEFAULT_LIFETIME),
      new Option(
        '--owner <name>',
        'the person or team responsible for the key, as shown in history, audit and approvals; person:SUB for a person who also signs in',
      ),
    ],
    run: issue,
    formatAnswer: formatIssuedKey,
    toJsonValue: ({ key, record, proposal }) => {
      const { id, platform, operations, expiresAt } = record;
      const waits = proposal === null ? {} : { proposalId: proposal.proposalId };
      return { id, key, platform, operations, expiresAt, ...waits };
    },
  });

  addOperationCommand<WithMomentsAsText<ValueOf<typeof KeyListSchema>>>(keys, {
    operation: listKeys,
    formatAnswer: (list) =>
      list.keys.length === 0
        ? 'There is no key yet. Issue one: keys issue --platform <name> --operations score,verdict'
        : formatItemTable(listKeys, list.keys, { expiresAt: 'NEVER' }),
    jsonHelp: 'print a JSON array',
  });

  addOperationCommand<KeyView>(keys, {
    operation: revokeKey,
    formatAnswer: (key) => `Key ${key.id} of ${formatKeyPlace(key)} is revoked.`,
  });
}

interface Issued {
  readonly key: string;
  readonly record: KeyView;
  readonly proposal: StoredProposal | null;
}

/**
 * Issues a key. A person with access to the store may give a key to any platform, for any operation and in anybody's
 * name.
 */
async function issue({ parts, platform, options, caller }: CommandContext): Promise<Issued> {
  const { keys, approvals, clock } = parts;
  const operations = parseOperations(String(options['operations']), platform);
  const lifetimeMs = options['expires'] === 'never' ? null : parseLifetime(String(options['expires']));
  const owner = options['owner'] === undefined ? undefined : parseOwner(String(options['owner']));
  return refuseAsUsageError(async () => {
    await keys.requireRoom(platform);
    const { key, record } = keys.createKey(platform, operations, lifetimeMs, owner);
    const change = { what: 'key', record } as const;
    const proposal = await approvals.propose(INSTALLATION_PLATFORM, change, caller.actor);
    if (proposal === null) await approvals.keepKey({ platform, who: caller.actor.text }, change);
    return { key, record: toKeyView(record, clock()), proposal };
  });
}

async function refuseAsUsageError<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw error instanceof KeyRefused ? new UsageError(error.message) : error;
  }
}

function formatIssuedKey({ key, record, proposal }: Issued): string {
  const { id, operations, expiresAt } = record;
  const end = expiresAt === null ? 'does not expire' : `expires ${expiresAt}`;
  return [
    ...(proposal === null ? [] : [formatProposedChange(proposal.proposalId, proposal.lines)]),
    `Key ${id} for ${formatKeyPlace(record)}: ${operations.join(', ')}; ${end}.`,
    `Store it as a secret; it is shown only now${proposal === null ? '' : ', and works once it is approved'}:`,
    key,
  ].join('\n');
}

function formatKeyPlace({ platform, owner }: KeyView): string {
  const whose = isInstallation(platform) ? 'the whole installation' : `platform "${platform}"`;
  return owner === null ? whose : `${whose}, owner ${owner}`;
}

function parseOwner(text: string): string {
  if (OWNER.test(text)) return text;
  throw new UsageError(`--owner must be 1 to 64 printable characters, not ${JSON.stringify(text)}`);
}

/** Parses the operations of a key. Throws UsageError for an operation that the platform cannot have. */
function parseOperations(list: string, whose: PlatformName): readonly GrantableOperation[] {
  const names = list.split(',').map((name) => name.trim());
  return names.map((name) => {
    const operation = listGrantableOperations(whose).find((one) => one === name);
    if (operation !== undefined) return operation;
    throw new UsageError(
      isInstallation(whose)
        ? `keys of the whole installation may have ${listGrantableOperations(whose).join(', ')}; issue a key of a platform for "${name}"`
        : `"${name}" concerns every platform, so only keys of the whole installation may have it: --platform '*'`,
    );
  });
}
