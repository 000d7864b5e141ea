import { type TObject, type TProperties, type TSchema, Type } from '#base/json-schema.ts';
import { NamedError } from '#base/named-error.ts';
import { choice, instant, named, text } from '#base/shapes.ts';
import { toEpochMs } from '#decision/payer/instant.ts';
import type { RuleFiles } from '#decision/rules/parse/parse.ts';
import { type RuleSet, versionTextSchema } from '#decision/rules/rule-set.ts';
import { PRESENTATION_MEMBERS, type Presentation } from './presentation.ts';
import type { Evidence, EvidenceReach } from './source/evidence.ts';

/** What was asked cannot be answered; the message says why, and what is allowed. */
export class BadQuestion extends NamedError {}

/** What a question leaves open, as plain data by the names of its options. */
export type AskedOptions = Readonly<Record<string, unknown>>;

type OptionKind = 'version' | 'versions' | 'choice' | 'text' | 'texts' | 'time' | 'number';

/**
 * Something that a question leaves open. From it follow the command's option (or its argument), the member of the
 * body, its description, and the field of the page.
 */
export interface Option<T> {
  /** As the body has it. */
  readonly name: string;
  readonly kind: OptionKind;
  readonly description: string;
  /** The command takes it without its name. */
  readonly isArgument: boolean;
  readonly isRequired: boolean;
  /** Of a choice. */
  readonly values: readonly string[];
  /** How a value is written, where that needs saying: `PATH=VALUES`. */
  readonly form: string | null;
  readonly schema: TSchema;
  /** Of what was checked by the schema. */
  readonly read: (options: AskedOptions) => T;
}

type OptionText = Pick<Option<unknown>, 'name' | 'description'> &
  Partial<Pick<Option<unknown>, 'isArgument' | 'isRequired'>>;

function optionOf<T>(
  kind: OptionKind,
  { schema, ...told }: OptionText & Partial<Option<unknown>> & Pick<Option<unknown>, 'schema'>,
  valueIn: (value: unknown) => T,
): Option<T> {
  const plain = { isArgument: false, isRequired: false, values: [], form: null };
  return { ...plain, ...told, kind, schema, read: (options) => valueIn(options[told.name]) };
}

/** A rule set by its version, released or a draft; null where none is named. */
export function versionOption(told: OptionText): Option<string | null> {
  return optionOf('version', { ...told, schema: versionTextSchema(told.description) }, textIn);
}

export function versionsOption(told: OptionText): Option<readonly string[]> {
  const schema = Type.Array(versionTextSchema('A version'), { maxItems: 10, description: told.description });
  return optionOf('versions', { ...told, schema }, textsIn);
}

export function choiceOption<const T extends string>(
  told: OptionText & { readonly values: readonly T[] },
): Option<T | null> {
  const schema = choice(told.values, told.description);
  return optionOf(
    'choice',
    { ...told, schema },
    (given) => told.values.find((value) => value === given) ?? null,
  );
}

/** Several texts of a form, each option given once more. */
export function textsOption({
  most: maxItems,
  ...told
}: OptionText & { readonly form: string; readonly most: number }): Option<readonly string[]> {
  const { description } = told;
  const schema = Type.Array(text(200, told.form), { minItems: 1, maxItems, description });
  return optionOf('texts', { ...told, schema }, textsIn);
}

export function textOption(told: OptionText): Option<string | null> {
  return optionOf('text', { ...told, schema: text(200, told.description) }, textIn);
}

/** As the schema bounds it; null for none. */
export function numberOption(told: OptionText & Pick<Option<unknown>, 'schema'>): Option<number | null> {
  return optionOf('number', told, (value) => (typeof value === 'number' ? value : null));
}

/** Epoch ms; null for none. */
export function timeOption(told: OptionText): Option<number | null> {
  return optionOf('time', { ...told, schema: { ...instant, description: told.description } }, toEpochMs);
}

function textIn(value: unknown): string | null {
  return typeof value === 'string' ? value : null;
}

function textsIn(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.filter((one) => typeof one === 'string') : [];
}

/** A rule set that decided, by what its decisions recorded. */
export interface DecidingRules {
  readonly ruleVersion: string;
  readonly digest: string;
}

/** The rule sets that a question can be answered with. */
export interface RulesAtHand {
  /** Of an option; throws when the version is not sound, or was changed meanwhile. */
  readonly named: (version: string) => RuleSet;
  /** Its files as texts. */
  readonly files: (version: string) => RuleFiles;
  /** Null where nobody has it. */
  readonly recorded: (rules: DecidingRules) => RuleSet | null;
}

/** A question that was asked, with what it takes to answer it. */
interface Asking {
  readonly evidence: Evidence;
  readonly options: AskedOptions;
  readonly rules: RulesAtHand;
  /** Decisions that were looked at, of how many. */
  readonly onProgress: (done: number, of: number) => void;
}

/** What a question came to: figures, with the notes and tables that its reader is shown. */
export type Answered = Presentation & { readonly kind: string };

/** A question to recorded decisions. Command, body, job, document and form are made from it. */
export interface Question {
  readonly kind: string;
  /** In an API document and on the page. */
  readonly title: string;
  /** Of the command. */
  readonly description: string;
  readonly options: readonly Option<unknown>[];
  /** Of its options, for the document. */
  readonly example: AskedOptions;
  /** The option that says whose decisions alone count; null where all do. */
  readonly decidedBy: Option<string | null> | null;
  /** What it reads of the archive where a span is asked about. */
  readonly reads: EvidenceReach;
  /** Its result names orders for example, and is forgotten when a payer is erased. */
  readonly namesOrders: boolean;
  /** Of what it is answered with. */
  readonly schema: TObject;
  readonly answer: (asking: Asking) => Promise<Answered>;
}

interface Declared<P extends TProperties, Result extends { readonly kind: string }>
  extends Omit<Question, 'schema' | 'answer' | 'decidedBy' | 'namesOrders' | 'reads'>,
    Partial<Pick<Question, 'decidedBy' | 'namesOrders' | 'reads'>> {
  /** The document keeps the result's shape under this name. */
  readonly resultName: string;
  readonly result: TObject<P>;
  readonly run: (asking: Asking) => Promise<Result>;
  readonly shown: (result: Result) => Presentation;
}

/** Declares a question once. */
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

/** The rule set that an option names, or else the one that decided last. */
export async function findRulesOrLast(
  { evidence, options, rules }: Asking,
  option: Option<string | null>,
): Promise<RuleSet> {
  const version = option.read(options);
  if (version !== null) return rules.named(version);
  const [last] = await evidence.decidingRules();
  if (last === undefined)
    throw new BadQuestion('there is no decision within this time, so name the version to look at');
  return requireRecordedRules(rules, last, 'name the version to look at');
}

/** A rule set that decided; throws with the way on when nobody has it. */
export function requireRecordedRules(rules: RulesAtHand, decided: DecidingRules, wayOn: string): RuleSet {
  const found = rules.recorded(decided);
  if (found !== null) return found;
  const { ruleVersion, digest } = decided;
  throw new BadQuestion(
    `${ruleVersion} with digest ${digest.slice(0, 12)} decided, and this rule set is neither in RULES_DIR nor in the archive; ${wayOn}`,
  );
}
