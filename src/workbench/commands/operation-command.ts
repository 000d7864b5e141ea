import { type Command, Option } from 'commander';
import { isJsonObject } from '#base/files/json-object.ts';
import { INSTALLATION_PLATFORM } from '#checkout/access/access-keys.ts';
import type { Caller } from '#checkout/access/caller.ts';
import type { CliCommandSpec, DeclaredOperation } from '#checkout/http/operation/operation.ts';
import { HttpProblem } from '#checkout/http/request/problems.ts';
import { readConfig } from '#config.ts';
import type { PlatformName } from '#decision/payer/client-key.ts';
import { ProposalRefused } from '#workbench/approvals/proposals.ts';
import { isSubjectToApproval } from '#workbench/platform/approval-operation.ts';
import type { RuleParts } from '#workbench/platform/parts.ts';
import { FindingsError, NothingFoundError, StateForbidsChangeError, UsageError } from './exit.ts';
import type { OperationNeeds } from './local-parts.ts';
import type { OperationAnswer } from './operation-call.ts';
import {
  getPositionalArgumentName,
  type InputPlace,
  listOperationInputs,
  lowerFirst,
  type OperationInput,
  toInputValue,
} from './operation-inputs.ts';
import { parsePlatform, parsePlatformOrInstallation } from './options.ts';
import { print } from './print.ts';

/** The ways in which a command takes the platform that it is about. */
const PLATFORM_OPTIONS = {
  /** A platform, which must be named. */
  named: { flags: '--platform <name>', text: 'the platform that it belongs to', isRequired: true },
  /** A platform or the whole installation, which must be named. */
  'named or *': {
    flags: '--platform <name>',
    text: 'the platform; "*" for the whole installation',
    isRequired: true,
  },
  /** A platform that may be named. Without it, the command is about all platforms that have a key. */
  'of all with keys': {
    flags: '--platform <name>',
    text: 'only this platform; without it all platforms that have a key',
    isRequired: false,
  },
  any: {
    flags: '--platform <name>',
    text: 'the platform that owns it; "*" for the whole installation',
    isRequired: false,
  },
} as const;

/** The values of a command's positional arguments and options, by name. */
export type CommandOptions = Readonly<Record<string, unknown>>;

/** What a running command works with: its options, and functions that call operations. */
export interface CommandContext {
  readonly parts: RuleParts;
  readonly options: CommandOptions;
  readonly platform: PlatformName;
  /** The person who runs the command, under the name that the audit records. */
  readonly caller: Caller;
  /** Calls an operation. If the operation refuses, throws an error with a message for people. */
  readonly ask: (
    operation: DeclaredOperation<RuleParts>,
    given: Readonly<Record<string, unknown>>,
    platform?: PlatformName,
    /** The lines of a body that consists of lines. Each line holds one JSON object and ends with a line break. */
    lines?: AsyncIterable<string>,
  ) => Promise<OperationAnswer>;
  /**
   * Calls an operation and parses its answer from JSON. If no limit is given, all pages of a list are read and
   * returned as one page.
   */
  readonly read: <Told>(
    operation: DeclaredOperation<RuleParts>,
    given: Readonly<Record<string, unknown>>,
    platform?: PlatformName,
  ) => Promise<Told>;
}

/**
 * A command that calls an operation. Its arguments, options and help are made from the operation. The members say
 * what differs from that, and what people see of the answer.
 */
export interface OperationCommand<Told> {
  readonly operation: DeclaredOperation<RuleParts>;
  /**
   * How the person names the platform. Without this member, the command is about the whole installation and has no
   * option --platform.
   */
  readonly platform?: keyof typeof PLATFORM_OPTIONS;
  readonly needs?: OperationNeeds;
  /** The names of parameters and members that the command does not take. */
  readonly omittedInputs?: readonly string[];
  /** The names of positional arguments that may be left out. */
  readonly optionalArguments?: readonly string[];
  /** Options that replace those of the operation, or are added to them. */
  readonly options?: readonly Option[];
  /** Returns inputs of the operation that replace those that the person gave, or are added to them. */
  readonly toInputs?: (
    options: CommandOptions,
    given: Readonly<Record<string, unknown>>,
  ) => Readonly<Record<string, unknown>>;
  /** Runs a command that does something other than call the operation once, or page by page. */
  readonly run?: (asking: CommandContext, given: Readonly<Record<string, unknown>>) => Promise<Told>;
  /** Formats the answer for people. An empty text is not printed. */
  readonly formatAnswer: (told: Told, asking: CommandContext) => string;
  /**
   * Returns what --json prints. Without this member, --json prints the answer, or only the items if the answer is a
   * list.
   */
  readonly toJsonValue?: (told: Told, asking: CommandContext) => unknown;
  readonly jsonHelp?: string;
  /** Runs last, with and without --json. It prints notes for people, and sets the exit code. */
  readonly afterPrint?: (told: Told, asking: CommandContext) => void;
}

/** Adds the command of an operation to its group. */
export function addOperationCommand<Told>(group: Command, declared: OperationCommand<Told>): void {
  const { operation, platform, options = [], toInputs: givenOf } = declared;
  const { command: spec } = operation;
  if (spec === undefined) throw new Error(`${operation.route} declares no command`);
  const inputs = listTakenInputs(declared);
  const words = (spec.words ?? []).map((name) => ({
    name,
    isRequired: declared.optionalArguments?.includes(name) !== true,
  }));
  const command = group
    .command([spec.name.split(' ').at(-1), ...words.map(formatWordUsage)].join(' '))
    .summary(lowerFirst(spec.summary ?? operation.summary))
    .description(formatHelp(operation, spec));
  if (platform !== undefined) command.addOption(createPlatformOption(platform));
  for (const option of options) command.addOption(option);
  const own = new Set(options.map((option) => option.attributeName()));
  for (const input of inputs)
    if (spec.words?.includes(input.name) !== true && !own.has(getAttributeName(input)))
      command.addOption(input.createOption());
  if (isSubjectToApproval(operation)) command.option(...WITHOUT_APPROVAL_OPTION);
  command.option('--json', declared.jsonHelp ?? 'print one JSON object');
  command.action(async (...given: readonly unknown[]) => {
    const taken: CommandOptions = {
      // The options of the parent command are included, because commander gives it those that both declare, like
      // --json of `audit`.
      ...command.optsWithGlobals(),
      ...Object.fromEntries(words.map(({ name }, index) => [name, given[index]])),
    };
    const whose = choosePlatform(platform, taken['platform']);
    const read = inputs.map((input) => [input.name, toInputValue(input, readGiven(input, taken))] as const);
    const values = Object.fromEntries(read.filter(([, value]) => value !== undefined));
    await run(declared, taken, whose, { ...values, ...givenOf?.(taken, values) });
  });
}

/** The option `--without-approval` of commands whose change another person may have to approve. */
export const WITHOUT_APPROVAL_OPTION = [
  '--without-approval',
  'make the change without approval although APPROVALS is required; the audit shows it',
] as const;

/**
 * Lists the inputs that the command takes. The command reads all pages of a list, so it takes no `after` and no
 * `limit`.
 */
function listTakenInputs<Told>({
  operation,
  omittedInputs = [],
}: OperationCommand<Told>): readonly OperationInput[] {
  const left = isPaged(operation) ? [...omittedInputs, 'after', 'limit'] : omittedInputs;
  return listOperationInputs(operation).filter(({ name }) => !left.includes(name));
}

function isPaged({ parameters = [] }: DeclaredOperation<RuleParts>): boolean {
  return parameters.some(({ name }) => name === 'after');
}

/**
 * Returns what the person gave for an input. A positional argument is found by the input's name, and an option by its
 * flag.
 */
function readGiven(input: OperationInput, taken: CommandOptions): unknown {
  return Object.hasOwn(taken, input.name) ? taken[input.name] : taken[getAttributeName(input)];
}

function formatWordUsage({
  name,
  isRequired,
}: {
  readonly name: string;
  readonly isRequired: boolean;
}): string {
  return isRequired ? `<${getPositionalArgumentName(name)}>` : `[${getPositionalArgumentName(name)}]`;
}

function getAttributeName(input: OperationInput): string {
  return input.createOption().attributeName();
}

function formatHelp({ summary, description }: DeclaredOperation<RuleParts>, spec: CliCommandSpec): string {
  const first = spec.description === undefined ? summary : (spec.summary ?? summary);
  const about = spec.description ?? description;
  const said = `${first.slice(0, 1).toUpperCase()}${first.slice(1)}.`;
  return about === '' ? said : `${said}\n\n${about}`;
}

function createPlatformOption(kind: keyof typeof PLATFORM_OPTIONS): Option {
  const { flags, text, isRequired } = PLATFORM_OPTIONS[kind];
  const option = new Option(flags, text);
  return isRequired ? option.makeOptionMandatory() : option.default(INSTALLATION_PLATFORM);
}

function choosePlatform(kind: keyof typeof PLATFORM_OPTIONS | undefined, given: unknown): PlatformName {
  if (kind === undefined) return INSTALLATION_PLATFORM;
  return kind === 'named' ? parsePlatform(String(given)) : parsePlatformOrInstallation(String(given));
}

async function run<Told>(
  declared: OperationCommand<Told>,
  options: CommandOptions,
  platform: PlatformName,
  given: Readonly<Record<string, unknown>>,
): Promise<void> {
  const { operation, needs = {} } = declared;
  const withoutApproval = options['withoutApproval'] === true;
  await withCommandContext({ ...needs, withoutApproval }, options, platform, async (asking) => {
    if (declared.run !== undefined) return printAnswer(declared, await declared.run(asking, given), asking);
    if (!isSubjectToApproval(operation))
      return printAnswer(declared, await asking.read<Told>(operation, given), asking);
    const answer = await asking.ask(operation, given);
    return answer.status === 202
      ? printProposed(answer, asking)
      : printAnswer(declared, JSON.parse(answer.json ?? 'null'), asking);
  });
}

/** Runs `work` with the functions that call operations on the store that environment variables name. */
export async function withCommandContext<T>(
  needs: OperationNeeds,
  options: CommandOptions,
  platform: PlatformName,
  work: (asking: CommandContext) => Promise<T>,
): Promise<T> {
  // These modules are loaded only if a command runs, because help needs nothing of the service.
  const { withLocalParts } = await import('./local-parts.ts');
  const { callOperation, createSystemUserCaller: systemUser } = await import('./operation-call.ts');
  const done = withLocalParts(needs, (parts) => {
    const isPast = needs.withoutApproval === true && readConfig().requiresApproval;
    const callerAt = (whose: PlatformName) => systemUser(whose, isPast ? ', without approval' : '');
    const ask: CommandContext['ask'] = async (operation, given, whose = platform, lines) => {
      const caller = callerAt(whose);
      try {
        return await callOperation(operation, parts, caller, toRequest(operation, given, lines));
      } catch (error) {
        throw toErrorForPeople(error, operation);
      }
    };
    const read: CommandContext['read'] = async (operation, given, whose) =>
      JSON.parse(await readAllPages((page) => ask(operation, page, whose), operation, given));
    return work({ parts, options, platform, caller: callerAt(platform), ask, read });
  });
  return done.catch((error: unknown) => {
    throw error instanceof ProposalRefused ? new StateForbidsChangeError(error.message) : error;
  });
}

/** Puts each value into the part of the request from which the operation reads it. */
function toRequest(
  operation: DeclaredOperation<RuleParts>,
  given: Readonly<Record<string, unknown>>,
  lines?: AsyncIterable<string>,
) {
  const inputs = listOperationInputs(operation);
  const at = (place: InputPlace) =>
    Object.fromEntries(
      inputs
        .filter((one) => one.in === place && given[one.name] !== undefined)
        .map(({ name }) => [name, given[name]]),
    );
  const texts = (place: InputPlace) =>
    Object.fromEntries(Object.entries(at(place)).map(([name, value]) => [name, String(value)]));
  const body = operation.body === null ? {} : { body: { json: at('body') } };
  return {
    path: texts('path'),
    query: texts('query'),
    ...body,
    ...(lines === undefined ? {} : { body: { lines } }),
  };
}

/** Reads all pages of a list as one page, unless a limit is given. */
async function readAllPages(
  ask: (given: Readonly<Record<string, unknown>>) => Promise<OperationAnswer>,
  operation: DeclaredOperation<RuleParts>,
  given: Readonly<Record<string, unknown>>,
): Promise<string> {
  if (!isPaged(operation) || given['limit'] !== undefined) return (await ask(given)).json ?? 'null';
  const pageOf = async (after: object) => {
    const { json } = await ask({ ...given, limit: PAGE_ITEMS, ...after });
    const page: unknown = JSON.parse(json ?? 'null');
    const member = findItemsMember(page);
    if (member === null || !isJsonObject(page)) throw new Error(`${operation.route} answers no list`);
    return { page, member, items: readItems(page, member), next: page['next'] };
  };
  const { page, member, items, ...first } = await pageOf({});
  const all = [...items];
  for (let { next } = first; typeof next === 'string'; ) {
    const more = await pageOf({ after: next });
    all.push(...more.items);
    ({ next } = more);
  }
  return JSON.stringify({ ...page, [member]: all, next: null });
}

/** The number of items that every list can return at once. */
const PAGE_ITEMS = 500;

/**
 * Returns the name of the member that holds a list's items: its first array. Returns null for an answer that is no
 * page.
 */
function findItemsMember(answer: unknown): string | null {
  if (!isJsonObject(answer) || !('next' in answer)) return null;
  return Object.entries(answer).find(([, value]) => Array.isArray(value))?.[0] ?? null;
}

function readItems(answer: Readonly<Record<string, unknown>>, member: string): readonly unknown[] {
  const items = answer[member];
  return Array.isArray(items) ? items : [];
}

function printAnswer<Told>(
  { formatAnswer, toJsonValue, afterPrint }: OperationCommand<Told>,
  told: Told,
  asking: CommandContext,
): void {
  if (asking.options['json'] === true) {
    const member = findItemsMember(told);
    const plain = member !== null && isJsonObject(told) ? readItems(told, member) : told;
    const shown = JSON.stringify(toJsonValue === undefined ? plain : toJsonValue(told, asking));
    if (shown !== undefined) print(shown);
  } else {
    const said = formatAnswer(told, asking);
    if (said !== '') print(said);
  }
  afterPrint?.(told, asking);
}

/** Prints which change waits for another person, and how that person approves it. */
async function printProposed({ json }: OperationAnswer, { parts, options }: CommandContext): Promise<void> {
  const { proposalId }: { readonly proposalId: string } = JSON.parse(json ?? '{}');
  if (options['json'] === true) return print(json ?? 'null');
  const proposals = await parts.approvals.list(INSTALLATION_PLATFORM);
  print(
    formatProposedChange(proposalId, proposals.find((one) => one.proposalId === proposalId)?.lines ?? []),
  );
}

export function formatProposedChange(proposalId: string, lines: readonly string[]): string {
  return [
    'Nothing was changed yet: somebody else has to approve the change.',
    ...lines.map((line) => `  ${line}`),
    `To approve: proposals approve ${proposalId} --platform '${INSTALLATION_PLATFORM}' --reason ...`,
  ].join('\n');
}

/**
 * Converts a refusal to an error for people. Its message names the command's options in place of the parameters of
 * the HTTP interface.
 */
function toErrorForPeople(error: unknown, operation: DeclaredOperation<RuleParts>): unknown {
  if (!(error instanceof HttpProblem)) return error;
  const { status, message, errors } = error;
  const flags = new Map(listOperationInputs(operation).map((input) => [input.name, input.cliName]));
  const [at] = errors;
  const member = at?.pointer === undefined ? undefined : flags.get(at.pointer.slice(1).split('/')[0] ?? '');
  const said =
    at !== undefined && member !== undefined
      ? `${member} ${at.detail}`
      : message.replace(/^(?:The parameter )?(\w+)/, (whole, name: string) => flags.get(name) ?? whole);
  if (status === 400) return new UsageError(said);
  if (status === 404) return new NothingFoundError(said);
  if (status === 409) return new StateForbidsChangeError(said);
  return status >= 500 ? error : new FindingsError(said);
}
