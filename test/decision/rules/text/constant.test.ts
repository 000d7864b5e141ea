import { join } from 'node:path';
import { expect } from 'chai';
import fc from 'fast-check';
import {
  listWrittenConstants,
  requireWrittenConstant,
  rewriteConstantValues,
  type WrittenConstant,
} from '#decision/rules/text/constant.ts';
import { compileDraft } from '#decision/rules/text/draft-text.ts';
import { readRuleFiles } from '#state/rule-folders/rule-folder.ts';
import { RULES_FOLDER } from '../../../service/current-rules.ts';

describe('the constants of a rule set', () => {
  const files = readRuleFiles(RULES_FOLDER, []) ?? new Map();

  it('are named by file, rule and fact', () => {
    const constants = new Map(listWrittenConstants(files).map(({ path, text }) => [path, text]));
    const some = {
      'groups.blocked-by-unpaid-chain.unpaidChain': '4',
      'bot-signals.threshold': '4',
      'bot-signals.exempt.overrideGroup': 'TRUSTED',
      'bot-signals.crowded-ip.weight': '2',
      'bot-signals.crowded-ip.clientsOnIp': '4',
      'bot-signals.crowded-ip.clientsOnIp.window': '1h',
      'bot-signals.device-churn.distinctIps': '6',
      'verdicts.attempt-unpaid.attemptOpen': 'true',
      'ladder.levels[2]': '30m',
      'ladder.resetAfter': '24h',
      'ruleset.smoothing.prior': '0.5',
    };
    for (const [path, text] of Object.entries(some)) expect(constants.get(path), path).to.equal(text);
  });

  it('say where they stand, what may stand there, what that means, and which rule goes by it', () => {
    const { from, to, ...told } = requireWrittenConstant(files, 'groups.blocked-by-unpaid-chain.unpaidChain');
    expect(files.get('groups.yaml')?.slice(from, to)).to.equal('4');
    expect(told).to.deep.equal({
      path: 'groups.blocked-by-unpaid-chain.unpaidChain',
      owner: 'groups.blocked-by-unpaid-chain',
      usedBy: ['blocked-by-unpaid-chain'],
      at: { file: 'groups.yaml', line: 28, column: 71 },
      text: '4',
      sign: '>=',
      allowed: { type: 'number', integer: true, min: 0, max: 20 },
      unit: 'orders',
      description: 'UNPAID outcomes since the last PAID one, counted up to 20.',
    });
  });

  it('stand in a ladder with an absence of its own, which the rules go by that name it', () => {
    const own = new Map([
      [
        'ladder.yaml',
        'levels: [30s]\nresetAfter: 1h\nladders: { slow: { levels: [1m, 2m], resetAfter: 2h } }',
      ],
      ['verdicts.yaml', 'rules: [{ name: wait, event: { params: { verdict: WAIT, ladder: slow } } }]'],
    ]);
    const told = listWrittenConstants(own).map(({ path, text, owner, usedBy }) => [
      path,
      text,
      owner,
      ...usedBy,
    ]);
    expect(told).to.deep.include.members([
      ['ladder.ladders.slow.levels[1]', '2m', 'ladder.ladders.slow', 'wait'],
      ['ladder.ladders.slow.resetAfter', '2h', 'ladder.ladders.slow', 'wait'],
      ['ladder.resetAfter', '1h', 'ladder', 'wait'],
    ]);
  });

  it('stand in named conditions, ladders, sections of platforms, and lists of values, too', () => {
    const told = listWrittenConstants(manifold()).map(
      ({ path, text, usedBy }) => `${path}=${text} (${usedBy.join(', ')})`,
    );
    for (const one of [
      'verdicts.conditions.banks-are-closed.dayOfWeek.value[1]=SUNDAY (large-transfer-out-of-hours)',
      'verdicts.conditions.banks-are-closed.hourOfDay=18 (large-transfer-out-of-hours)',
      'verdicts.transfer-unpaid.ladder=transfer (transfer-unpaid)',
      'verdicts.large-transfer-out-of-hours.listed.list=known-payers (large-transfer-out-of-hours)',
      'verdicts.large-transfer-out-of-hours.method.list=slow-methods (large-transfer-out-of-hours)',
      'ladder.levels[0]=30s (asked-too-early, attempt-unpaid)',
      'ladder.ladders.transfer[2]=6h (asked-too-early-for-a-transfer, transfer-unpaid)',
      'ruleset.platforms.shop.ladder.resetAfter=12h (asked-too-early-for-a-transfer, asked-too-early, transfer-unpaid, attempt-unpaid)',
      'ruleset.platforms.shop.smoothing.prior=0.4 ()',
    ])
      expect(told).to.include(one);
  });

  it('take what the check takes: any other value is refused where the constant stands', () => {
    for (const sound of [files, manifold()]) {
      expect(problemsOf(sound)).to.deep.equal([]);
      const texts = listWrittenConstants(sound).flatMap((one) =>
        outsideOf(one).map((value) => [one, value] as const),
      );
      for (const [constant, value] of texts) {
        const places = problemsOf(rewriteConstantValues(sound, [[constant, value]])).map(({ at }) => at);
        expect(places, `${constant.path}=${value}`).to.deep.include(constant.at);
      }
    }
  });

  it('take either end of their range', () => {
    for (const constant of listWrittenConstants(manifold())) {
      for (const value of endsOf(constant)) {
        const edited = rewriteConstantValues(manifold(), [[constant, value]]);
        const messages = problemsOf(edited).map(({ message }) => message);
        expect(messages.join('\n'), `${constant.path}=${value}`).not.to.match(
          /must be (?:from|a |one|true|at most)|looks back/,
        );
      }
    }
  });

  it('are listed from all other files where one cannot be read', () => {
    const broken = new Map([...files, ['groups.yaml', 'rules: [ { name']]);
    const named = new Set(listWrittenConstants(broken).map(({ at }) => at.file));
    expect([...named]).to.deep.equal(['bot-signals.yaml', 'verdicts.yaml', 'ladder.yaml', 'ruleset.yaml']);
  });

  it('get a number where a rule compares a fact several times', () => {
    const groups = `rules:
  - name: between
    conditions: { all: [{ fact: paidCount, operator: greaterThan, value: 1 }, { fact: paidCount, operator: lessThan, value: 9 }] }
    event: { params: { group: PAYING } }`;
    const paths = listWrittenConstants(new Map([['groups.yaml', groups]])).map(
      ({ path, text }) => `${path}=${text}`,
    );
    expect(paths).to.deep.equal(['groups.between.paidCount[0]=1', 'groups.between.paidCount[1]=9']);
  });

  it('are replaced where they stand, and nothing else in the file', () => {
    fc.assert(
      fc.property(fc.shuffledSubarray([...listWrittenConstants(files)], { minLength: 1 }), (some) => {
        const same = rewriteConstantValues(
          files,
          some.map((constant) => [constant, constant.text]),
        );
        expect([...same]).to.deep.equal([...files]);
        const marked = rewriteConstantValues(
          files,
          some.map((constant) => [constant, 'changed']),
        );
        const values = new Map(listWrittenConstants(marked).map(({ path, text }) => [path, text]));
        for (const { path } of some) expect(values.get(path)).to.equal('changed');
      }),
      { numRuns: 20 },
    );
  });

  it('are put back with the quotes without which a text would be something else', () => {
    const bins = new Map([
      [
        'verdicts.yaml',
        'rules: [{ name: bins, conditions: { all: [{ fact: method, operator: in, value: ["411111", \'card\', "true", "a: b"] }] } }]',
      ],
    ]);
    const found = listWrittenConstants(bins).filter(({ path }) => path.includes('method'));
    expect(found.map(({ text }) => text)).to.deep.equal(['411111', 'card', 'true', 'a: b']);
    const same = rewriteConstantValues(
      bins,
      found.map((constant) => [constant, constant.text]),
    );
    expect(same.get('verdicts.yaml')).to.include('value: ["411111", card, "true", "a: b"]');
  });

  it('that are not there are refused with the nearest name', () => {
    expect(() => requireWrittenConstant(files, 'groups.blocked-by-unpaid-chain.unpaidChan')).to.throw(
      'there is no constant groups.blocked-by-unpaid-chain.unpaidChan; did you mean "groups.blocked-by-unpaid-chain.unpaidChain"?',
    );
  });

  it('make a rule set that decides by them', () => {
    const path = 'ladder.levels[0]';
    const draft = compileDraft(
      'p2.v10',
      rewriteConstantValues(files, [[requireWrittenConstant(files, path), '20s']]),
    );
    expect(draft.ok && draft.ruleSet.settings.ladder.levelsMs[0]).to.equal(20_000);
    expect(draft.ok && draft.ruleSet.released).to.equal(false);
  });
});

/** A rule set with everything that has constants. */
function manifold(): ReadonlyMap<string, string> {
  const files = new Map(readRuleFiles(join(RULES_FOLDER, '..', 'examples', 'bank-transfers', 'p3.v1'), []));
  const edit = (path: string, from: string, to: string) =>
    files.set(
      path,
      (files.get(path) ?? '').replace(from, () => to),
    );
  const listed = '{ fact: listed, params: { list: known-payers }, operator: equal, value: false }';
  const method = '{ fact: method, operator: in, value: { list: slow-methods } }';
  edit(
    'verdicts.yaml',
    '- condition: banks-are-closed',
    `- condition: banks-are-closed\n        - ${listed}`,
  );
  edit('verdicts.yaml', '{ fact: method, operator: equal, value: transfer }', method);
  files.set('lists/slow-methods.yaml', 'entries: [transfer, cheque]\n');
  const platform = 'smoothing: { prior: 0.4, weight: 1 }, ladder: { levels: [5s], resetAfter: 12h }';
  files.set('ruleset.yaml', `${files.get('ruleset.yaml')}platforms:\n  shop: { ${platform} }\n`);
  return files;
}

function problemsOf(files: ReadonlyMap<string, string>) {
  const draft = compileDraft(files.get('ruleset.yaml')?.match(/ruleVersion: (\S+)/)?.[1] ?? '', files);
  return draft.ok ? [] : draft.problems;
}

/** What may not stand in the place of a constant. */
function outsideOf({ allowed }: WrittenConstant): readonly string[] {
  switch (allowed.type) {
    case 'number': {
      const below = allowed.min - 1;
      // Too large for plain digits is too large, too.
      const above = allowed.max > 1e9 ? `9${'0'.repeat(40)}` : String(allowed.max + 1);
      return [String(below), above, 'some', ...(allowed.integer ? ['1.5'] : [])];
    }
    case 'duration':
      return [`${Number.parseInt(allowed.longest, 10) + 1}d`, '0s', '12'];
    case 'boolean':
      return ['perhaps', '1'];
    case 'enum':
      return ['NOBODY'];
    case 'text':
      return ['', ' '];
    default:
      return allowed satisfies never;
  }
}

function endsOf({ allowed }: WrittenConstant): readonly string[] {
  switch (allowed.type) {
    case 'number':
      return [String(allowed.min), ...(allowed.max > 1e20 ? [] : [String(allowed.max)])];
    case 'duration':
      return ['1s', allowed.longest];
    case 'boolean':
      return ['true', 'false'];
    case 'enum':
      return allowed.values;
    case 'text':
      return ['something'];
    default:
      return allowed satisfies never;
  }
}
