import type { Command } from 'commander';
import type { ValueOf, WithMomentsAsText } from '#base/shapes.ts';
import { isInstallation } from '#checkout/access/access-keys.ts';
import type { Decision } from '#decision/decision.ts';
import { type PlatformName, parseDecisionId } from '#decision/payer/client-key.ts';
import { formatCallerText, quoteText } from '#decision/rules/condition-text.ts';
import {
  type ExplanationToFormat,
  formatExplanation,
} from '#workbench/authoring/explain/explanation-text.ts';
import { type DecisionListSchema, explainDecision, listDecisions } from '#workbench/platform/decisions.ts';
import { EXIT_CODES, UsageError } from './exit.ts';
import { explainUnreadDecisions } from './open-archive.ts';
import { addOperationCommand, type CommandContext, type CommandOptions } from './operation-command.ts';
import { listOperationInputs, toInputValue } from './operation-inputs.ts';
import { formatTable, markTone, printError } from './print.ts';

type FoundList = WithMomentsAsText<ValueOf<typeof DecisionListSchema>>;
type FoundDecision = WithMomentsAsText<Decision>;
type Unread = NonNullable<FoundList['lookedAt']['unread']>;

const SHOWN_DEFAULT = '100';

/** Adds the commands about recorded decisions and their reasons, for people who answer a dispute. */
export function addDecisionsCommands(program: Command): void {
  const decisions = program.command('decisions').description('recorded decisions');

  addOperationCommand<Found>(decisions, {
    operation: listDecisions,
    platform: 'of all with keys',
    needs: { archive: true },
    omittedInputs: ['include'],
    options: LIMITS.map((input) => input.createOption().default(SHOWN_DEFAULT)),
    toInputs: requireFilter,
    run: find,
    formatAnswer: ({ decisions: found }) => (found.length === 0 ? '' : describe(found)),
    toJsonValue: ({ decisions: found }) => found,
    jsonHelp: 'print a JSON array of decision records',
    afterPrint: endOfFind,
  });

  addOperationCommand<Explained>(decisions, {
    operation: explainDecision,
    needs: { archive: true },
    run: explain,
    formatAnswer: ({ explanation }) => (explanation === null ? '' : formatExplanation(explanation, markTone)),
    toJsonValue: ({ explanation }) => explanation,
    jsonHelp: 'print the explanation as one JSON object; null when there is no such decision',
    afterPrint: endOfExplain,
  });
}

interface Found {
  readonly decisions: readonly FoundDecision[];
  readonly unread: Unread;
  /** Whether there are older decisions, which the limit leaves out. */
  readonly isCut: boolean;
}

/**
 * The input `limit` of the list, for which the command has a default of its own. The newest decisions come first, so
 * people seldom want more.
 */
const LIMITS = listOperationInputs(listDecisions).filter(({ name }) => name === 'limit');

/**
 * Throws UsageError if there is no filter, because a list of all decisions of all platforms helps nobody. Returns the
 * limit.
 */
function requireFilter({ limit }: CommandOptions, given: CommandOptions): CommandOptions {
  if (Object.keys(given).length === 0)
    throw new UsageError('name what to find: --order REF, --client KEY, or both');
  return Object.fromEntries(LIMITS.map((input) => [input.name, toInputValue(input, limit)]));
}

/** Finds decisions of the named platform, or of every platform that has a key. */
async function find({ read, platform, parts }: CommandContext, given: CommandOptions): Promise<Found> {
  const keys = isInstallation(platform) ? await parts.keys.list() : [];
  const platforms = isInstallation(platform) ? new Set(keys.map((key) => key.platform)) : [platform];
  const lists = await Promise.all(
    [...platforms]
      .filter((name) => !isInstallation(name))
      .map((name: PlatformName) => read<FoundList>(listDecisions, given, name)),
  );
  const limit = Number(given['limit']);
  const found = lists
    .flatMap((list) => list.decisions)
    .toSorted((a, b) => Date.parse(b.at) - Date.parse(a.at) || b.seq - a.seq);
  return {
    decisions: found.slice(0, limit),
    unread: lists.flatMap(({ lookedAt }) => lookedAt.unread ?? []),
    isCut: found.length > limit || lists.some(({ next }) => next !== null),
  };
}

function endOfFind({ decisions, unread, isCut }: Found, { options }: CommandContext): void {
  const what = describeFilter(options);
  if (options['json'] !== true && decisions.length === 0 && unread.length === 0)
    printError(`No decision about ${what} is kept.`);
  if (isCut)
    printError(`There are older decisions about ${what}; --limit N shows more than ${decisions.length}.`);
  const others = `Whether there are ${decisions.length === 0 ? 'any' : 'others'} about ${what}`;
  for (const one of unread) printError(explainUnreadDecisions(others, one));
  if (decisions.length === 0 || unread.length > 0) process.exitCode = EXIT_CODES.findings;
}

function describeFilter({ order, client }: CommandOptions): string {
  const named = [
    ...(order === undefined ? [] : [`order ${quoteText(String(order))}`]),
    ...(client === undefined ? [] : [`client ${quoteText(String(client))}`]),
  ];
  return named.length === 0 ? 'what is asked for' : named.join(' of ');
}

function describe(decisions: readonly FoundDecision[]): string {
  const rows = decisions.map((decision) => [
    new Date(decision.at).toISOString(),
    decision.platform,
    formatCallerText(decision.clientIdKey),
    decision.waitSeconds === undefined ? decision.verdict : `${decision.verdict} ${decision.waitSeconds} s`,
    decision.rule,
    decision.ruleVersion,
    decision.clientGroup,
    decision.isBot ? `yes: ${decision.signals.join(', ')}` : 'no',
    decision.decisionId,
  ]);
  return formatTable(
    ['AT', 'PLATFORM', 'CLIENT', 'VERDICT', 'RULE', 'RULE VERSION', 'GROUP', 'BOT', 'DECISION ID'],
    rows,
  );
}

interface Explained {
  readonly explanation: ExplanationToFormat | null;
  readonly unread: Parameters<typeof explainUnreadDecisions>[1][];
}

/**
 * Explains a decision. The operation is called for the platform of the decision, so that nobody has to name that
 * platform.
 */
async function explain({ read, parts }: CommandContext, { decisionId }: CommandOptions): Promise<Explained> {
  const id = String(decisionId);
  if (parseDecisionId(id) === null) return { explanation: null, unread: [] };
  const { decision, unread } = await parts.records.decisions.decision(id, null);
  if (decision === null) return { explanation: null, unread: [...unread] };
  await parts.loadedRules.load(decision.ruleVersion);
  return { explanation: await read(explainDecision, { decisionId }, decision.platform), unread: [...unread] };
}

function endOfExplain({ explanation, unread }: Explained, { options }: CommandContext): void {
  const id = quoteText(String(options['decisionId']));
  for (const one of unread) printError(explainUnreadDecisions(`Whether there is a decision ${id}`, one));
  if (options['json'] !== true && explanation === null && unread.length === 0) {
    printError(
      `There is no decision ${id}, or it is past its retention; decisions find lists the ids by order or client.`,
    );
  }
  if (explanation?.reproduced !== true) process.exitCode = EXIT_CODES.findings;
}
