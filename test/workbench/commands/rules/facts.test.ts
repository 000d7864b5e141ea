import { expect } from 'chai';
import { FACTS } from '#decision/facts/catalogue.ts';
import { editsOf } from '../../../rule-fixtures/rule-edits.ts';
import { editedCopy, TemporaryRules } from '../../../rule-fixtures/rule-folders.ts';
import { scoring } from '../scoring.ts';
import { itPrints } from '../transcript.ts';

describe('rules facts', () => {
  const stageOf = (given: readonly string[]) => {
    const rules = new TemporaryRules();
    rules.create();
    editedCopy(rules, 'p9.v1', editsOf(given));
    const env = { RULES_DIR: rules.folder, DATA_DIR: rules.folder };
    const named = { DIR: rules.folder };
    return { run: (args: readonly string[]) => scoring(args, env), named, end: () => rules.remove() };
  };
  itPrints(new URL('facts.txt', import.meta.url), stageOf);

  it('prints every fact of the catalogue once, as JSON and for people', async () => {
    const { stdout } = await scoring(['rules', 'facts', '--json'], {});
    const { version, questions } = JSON.parse(stdout);
    const names = questions.flatMap(({ facts }: { facts: { name: string }[] }) =>
      facts.map(({ name }) => name),
    );
    expect(version).to.equal(null);
    expect(names.toSorted()).to.deep.equal([...FACTS.keys()].toSorted());
    const lines = (await scoring(['rules', 'facts'], {})).stdout.split('\n');
    for (const name of names)
      expect(
        lines.filter((line) => line.startsWith(`  ${name} `)),
        name,
      ).to.have.length(1);
  });
});
