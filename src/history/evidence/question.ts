import { type TObject, type TProperties, type TSchema, Type } from '#base/json-schema.ts';
import { NamedError } from '#base/named-error.ts';
import { choice, named, requestInstantSchema, text } from '#base/shapes.ts';
import { toEpochMs } from '#decision/payer/instant.ts';
import type { RuleFiles } from '#decision/rules/parse/parse.ts';
import { createUncheckedVersionSchema, type RuleSet } from '#decision/rules/rule-set.ts';
import { type NotesAndTables, PRESENTATION_MEMBERS } from './presentation.ts';
import type { Evidence, SpanOrAllTimes } from './source/evidence.ts';

/** Thrown if a question cannot be answered. The message says why, and what is allowed. */
export class BadQuestion extends NamedError {}

/** The options that were given with a question, by name and not checked. */
export type AskedOptions = Readonly<Record<string, unknown>>;

type OptionKind = 'version' | 'versions' | 'choice' | 'text' | 'texts' | 'time' | 'number';

/**
 * An option of a question. The command's option or argument, the member of the body, its description and the field of
 * the console's page are made from it.
 */
export interface QuestionOption<T> {
  /** The member's name in the body. */
  readonly name: string;
  readonly kind: OptionKind;
  readonly description: string;
  /** Whether the command takes the value as an argument, without the option's name. */
  readonly isArgument: boolean;
  readonly isRequired: boolean;
  /** The allowed values of a choice. */
  readonly values: readonly string[];
  /** The form of a value that needs an explanation, like `PATH=VALUES`. Null if it needs none. */
  readonly form: string | null;
  readonly schema: TSchema;
  /** Reads the option's value from options that the schema has checked. */
  readonly read: (options: AskedOptions) => T;
}

type OptionText = Pick<QuestionOption<unknown>, 'name' | 'description'> &
  Partial<Pick<QuestionOption<unknown>, 'isArgument' | 'isRequired'>>;

function createOption<T>(
  kind: OptionKind,
  {
    schema,
    ...told
  }: OptionText & Partial<QuestionOption<unknown>> & Pick<QuestionOption<unknown>, 'schema'>,
  valueIn: (value: unknown) => T,
): QuestionOption<T> {
  const plain = { isArgument: false, isRequired: false, values: [], form: null };
  return { ...plain, ...told, kind, schema, read: (options) => valueIn(options[told.name]) };
}

/**
 * Declares an option that names a rule set by its version, released or a draft. If it is not given, the value is
 * null.
 */
export function versionOption(told: OptionText): QuestionOption<string | null> {
  return createOption(
    'version',
    { ...told, schema: createUncheckedVersionSchema(told.description) },
    readText,
  );
}

export function versionsOption(told: OptionText): QuestionOption<readonly string[]> {
  const schema = Type.Array(createUncheckedVersionSchema('A version'), {
    maxItems: 10,
    description: told.description,
  });
  return createOption('versions', { ...told, schema }, readTexts);
}

export function choiceOption<const T extends string>(
  told: OptionText & { readonly values: readonly T[] },
): QuestionOption<T | null> {
  const schema = choice(told.values, told.description);
  return createOption(
    'choice',
    { ...told, schema },
    (given) => told.values.find((value) => value === given) ?? null,
  );
}

/** Declares an option that may be given several times, each time with a text of the same form. */
export function textsOption({
  most: maxItems,
  ...told
}: OptionText & { readonly form: string; readonly most: number }): QuestionOption<readonly string[]> {
  const { description } = told;
  const schema = Type.Array(text(200, told.form), { minItems: 1, maxItems, description });
  return createOption('texts', { ...told, schema }, readTexts);
}

export function textOption(told: OptionText): QuestionOption<string | null> {
  return createOption('text', { ...told, schema: text(200, told.description) }, readText);
}

/** Declares an option for a number within the bounds of its schema. If it is not given, the value is null. */
export function numberOption(
  told: OptionText & Pick<QuestionOption<unknown>, 'schema'>,
): QuestionOption<number | null> {
  return createOption('number', told, (value) => (typeof value === 'number' ? value : null));
}

/** Declares an option for a time. The value is in epoch ms. If it is not given, the value is null. */
export function timeOption(told: OptionText): QuestionOption<number | null> {
  return createOption(
    'time',
    { ...told, schema: { ...requestInstantSchema, description: told.description } },
    toEpochMs,
  );
}

function readText(value: unknown): string | null {
  return typeof value === 'string' ? value : null;
}

function readTexts(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.filter((one) => typeof one === 'string') : [];
}

/** A rule set that made decisions, as the decisions recorded it. */
export interface DecidingRuleSetRef {
  readonly ruleVersion: string;
  readonly digest: string;
}

/** The rule sets with which a question can be answered. */
export interface RuleSetFinders {
  /**
   * Finds a rule set that an option names. Throws if the version has problems, or if it was changed in the meantime.
   */
  readonly named: (version: string) => RuleSet;
  /** Returns the files of a rule set as texts. */
  readonly files: (version: string) => RuleFiles;
  /** Finds the rule set that made decisions. Returns null if neither RULES_DIR nor the archive has it. */
  readonly recorded: (rules: DecidingRuleSetRef) => RuleSet | null;
}

/** A question that was asked, and the parts that are needed to answer it. */
interface Asking {
  readonly evidence: Evidence;
  readonly options: AskedOptions;
  readonly rules: RuleSetFinders;
  /** Reports how many decisions are done, and how many there are. */
  readonly onProgress: (done: number, of: number) => void;
}

/** The answer to a question: figures, and the notes and tables that readers see. */
export type QuestionAnswer = NotesAndTables & { readonly kind: string };

/** A question about recorded decisions. Its command, request body, job, API document and form are made from it. */
export interface Question {
  readonly kind: string;
  /** The title in an API document and in the console. */
  readonly title: string;
  /** The description of the command. */
  readonly description: string;
  readonly options: readonly QuestionOption<unknown>[];
  /** Example options, for the API document. */
  readonly example: AskedOptions;
  /** The option that names the version whose decisions alone count. Null if all decisions count. */
  readonly decidedBy: QuestionOption<string | null> | null;
  /** The part of the archive that the answer needs, if a span is asked about. */
  readonly reads: SpanOrAllTimes;
  /** Whether the result names orders as examples. Such a result is deleted when a payer is erased. */
  readonly namesOrders: boolean;
  /** The schema of the answer. */
  readonly schema: TObject;
  readonly answer: (asking: Asking) => Promise<QuestionAnswer>;
}

interface Declared<P extends TProperties, Result extends { readonly kind: string }>
  extends Omit<Question, 'schema' | 'answer' | 'decidedBy' | 'namesOrders' | 'reads'>,
    Partial<Pick<Question, 'decidedBy' | 'namesOrders' | 'reads'>> {
  /** The name of the result's schema in the API document. */
  readonly resultName: string;
  readonly result: TObject<P>;
  readonly run: (asking: Asking) => Promise<Result>;
  readonly shown: (result: Result) => NotesAndTables;
}

/** Makes a question of its declaration. Adds notes and tables to the figures of the answer. */
export function declareQuestion<P extends TProperties, Result extends { readonly kind: string }>({
  resultName,
  result,
  run,
  shown,
  ...told
}: Declared<P, Result>): Question {
  return {
    decidedBy: null,
    namesOrders: false,
    reads: 'allTimes',
    ...told,
    schema: named(resultName, Type.Object({ ...result.properties, ...PRESENTATION_MEMBERS })),
    answer: async (asking) => {
      const found = await run(asking);
      return { ...found, ...shown(found) };
    },
  };
}

/** Returns the rule set that an option names. If none is named, returns the rule set that decided last. */
export async function requireNamedOrLastRules(
  { evidence, options, rules }: Asking,
  option: QuestionOption<string | null>,
): Promise<RuleSet> {
  const version = option.read(options);
  if (version !== null) return rules.named(version);
  const [last] = await evidence.readDecidingRules();
  if (last === undefined)
    throw new BadQuestion('there is no decision in this time span; name the version to look at');
  return requireRecordedRules(rules, last, 'name the version to look at');
}

/** Finds a rule set that made decisions. Throws `BadQuestion` with the advice `wayOn` if it cannot be found. */
export function requireRecordedRules(
  rules: RuleSetFinders,
  decided: DecidingRuleSetRef,
  wayOn: string,
): RuleSet {
  const found = rules.recorded(decided);
  if (found !== null) return found;
  const { ruleVersion, digest } = decided;
  throw new BadQuestion(
    `${ruleVersion} with digest ${digest.slice(0, 12)} decided, but this rule set is neither in RULES_DIR nor in the archive; ${wayOn}`,
  );
}
