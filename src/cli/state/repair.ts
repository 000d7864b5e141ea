import type { Command } from 'commander';
import { actorOfUser } from '../../access/actor.ts';
import { type ClientKey, clientKey } from '../../client/client-key.ts';
import { nameText } from '../../rules/condition-text.ts';
import type { RebuiltClient, RepairPlan } from '../../service/repair/store-repair.ts';
import type { TextPlace } from '../../state/health/stored-texts.ts';
import { EXIT, FindingsError, UsageError } from '../exit.ts';
import { parsePlatform } from '../platform-option.ts';
import { print } from '../print.ts';
import { parseReason } from './reason.ts';
import { parseTextName, textName } from './text-name.ts';
import { withRepair } from './with-repair.ts';

interface RepairOptions {
  readonly platform?: string;
  readonly client?: string;
  readonly reason?: string;
  readonly json?: true;
}

/** state repair: puts something readable in the place of a text that cannot be read. */
export function repairCommand(state: Command): void {
  state
    .command('repair [name]')
    .description(
      'mend what cannot be read: a client is rebuilt from what was recorded of it, anything else is removed; without --reason it says what it would do',
    )
    .option('--platform <name>', 'with --client: the client instead of a name that "state check" lists')
    .option('--client <clientIdKey>', 'the client of that platform')
    .option('--reason <text>', 'why, for the audit; nothing is changed without it')
    .option('--json', 'print one JSON object')
    .action((name: string | undefined, options: RepairOptions) => repair(name, options));
}

async function repair(name: string | undefined, options: RepairOptions): Promise<void> {
  const { place, client } = parseTarget(name, options);
  const reason = options.reason === undefined ? null : parseReason(options.reason);
  const plan = await withRepair(async (store) => {
    const made = await store.plan(place, client);
    if (made === null)
      throw new FindingsError(
        `${textName(place)} needs no repair: there is no such text, or it can be read; "state check" lists what cannot`,
      );
    if (reason !== null && !(await store.carryOut(made, actorOfUser(), reason)))
      throw new FindingsError(`${textName(place)} changed meanwhile; look at it again with "state check"`);
    return made;
  });
  const done = reason !== null;
  if (!done) process.exitCode = EXIT.findings;
  print(options.json === true ? JSON.stringify(publicForm(plan, done)) : inWords(plan, done));
}

function parseTarget(
  name: string | undefined,
  { platform, client }: RepairOptions,
): { readonly place: TextPlace; readonly client: ClientKey | null } {
  if (name === undefined && platform !== undefined && client !== undefined) {
    const key = clientKey(parsePlatform(platform), client);
    return { place: { kind: 'client', name: key.hash }, client: key };
  }
  if (name === undefined || platform !== undefined || client !== undefined)
    throw new UsageError('say what to repair: a name that "state check" lists, or --platform and --client');
  const place = parseTextName(name);
  if (place === null)
    throw new UsageError(
      `"${name}" names nothing that is stored; a name is client/HASH, document/COLLECTION/NAME or register/NAME, as "state check" lists them`,
    );
  if (place.kind === 'register' && place.name === 'rollout')
    throw new UsageError(
      '"rules rollback --reason TEXT" repairs the rollout: from what the nodes decide with',
    );
  return { place, client: null };
}

function publicForm(plan: RepairPlan, done: boolean) {
  const { why, client, next, rebuilt } = plan;
  return {
    name: textName(plan),
    platform: client?.platform ?? null,
    clientIdKey: client?.clientIdKey ?? null,
    why,
    repaired: done,
    removed: next === null,
    rebuiltFrom:
      rebuilt === null
        ? null
        : { entries: rebuilt.entries, since: instantOf(rebuilt.since), complete: rebuilt.complete },
  };
}

function inWords(plan: RepairPlan, done: boolean): string {
  const { client, why, next, rebuilt } = plan;
  const whose = client === null ? '' : ` (${client.platform} ${nameText(client.clientIdKey)})`;
  const verb = done ? 'is' : 'would be';
  return [
    `${textName(plan)}${whose} ${done ? 'could not' : 'cannot'} be read: ${why}`,
    next === null ? `It ${verb} removed${removalOf(plan)}.` : `It ${verb} rebuilt from ${sourceOf(rebuilt)}.`,
    ...(rebuilt === null || next === null ? [] : contentsOf(rebuilt)),
    done ? 'The audit has one entry of it.' : 'Nothing was changed. Give --reason TEXT to have it done.',
  ].join('\n');
}

function removalOf({ kind }: RepairPlan): string {
  switch (kind) {
    case 'client':
      return ': nothing is recorded of the client, which starts again';
    case 'document':
      return '; an access key with this id is refused from then on, so issue a new one';
    case 'register':
      return '; the service writes it again';
    default:
      return kind satisfies never;
  }
}

function sourceOf(rebuilt: RebuiltClient | null): string {
  const entries = rebuilt?.entries ?? 0;
  const since = instantOf(rebuilt?.since ?? null);
  return `${entries} recorded ${entries === 1 ? 'entry' : 'entries'}${since === null ? '' : ` since ${since}`}`;
}

function contentsOf({ state, complete }: RebuiltClient): readonly string[] {
  const { seq, ladder, outcomes, binding, override } = state;
  const parts = [
    `${seq} ${seq === 1 ? 'decision' : 'decisions'}`,
    `ladder level ${ladder.level}`,
    `${outcomes.paidCount} paid and ${outcomes.unpaidCount} unpaid orders`,
    binding === null ? 'not bound' : `bound to ${binding.requisiteRef}`,
    override === null ? 'no decision by a person' : `${override.group} by decision of ${override.by}`,
  ];
  const rest = complete
    ? []
    : [
        'What happened before that is no longer recorded, and counts no more: look at bindings and overrides.',
      ];
  return [`It has ${parts.join(', ')}.`, ...rest];
}

function instantOf(at: number | null): string | null {
  return at === null ? null : new Date(at).toISOString();
}
