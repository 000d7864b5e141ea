import { declaring } from './declared-attributes.ts';
import { type Edit, edited, edits, swap, whole } from './sound-rules.ts';

const CARD = 'fact: attribute, params: { name: cardBin }';

const rule = (name: string, priority: number, comparison: string) => `
  - name: ${name}
    priority: ${priority}
    conditions: { all: [${comparison}] }
    event: { type: verdict, params: { verdict: BLOCK, reason: "${name}" } }
`;

const RULES = [
  rule('suspect-bin', 902, `{ ${CARD}, operator: in, value: { list: suspect-bins } }`),
  rule('own-bin', 901, `{ ${CARD}, operator: equal, value: "510000" }`),
];

/** The sound rules with verdict rules that refuse a card by its BIN, which is kept as a pseudonym, and a flag for others. */
export const REFUSING_BINS = {
  'ruleset.yaml': declaring('{ cardBin: { type: text, length: 6, pseudonym: true } }'),
  'verdicts.yaml': edits(swap('\nrules:\n', `\nrules:${RULES.join('')}`)),
  'lists/suspect-bins.yaml': whole('description: BINs of a ring.\nentries: ["411111", "400000"]\n'),
  'flags.yaml': whole(`rules:
  - name: foreign-bin
    conditions: { all: [{ ${CARD}, operator: notIn, value: ["420000", "430000"] }] }
    event: { type: flag, params: { flag: foreign-bin } }
`),
} satisfies Readonly<Record<string, Edit>>;

export const BIN_RULES = edited(REFUSING_BINS);
