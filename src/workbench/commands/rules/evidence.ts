import { type Command, Option as CommandOption } from 'commander';
import { describeBadVersionName, isRuleVersion } from '#decision/rules/rule-set.ts';
import {
  BadQuestion,
  type Question,
  type QuestionOption,
  type RuleSetFinders,
} from '#history/evidence/question.ts';
import { QUESTIONS } from '#history/evidence/questions.ts';
import { readRuleFiles } from '#state/rule-folders/rule-folder.ts';
import { UsageError } from '#workbench/commands/exit.ts';
import { parseNumberWithinBounds } from '#workbench/commands/operation-inputs.ts';
import { parseTime, toOptionName } from '#workbench/commands/options.ts';
import {
  addEvidenceOptions,
  createRecordedRuleSetFinder,
  type EvidenceOptions,
  printQuestionAnswer,
  withEvidenceOf,
} from './evidence-options.ts';
import { listChosenFolders, loadSoundRuleSet } from './rule-folders.ts';

/** Adds a command for each question: `rules report`, `rules backtest` and the others. */
export function addEvidenceCommands(rules: Command): void {
  for (const question of QUESTIONS) addEvidenceCommand(rules, question);
}

function addEvidenceCommand(rules: Command, question: Question): void {
  const argument = question.options.find(({ isArgument }) => isArgument);
  const command = addEvidenceOptions(
    rules.command([question.kind, ...(argument === undefined ? [] : [formatArgument(argument)])].join(' ')),
  ).description(question.description);
  for (const option of question.options)
    if (option !== argument) command.addOption(createCommandOption(option));
  command.action(async (...given: readonly unknown[]) => {
    const options: EvidenceOptions = command.opts();
    const asked = { ...command.opts(), ...(argument === undefined ? {} : { [argument.name]: given[0] }) };
    printQuestionAnswer(await answerQuestion(question, options, asked), options);
  });
}

function formatArgument({ name, kind, isRequired }: QuestionOption<unknown>): string {
  const text = kind === 'versions' ? `${name}...` : name;
  return isRequired ? `<${text}>` : `[${text}]`;
}

/** Creates the command's option for an option of a question. */
export function createCommandOption({
  name,
  kind,
  form,
  values,
  description,
  isRequired,
}: QuestionOption<unknown>): CommandOption {
  const option = new CommandOption(`--${toOptionName(name)} <${(form ?? kind).toLowerCase()}>`, description);
  if (isRequired) option.makeOptionMandatory();
  switch (kind) {
    case 'choice':
      return option.choices(values);
    case 'versions':
    case 'texts':
      return option.argParser((value, before: readonly string[] = []) => [...before, value]);
    case 'version':
    case 'text':
    case 'time':
    case 'number':
      return option;
    default:
      return kind satisfies never;
  }
}

async function answerQuestion(
  question: Question,
  options: EvidenceOptions,
  given: Readonly<Record<string, unknown>>,
) {
  const asked = Object.fromEntries(
    question.options.map((option) => [option.name, toOptionValue(option, given)]),
  );
  const decidedBy = question.decidedBy?.read(asked) ?? null;
  try {
    return await withEvidenceOf(
      decidedBy === null ? options : { ...options, decidedBy },
      question.reads,
      (evidence, onProgress) =>
        question.answer({ evidence, options: asked, rules: loadRulesAtHand(), onProgress }),
    );
  } catch (error) {
    throw error instanceof BadQuestion ? toUsageError(error, question.options) : error;
  }
}

/**
 * Converts the refusal of a question to an error for people. If the message begins with the name of an option, the
 * error names the option's flag.
 */
export function toUsageError(
  { message }: BadQuestion,
  options: readonly QuestionOption<unknown>[],
): UsageError {
  const named = options.find(({ name }) => message.startsWith(`${name} `));
  return new UsageError(
    named === undefined ? message : `--${toOptionName(named.name)}${message.slice(named.name.length)}`,
  );
}

/** Returns the value of an option in the form that it has in the body of a request. */
export function toOptionValue(
  { name, kind, schema }: QuestionOption<unknown>,
  given: Readonly<Record<string, unknown>>,
): unknown {
  const value = given[name];
  if (value === undefined) return undefined;
  if (kind === 'time') return parseTime(String(value), `--${toOptionName(name)}`);
  if (kind === 'number') {
    return parseNumberWithinBounds(String(value), `--${toOptionName(name)}`, schema);
  }
  if (kind === 'versions')
    for (const version of Array.isArray(value) ? value : [])
      if (!isRuleVersion(version)) throw new UsageError(describeBadVersionName(version));
  return value;
}

function loadRulesAtHand(): RuleSetFinders {
  return {
    named: loadSoundRuleSet,
    files: (version) => readRuleFiles(listChosenFolders([version])[0] ?? '', []) ?? new Map(),
    recorded: createRecordedRuleSetFinder(),
  };
}
