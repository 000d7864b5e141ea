import { serveWork } from '#base/work/serve-work.ts';
import { readRuleSet } from './rule-folder.ts';
import { scanRuleFolders } from './scan.ts';

const works = { scan: scanRuleFolders, load };

export type ReaderWorks = typeof works;

/** Sound rules leave without the functions of their facts, which cannot go to another thread; see `withFacts`. */
function load(folder: string) {
  const read = readRuleSet(folder);
  if (read.ok) for (const ref of read.rules.facts) Reflect.deleteProperty(ref, 'fact');
  return read;
}

serveWork(works);
