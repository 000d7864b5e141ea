import { readFileSync, writeFileSync } from 'node:fs';
import { expect } from 'chai';
import { draftCandidates, playJuly, Workplace } from '../../../history/evidence/backtest/backtest-history.ts';
import { scoring } from '../scoring.ts';
import { itPrints } from '../transcript.ts';

describe('evidence by command', () => {
  let place: Workplace;
  before(async () => {
    place = await Workplace.after(playJuly);
    draftCandidates(place);
    place.draft('p2.v18', { file: 'groups.yaml', from: 'value: 4 }', to: 'value: 2 }' });
    const july = readFileSync(place.path('j'), 'utf8');
    const about = '"at":1,"platform":"demo","clientIdKey":"ann"';
    for (const [name, text] of Object.entries({
      letter: 'Dear Ann',
      later: july.split('\n').slice(3).join('\n'),
      older: july.replaceAll('"ruleVersion":"p2.v10"', '"ruleVersion":"p2.v9"'),
      1: `${july}Dear Ann,\n`,
      2: `${july}[]\n`,
      3: `${july}{"kind":"letter",${about}}\n`,
      4: `${july}{"kind":"verdict",${about},"decision":{}}\n`,
    }))
      writeFileSync(place.path(name), text);
  });
  after(() => place.end());

  const onJournal = async (command: string, ...more: readonly string[]) => {
    const { stdout } = await place.scoring('rules', command, '--journal', place.path('j'), ...more);
    return JSON.parse(stdout);
  };

  itPrints(new URL('evidence.txt', import.meta.url), () => ({
    run: (args) => scoring(args, place.environment()),
    named: { JOURNAL: place.path('j'), DIR: place.folder },
  }));

  it('rules backtest prints one JSON object with stable members on request', async () => {
    const span = 'kind version digest against from to decisions gaps silences torn versions';
    const replayed =
      'compared reproduced undecidable splitAt parts reversals emptyLists heldOut candidates transitions changes';
    const printed = await onJournal('backtest', 'p2.v11', '--json');
    expect(Object.keys(printed).join(' ')).to.equal(`${span} ${replayed} notes tables`);
  });

  it('rules report prints one JSON object with stable members on request, of a version that is named', async () => {
    const { rules: all, ...rest } = await onJournal('report', 'p2.v18', '--json', '--by', 'day');
    expect([rest.version, rest.decisions, rest.ownDecisions]).to.deep.equal(['p2.v18', 13, 0]);
    expect(Object.keys(rest)).to.include.members(['from', 'to', 'orders', 'gaps', 'notes']);
    expect(rest.tables.at(-1)).to.deep.include({ name: 'slices', title: 'By day' });
    expect(Object.keys(all[0]).join(' ')).to.equal(
      'file name matched decided decisive orders amount unpaidShare lift holdout net unrated by',
    );
  });

  it('rules report names no order in the heading of a table that is sorted otherwise', async () => {
    const { tables } = await onJournal('report', 'p2.v10', '--sort', 'Decisive', '--json');
    const titles: readonly string[] = tables.map(({ title }: { title: string }) => title);
    expect(titles.filter((title) => title.endsWith(' first'))).to.deep.equal([]);
    expect(titles).to.include('Money by verdict rule');
  });
});
