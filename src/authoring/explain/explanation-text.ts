import { type Decision, OTHERWISE } from '../../decision/decision.ts';
import { listText, nameText, quoted } from '../../rules/condition-text.ts';
import { type Explanation, type RulesAccount, shortDigest, timeInWords } from './explain.ts';
import { type Paint, PLAIN, ruleLines } from './trace-text.ts';

/**
 * An explanation as an analyst reads it aloud: what was asked and answered, why, by which rules and on
 * which values, what it did to the ladder, and whether it can be reproduced.
 */
export function formatExplanation(explanation: Explanation, paint: Paint = PLAIN): string {
  const { decision, rules, ladder, sharedLists } = explanation;
  const title = (text: string) => paint('strong', text);
  return [
    ...decisionLines(decision, title),
    ...listsLine(sharedLists),
    '',
    ...(rules === null ? withoutRules(decision, title) : rulesLines(rules, paint)),
    '',
    title('Cooldown ladder'),
    `  before  ${ladder.before.words}`,
    `  after   ${ladder.after.words}`,
    '',
    ...verificationLines(explanation, paint),
  ].join('\n');
}

function decisionLines(decision: Decision, title: (text: string) => string): readonly string[] {
  const { decisionId, at, clientIdKey, platform, sellPointKey, orderRef, rule, ruleVersion, digest, arm } =
    decision;
  const source = rule === OTHERWISE ? '"otherwise"' : `the rule ${rule}`;
  const role = arm === 'candidate' ? ', the candidate of a rollout' : '';
  return [
    title(`Decision ${decisionId}: ${answerInWords(decision)}`),
    `  On ${timeInWords(at)} client ${nameText(clientIdKey)} of platform ${platform} asked at ${nameText(sellPointKey)} for order ${nameText(orderRef)}.`,
    `  The answer was ${answerInWords(decision)}: ${quoted(decision.reason)}`,
    `  It came from ${source} in ${ruleVersion} (digest ${shortDigest(digest)})${role}.`,
  ];
}

function listsLine(lists: readonly string[]): readonly string[] {
  if (lists.length === 0) return [];
  return [
    `  The request was on the shared ${lists.length === 1 ? 'list' : 'lists'} ${listText(lists, 'and')}.`,
  ];
}

function answerInWords({ verdict, waitSeconds }: Decision): string {
  return waitSeconds === undefined ? verdict : `${verdict} ${waitSeconds} s`;
}

function rulesLines({ groups, signals, verdicts }: RulesAccount, paint: Paint): readonly string[] {
  return [
    paint('strong', `Client group: ${groups.group}`),
    `  ${groups.why}`,
    ...ruleLines(groups.rules, paint),
    '',
    paint('strong', `Bot: ${signals.isBot ? 'yes' : 'no'}`),
    `  ${signals.why}`,
    ...ruleLines(signals.rules, paint),
    '',
    paint('strong', `Verdict: ${verdicts.verdict}`),
    `  ${verdicts.why}`,
    ...ruleLines(verdicts.rules, paint),
  ];
}

/** The record's own words, when its rules cannot be asked. */
function withoutRules(
  { clientGroup, isBot, signals, facts }: Decision,
  title: (text: string) => string,
): readonly string[] {
  const width = Math.max(0, ...Object.keys(facts).map((label) => label.length));
  const matching = signals.length === 0 ? 'no signal matched' : `signals ${signals.join(', ')} matched`;
  return [
    title('On record'),
    `  The client's group was ${clientGroup}. It was ${isBot ? '' : 'not '}taken for a bot: ${matching}.`,
    '  The rules saw:',
    ...Object.entries(facts).map(([label, value]) => {
      return `    ${label.padEnd(width)}  ${typeof value === 'string' ? nameText(value) : value}`;
    }),
  ];
}

function verificationLines(
  { reproduced, differences, verification }: Explanation,
  paint: Paint,
): readonly string[] {
  const width = Math.max(0, ...differences.map(({ member }) => member.length));
  return [
    paint(reproduced ? 'pass' : 'fail', `Reproduced: ${reproduced ? 'yes' : 'no'}`),
    `  ${verification}`,
    ...differences.map(
      ({ member, recorded, rerun }) =>
        `    ${member.padEnd(width)}  on record ${shown(recorded)}, now ${shown(rerun)}`,
    ),
  ];
}

function shown(value: unknown): string {
  return value === null ? 'absent' : typeof value === 'string' ? quoted(value) : JSON.stringify(value);
}
