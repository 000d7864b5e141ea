import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Command } from 'commander';
import type { LookedUpDecision } from '../../archive/read/decision-lookup.ts';
import { RuleSetShelf } from '../../archive/ship/rule-set-shelf.ts';
import { type Explanation, explain, explainWithout } from '../../authoring/explain/explain.ts';
import { formatExplanation } from '../../authoring/explain/explanation-text.ts';
import { parseDecisionId } from '../../client/client-key.ts';
import { readConfig } from '../../config.ts';
import type { Decision } from '../../decision/decision.ts';
import { quoted } from '../../rules/condition-text.ts';
import { formatProblems, listRuleVersions, loadRuleSet } from '../../rules/folder/rule-folder.ts';
import { EXIT } from '../exit.ts';
import { print, printError, terminalPaint } from '../print.ts';
import { fromHere } from '../rules/rule-folders.ts';
import { unreadHere, withDecisions } from '../with-decisions.ts';

/** decisions explain: why a verdict fell, for people who answer a dispute. */
export function explainCommand(decisions: Command): void {
  decisions
    .command('explain <id>')
    .description('why a verdict fell: every rule with the values it saw, and whether it can be reproduced')
    .option('--json', 'print the explanation as one JSON object; null when there is no such decision')
    .action((id: string, options: { json?: true }) => explainDecision(id, options.json === true));
}

const NOWHERE: LookedUpDecision = { decision: null, unread: [] };

async function explainDecision(id: string, json: boolean): Promise<void> {
  const { decision, unread } =
    parseDecisionId(id) === null ? NOWHERE : await withDecisions((decisions) => decisions.decision(id, null));
  const explanation = decision === null ? null : await explainKept(decision);
  if (json) print(JSON.stringify(explanation));
  else if (explanation !== null) print(formatExplanation(explanation, terminalPaint));
  for (const one of unread) printError(unreadHere(`Whether there is a decision ${quoted(id)}`, one));
  if (!json && explanation === null && unread.length === 0) {
    printError(
      `There is no decision ${quoted(id)}, or it is past its retention; decisions find --order REF lists the ids of an order's decisions.`,
    );
  }
  if (explanation?.reproduced !== true) process.exitCode = EXIT.findings;
}

/** By the rule set that decided, which the archive keeps when its folder is gone or another by now. */
function explainKept(decision: Decision): Promise<Explanation> | Explanation {
  const { archiveDir, rulesDir } = readConfig();
  const decided =
    archiveDir === null
      ? null
      : new RuleSetShelf(archiveDir, null).get(decision.ruleVersion, decision.digest);
  return decided === null ? explainFromDisk(decision, rulesDir) : explain(decided, decision);
}

function explainFromDisk(decision: Decision, rulesDir: string): Promise<Explanation> | Explanation {
  const folder = join(rulesDir, decision.ruleVersion);
  if (!existsSync(folder)) {
    const versions = existsSync(rulesDir) ? listRuleVersions(rulesDir).join(', ') : '';
    return explainWithout(
      decision,
      `${fromHere(rulesDir)} holds ${versions === '' ? 'no rule set' : versions}`,
    );
  }
  const loaded = loadRuleSet(folder);
  if (loaded.ok) return explain(loaded.ruleSet, decision);
  return explainWithout(
    decision,
    `the folder is refused, ${formatProblems(fromHere(folder), loaded.problems.slice(0, 1))}`,
  );
}
