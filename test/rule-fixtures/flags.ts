/** `flags.yaml` of the tests: what people should look at. */
export const FLAGS = [
  'conditions:',
  '  first-order: { all: [{ fact: paidCount, operator: equal, value: 0 }] }',
  'rules:',
  '  - name: large-first-order',
  '    description: A first order above 500.',
  '    conditions:',
  '      all:',
  '        - condition: first-order',
  '        - { fact: amount, operator: greaterThan, value: 500 }',
  '    event: { type: flag, params: { flag: large-first-order } }',
  '  - name: crypto',
  '    conditions: { all: [{ fact: method, operator: equal, value: crypto }] }',
  '    event: { type: flag, params: { flag: risky-method } }',
  '  - name: voucher',
  '    conditions: { any: [{ fact: method, operator: in, value: [voucher, crypto] }] }',
  '    event: { type: flag, params: { flag: risky-method } }',
].join('\n');
