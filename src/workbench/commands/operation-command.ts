import { type Command, Option } from 'commander';
import { isJsonObject } from '#base/files/json-object.ts';
import { INSTALLATION } from '#checkout/access/access-keys.ts';
import type { Caller } from '#checkout/access/caller.ts';
import type { CommandSpec, DeclaredOperation } from '#checkout/http/operation/operation.ts';
import { HttpProblem } from '#checkout/http/request/problems.ts';
import { readConfig } from '#config.ts';
import { PLATFORM_NAME_FORM, type PlatformName } from '#decision/payer/client-key.ts';
import { ProposalRefused } from '#workbench/approvals/proposals.ts';
import { isGated } from '#workbench/platform/gated-operation.ts';
import type { RuleParts } from '#workbench/platform/parts.ts';
import { FindingsError, UsageError } from './exit.ts';
import type { Needs } from './local-parts.ts';
import type { Answer } from './operation-call.ts';
import {
  type InputPlace,
  inputsOf,
  type OperationInput,
  readInput,
  withLowerFirst,
} from './operation-inputs.ts';
import { parseListOwner, parsePlatform } from './options.ts';
import { print } from './print.ts';

/** With whose eyes a command looks. */
const PLATFORM_OPTIONS = {
  /** Of one platform, which must be named. */
  named: { flags: '--platform <name>', text: `whose it is, ${PLATFORM_NAME_FORM}`, isRequired: true },
  /** The same, or the whole installation. */
  'named or *': {
    flags: '--platform <name>',
    text: `the platform, ${PLATFORM_NAME_FORM}; "*" for the whole installation`,
    isRequired: true,
  },
  /** The whole installation unless a platform is named. */
  any: { flags: '--platform <name>', text: 'whose; "*" of the whole installation', isRequired: false },
} as const;

/** What was given to a command, by the names of its words and options. */
export type CommandOptions = Readonly<Record<string, unknown>>;

/** Asks operations on one composition of parts. */
export interface Asking {
  readonly parts: RuleParts;
  readonly options: CommandOptions;
  readonly platform: PlatformName;
  /** Who asks, as the audit names him. */
  readonly caller: Caller;
  /** Throws what an operation refuses with, for people. */
  readonly ask: (
    operation: DeclaredOperation<RuleParts>,
    given: Readonly<Record<string, unknown>>,
    platform?: PlatformName,
  ) => Promise<Answer>;
}

/** The command of an operation. Its words, options and help follow from the operation; this is what people see of the answer. */
export interface OperationCommand<Told> {
  readonly operation: DeclaredOperation<RuleParts>;
  /** Absent: the whole installation, without an option. */
  readonly platform?: keyof typeof PLATFORM_OPTIONS;
  readonly needs?: Needs;
  /** Names of parameters and members that the command does not take. */
  readonly without?: readonly string[];
  /** Options that it takes otherwise, or besides. */
  readonly options?: readonly Option[];
  /** What the operation is asked with, where that is not what was given. */
  readonly given?: (options: CommandOptions, platform: PlatformName) => Readonly<Record<string, unknown>>;
  /** Does something else than to ask the operation once, or page by page. */
  readonly run?: (asking: Asking, given: Readonly<Record<string, unknown>>) => Promise<Told>;
  /** For people; an empty text is not printed. */
  readonly text: (told: Told, asking: Asking) => string;
  /** What --json prints, where that is not the answer, or of a list its items. */
  readonly json?: (told: Told, asking: Asking) => unknown;
  readonly jsonHelp?: string;
  /** Last, whatever was printed: notes for people, and the exit code. */
  readonly end?: (told: Told, asking: Asking) => void;
}

/** The commands of some operations below their common word. */
export function addOperationCommand<Told>(group: Command, declared: OperationCommand<Told>): void {
  const { operation, platform, options = [], without = [], given: givenOf } = declared;
  const { command: spec } = operation;
  if (spec === undefined) throw new Error(`${operation.route} declares no command`);
  const inputs = inputsOf(operation).filter(({ name }) => !without.includes(name));
  const words = (spec.words ?? []).flatMap((word) => inputs.filter(({ name }) => name === word));
  const command = group
    .command([spec.name.split(' ').slice(1).join(' '), ...words.map(wordText)].join(' '))
    .summary(withLowerFirst(spec.summary ?? operation.summary))
    .description(helpOf(operation, spec));
  if (platform !== undefined) command.addOption(platformOption(platform));
  const own = new Set(options.map((option) => option.attributeName()));
  for (const input of inputs)
    if (!words.includes(input) && !own.has(attributeOf(input))) command.addOption(input.option());
  for (const option of options) command.addOption(option);
  if (isGated(operation)) command.option(...WITHOUT_APPROVAL);
  command.option('--json', declared.jsonHelp ?? 'print one JSON object');
  command.action(async (...given: readonly unknown[]) => {
    const taken: CommandOptions = {
      ...command.opts(),
      ...Object.fromEntries(words.map(({ name }, index) => [name, given[index]])),
    };
    const whose = whoseEyes(platform, taken['platform']);
    const read = inputs.map((input) => [input.name, readInput(input, taken[attributeOf(input)])] as const);
    const values = Object.fromEntries(read.filter(([, value]) => value !== undefined));
    await run(declared, taken, whose, { ...values, ...givenOf?.(taken, whose) });
  });
}

/** `--without-approval` of the commands whose change somebody else may have to approve. */
export const WITHOUT_APPROVAL = [
  '--without-approval',
  'change it at once in spite of APPROVALS=required; the audit shows it',
] as const;

function wordText({ name, isRequired }: OperationInput): string {
  const word = name === 'clientIdKey' ? 'client' : name.endsWith('Id') ? 'id' : name;
  return isRequired ? `<${word}>` : `[${word}]`;
}

function attributeOf(input: OperationInput): string {
  return input.option().attributeName();
}

function helpOf({ summary, description }: DeclaredOperation<RuleParts>, spec: CommandSpec): string {
  const first = spec.summary ?? summary;
  const about = spec.description ?? description;
  const said = `${first.slice(0, 1).toUpperCase()}${first.slice(1)}.`;
  return about === '' ? said : `${said}\n\n${about}`;
}

function platformOption(kind: keyof typeof PLATFORM_OPTIONS): Option {
  const { flags, text, isRequired } = PLATFORM_OPTIONS[kind];
  const option = new Option(flags, text);
  return isRequired ? option.makeOptionMandatory() : option.default(INSTALLATION);
}

function whoseEyes(kind: keyof typeof PLATFORM_OPTIONS | undefined, given: unknown): PlatformName {
  if (kind === undefined) return INSTALLATION;
  return kind === 'named' ? parsePlatform(String(given)) : parseListOwner(String(given));
}

async function run<Told>(
  declared: OperationCommand<Told>,
  options: CommandOptions,
  platform: PlatformName,
  given: Readonly<Record<string, unknown>>,
): Promise<void> {
  const { operation, needs = {} } = declared;
  const withoutApproval = options['withoutApproval'] === true;
  await onParts({ ...needs, withoutApproval }, options, platform, async (asking) => {
    if (declared.run !== undefined) return show(declared, await declared.run(asking, given), asking);
    const answer = await asking.ask(operation, given);
    if (answer.status === 202) return printProposed(answer, asking);
    return show(declared, JSON.parse(await restOf(operation, answer, given, asking)), asking);
  });
}

/** Runs a command that asks operations in its own way. */
export async function onParts<T>(
  needs: Needs,
  options: CommandOptions,
  platform: PlatformName,
  work: (asking: Asking) => Promise<T>,
): Promise<T> {
  // Loaded only when a command runs: help needs nothing of the service.
  const { withLocalParts } = await import('./local-parts.ts');
  const { callOperation, systemUser } = await import('./operation-call.ts');
  const done = withLocalParts(needs, (parts) => {
    const isPast = needs.withoutApproval === true && readConfig().requiresApproval;
    const callerAt = (whose: PlatformName) => systemUser(whose, isPast ? ', without approval' : '');
    const ask: Asking['ask'] = async (operation, given, whose = platform) => {
      const caller = callerAt(whose);
      try {
        return await callOperation(operation, parts, caller, requestOf(operation, given));
      } catch (error) {
        throw forPeople(error, operation);
      }
    };
    return work({ parts, options, platform, caller: callerAt(platform), ask });
  });
  return done.catch((error: unknown) => {
    throw error instanceof ProposalRefused ? new FindingsError(error.message) : error;
  });
}

/** Puts what is given where the operation reads it. */
function requestOf(operation: DeclaredOperation<RuleParts>, given: Readonly<Record<string, unknown>>) {
  const inputs = inputsOf(operation);
  const at = (place: InputPlace) =>
    Object.fromEntries(
      inputs
        .filter((one) => one.in === place && given[one.name] !== undefined)
        .map(({ name }) => [name, given[name]]),
    );
  const texts = (place: InputPlace) =>
    Object.fromEntries(Object.entries(at(place)).map(([name, value]) => [name, String(value)]));
  const lines = given['lines'];
  const body = typeof lines === 'string' ? { lines } : { json: at('body') };
  return { path: texts('path'), query: texts('query'), ...(operation.body === null ? {} : { body }) };
}

/** All pages of a list as one, unless the command bounds it. */
async function restOf(
  operation: DeclaredOperation<RuleParts>,
  { json }: Answer,
  given: Readonly<Record<string, unknown>>,
  { ask }: Asking,
): Promise<string> {
  const isPaged = operation.parameters?.some(({ name }) => name === 'after') === true;
  const first: unknown = JSON.parse(json ?? 'null');
  const member = isPaged && given['limit'] === undefined ? itemsMember(first) : null;
  if (member === null || !isJsonObject(first)) return json ?? 'null';
  const items = [...itemsIn(first, member)];
  for (let { next } = first; typeof next === 'string'; ) {
    const page: unknown = JSON.parse((await ask(operation, { ...given, after: next })).json ?? 'null');
    if (!isJsonObject(page)) break;
    items.push(...itemsIn(page, member));
    ({ next } = page);
  }
  return JSON.stringify({ ...first, [member]: items, next: null });
}

/** The member of a list's answer that holds its items, which is the first of its lists. */
function itemsMember(answer: unknown): string | null {
  if (!isJsonObject(answer) || !('next' in answer)) return null;
  return Object.entries(answer).find(([, value]) => Array.isArray(value))?.[0] ?? null;
}

function itemsIn(answer: Readonly<Record<string, unknown>>, member: string): readonly unknown[] {
  const items = answer[member];
  return Array.isArray(items) ? items : [];
}

function show<Told>({ text, json, end }: OperationCommand<Told>, told: Told, asking: Asking): void {
  if (asking.options['json'] === true) {
    const member = itemsMember(told);
    const plain = member !== null && isJsonObject(told) ? itemsIn(told, member) : told;
    print(JSON.stringify(json === undefined ? plain : json(told, asking)));
  } else {
    const said = text(told, asking);
    if (said !== '') print(said);
  }
  end?.(told, asking);
}

/** Says what waits for somebody else, and how that is approved. */
async function printProposed({ json }: Answer, { parts, options }: Asking): Promise<void> {
  const { proposalId }: { readonly proposalId: string } = JSON.parse(json ?? '{}');
  if (options['json'] === true) return print(json ?? 'null');
  const proposals = await parts.approvals.all(INSTALLATION);
  print(proposedText(proposalId, proposals.find((one) => one.proposalId === proposalId)?.lines ?? []));
}

export function proposedText(proposalId: string, lines: readonly string[]): string {
  return [
    'Nothing was changed: somebody else has to approve it.',
    ...lines.map((line) => `  ${line}`),
    `To approve: proposals approve ${proposalId} --platform '${INSTALLATION}' --reason ...`,
  ].join('\n');
}

/** What an operation refuses with, with the options of the command for the names of the interface. */
function forPeople(error: unknown, operation: DeclaredOperation<RuleParts>): unknown {
  if (!(error instanceof HttpProblem)) return error;
  const { status, message, errors } = error;
  const flags = new Map(inputsOf(operation).map((input) => [input.name, input.shown]));
  const [at] = errors;
  const member = at === undefined ? undefined : flags.get(at.pointer.slice(1).split('/')[0] ?? '');
  const said =
    at !== undefined && member !== undefined
      ? `${member} ${at.detail}`
      : message.replace(/^The parameter (\w+)/, (whole, name: string) => flags.get(name) ?? whole);
  if (status === 400) return new UsageError(said);
  return status >= 500 ? error : new FindingsError(said);
}
