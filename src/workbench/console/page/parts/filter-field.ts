import {
  type FilterValueKind,
  LOOKUP_FILTER_MEMBERS,
  RECORD_FILTER_MEMBERS,
} from '#decision/filter-members.ts';
import { useAnswer } from '#workbench/console/page/api.ts';
import { html } from '#workbench/console/page/html.ts';
import { ROLLOUT_STATUS, ruleFolderQuestion } from '#workbench/console/page/questions.ts';
import { renderChoice, renderField } from './form.ts';
import { VERSION_NAME_FORM_TEXT, VERSION_NAME_PATTERN } from './format.ts';

/** A parameter of the search for decisions, for which forms have a field. */
export interface SearchField {
  readonly name: string;
  readonly label: string;
  readonly value: FilterValueKind;
}

/** All fields by which decisions are searched, by the parameters of the API. */
export const SEARCH_FIELDS: readonly SearchField[] = Object.entries({
  ...LOOKUP_FILTER_MEMBERS,
  ...RECORD_FILTER_MEMBERS,
}).flatMap(([name, { label, value }]) => (label === null ? [] : [{ name, label, value }]));

/** The fields that cannot narrow counts of decisions. */
const NOT_COUNTED: readonly string[] = ['verdict', 'requestId', ...Object.keys(LOOKUP_FILTER_MEMBERS)];

/** The fields that narrow counts of decisions. */
export const COUNT_FIELDS = SEARCH_FIELDS.filter(({ name }) => !NOT_COUNTED.includes(name));

const AMOUNT = { inputmode: 'decimal', pattern: '[0-9]+([.][0-9]+)?', title: 'A number, like 25.00' };
const RULE_VERSION = { pattern: VERSION_NAME_PATTERN, title: VERSION_NAME_FORM_TEXT };

/** An input for a parameter of a search. It proposes rules if `RuleNameOptions` stands beside it. */
export function renderFilterField({ name, label, value }: SearchField, chosen: string | undefined) {
  const input = { name, defaultValue: chosen, maxlength: 256 };
  switch (value) {
    case 'text':
    case 'moment':
      return renderField(label, { ...input, ...(name === 'rule' && { list: 'rules' }) });
    case 'ruleVersion':
      return renderField(label, { ...input, ...RULE_VERSION });
    case 'amount':
      return renderField(label, { ...input, ...AMOUNT });
    default:
      return renderChoice(label, value, { name, chosen, any: 'any' });
  }
}

/** The rules to choose from: those that give verdicts in the requested version, or in the active one. */
export function RuleNameOptions({ version }: { version: string | undefined }) {
  const status = useAnswer(version === undefined ? ROLLOUT_STATUS : null);
  const wanted = version ?? status.data?.rollout?.active.version;
  const { data } = useAnswer(wanted === undefined ? null : ruleFolderQuestion(wanted));
  const rules = (data?.rules ?? []).filter(({ at }) => at.file === 'verdicts.yaml');
  const names = [...rules.map(({ name }) => name), 'otherwise'];
  return html`<datalist id="rules">${names.map((name) => html`<option value=${name} />`)}</datalist>`;
}
