import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Command } from 'commander';
import { exactSystemClock } from '#base/clock.ts';
import { AccessKeys } from '#checkout/access/access-keys.ts';
import { readConfig, signalSecretsAtHand } from '#config.ts';
import type { Decision } from '#decision/decision.ts';
import type { AttributeHmacs } from '#decision/payer/attribute-hmacs.ts';
import { type PlatformName, parseDecisionId } from '#decision/payer/client-key.ts';
import { createAttributeHmacs } from '#decision/pseudonym.ts';
import { formatName, quoteText } from '#decision/rules/condition-text.ts';
import { rehashConstants } from '#decision/rules/evaluate/compile.ts';
import { formatProblems } from '#decision/rules/problem.ts';
import type { LookedUpDecision } from '#history/archive/read/decision-lookup.ts';
import { ArchivedRuleSets } from '#history/archive/ship/archived-rule-sets.ts';
import { createStoreClock } from '#state/clock-offset.ts';
import { loadRuleSet } from '#state/rule-folders/rule-folder.ts';
import { listRuleVersions } from '#state/rule-folders/rules-dir.ts';
import type { Store } from '#state/store.ts';
import {
  type Explanation,
  explainFromRecord,
  explainWithoutRules,
} from '#workbench/authoring/explain/explain.ts';
import { formatExplanation } from '#workbench/authoring/explain/explanation-text.ts';
import { EXIT, UsageError } from './exit.ts';
import { explainUnreadDecisions, withDecisions } from './open-archive.ts';
import { parsePlatform, parseWholeNumber } from './options.ts';
import { formatTable, paintForTerminal, print, printError } from './print.ts';
import { toRelativePath } from './rules/rule-folders.ts';

/** Each is a row on a screen. */
const SHOWN_MAX = 500;

const NOWHERE: LookedUpDecision = { decision: null, unread: [] };

async function explainDecision(id: string, json: boolean): Promise<void> {
  const { decision, unread } =
    parseDecisionId(id) === null ? NOWHERE : await withDecisions((decisions) => decisions.decision(id, null));
  const explanation = decision === null ? null : await explainKept(decision);
  if (json) print(JSON.stringify(explanation));
  else if (explanation !== null) print(formatExplanation(explanation, paintForTerminal));
  for (const one of unread)
    printError(explainUnreadDecisions(`Whether there is a decision ${quoteText(id)}`, one));
  if (!json && explanation === null && unread.length === 0) {
    printError(
      `There is no decision ${quoteText(id)}, or it is past its retention; decisions find lists the ids by order or client.`,
    );
  }
  if (explanation?.reproduced !== true) process.exitCode = EXIT.findings;
}

/** Uses the rule set that decided, which the archive keeps when its folder is gone or changed. */
function explainKept(decision: Decision): Promise<Explanation> | Explanation {
  const config = readConfig();
  const { archiveDir, rulesDir } = config;
  const hmacs = createAttributeHmacs(signalSecretsAtHand(config));
  const decided =
    archiveDir === null
      ? null
      : new ArchivedRuleSets(archiveDir, null, hmacs).get(decision.ruleVersion, decision.digest);
  return decided === null ? explainFromDisk(decision, rulesDir, hmacs) : explainFromRecord(decided, decision);
}

function explainFromDisk(
  decision: Decision,
  rulesDir: string,
  hmacs: AttributeHmacs,
): Promise<Explanation> | Explanation {
  const folder = join(rulesDir, decision.ruleVersion);
  if (!existsSync(folder)) {
    const versions = existsSync(rulesDir) ? listRuleVersions(rulesDir).join(', ') : '';
    return explainWithoutRules(
      decision,
      `${toRelativePath(rulesDir)} holds ${versions === '' ? 'no rule set' : versions}`,
    );
  }
  const loaded = loadRuleSet(folder);
  if (loaded.ok) return explainFromRecord(rehashConstants(loaded.ruleSet, hmacs), decision);
  return explainWithoutRules(
    decision,
    `the folder is refused, ${formatProblems(toRelativePath(folder), loaded.problems.slice(0, 1))}`,
  );
}

interface FindOptions {
  readonly order?: string;
  readonly client?: string;
  readonly limit: string;
  readonly platform?: string;
  readonly json?: true;
}

/** decisions ...: what was decided and why, for people who answer a dispute. */
export function decisionsCommands(program: Command): void {
  const decisions = program.command('decisions').description('recorded decisions');
  decisions
    .command('find')
    .description(
      'the decisions about an order or a payer, newest first; exit code 1 when there is none, or files cannot be read',
    )
    .option('--order <ref>', "the caller's orderRef")
    .option('--client <key>', 'clientIdKey of a payer; beside --order only what both name')
    .option('--limit <number>', 'the most decisions to show', '100')
    .option('--platform <name>', 'only of this platform; without it all that have a key')
    .option('--json', 'print a JSON array of decision records')
    .action((options: FindOptions) => find(options));
  decisions
    .command('explain <id>')
    .description('why a verdict fell: every rule with the values it saw, and whether it can be reproduced')
    .option('--json', 'print the explanation as one JSON object; null when there is no such decision')
    .action((id: string, options: { json?: true }) => explainDecision(id, options.json === true));
}

async function find({ order, client, limit, platform, json }: FindOptions): Promise<void> {
  if (order === undefined && client === undefined)
    throw new UsageError('name what to find: --order REF, --client KEY, or both');
  const wanted = platform === undefined ? null : parsePlatform(platform);
  const shownMax = parseWholeNumber('--limit', limit, SHOWN_MAX);
  const lists = await withDecisions(async (decisions, store) => {
    const platforms = wanted === null ? await platformsWithKeys(store) : [wanted];
    return Promise.all(
      platforms.map((name) =>
        order === undefined
          ? decisions.ofClient(store.clientKeys.of(name, client ?? ''), shownMax + 1)
          : decisions.ofOrder(name, order),
      ),
    );
  });
  const unread = lists.flatMap((list) => list.unread);
  const found = lists
    .flatMap((list) => list.decisions)
    .filter(({ clientIdKey }) => client === undefined || clientIdKey === client)
    .toSorted((a, b) => b.at - a.at || b.seq - a.seq);
  const shown = found.slice(0, shownMax);
  const what = [
    ...(order === undefined ? [] : [`order ${quoteText(order)}`]),
    ...(client === undefined ? [] : [`client ${quoteText(client)}`]),
  ].join(' of ');
  if (json === true) print(JSON.stringify(shown));
  else if (found.length > 0) print(describe(shown));
  else if (unread.length === 0) printError(`No decision about ${what} is kept.`);
  if (found.length > shownMax)
    printError(`There are older decisions about ${what}; --limit N shows more than ${shownMax}.`);
  const others = `Whether there are ${found.length === 0 ? 'any' : 'others'} about ${what}`;
  for (const one of unread) printError(explainUnreadDecisions(others, one));
  if (found.length === 0 || unread.length > 0) process.exitCode = EXIT.findings;
}

function describe(decisions: readonly Decision[]): string {
  const rows = decisions.map((decision) => [
    new Date(decision.at).toISOString(),
    decision.platform,
    formatName(decision.clientIdKey),
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

async function platformsWithKeys(store: Store): Promise<readonly PlatformName[]> {
  const keys = await new AccessKeys(store.documents, createStoreClock(exactSystemClock, store)).list();
  return [...new Set(keys.map(({ platform }) => platform))];
}
