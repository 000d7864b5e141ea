import { serveWork } from '../../work/serve-work.ts';
import { type LoadResult, readRuleSet } from './rule-folder.ts';
import { type PlainRules, plainRules, scanRuleFolders } from './scan.ts';

type PlainReadResult =
  | { readonly ok: true; readonly rules: PlainRules; readonly digest: string; readonly released: boolean }
  | Extract<LoadResult, { ok: false }>;

const works = { scan: scanRuleFolders, load };

export type ReaderWorks = typeof works;

function load(folder: string): PlainReadResult {
  const read = readRuleSet(folder);
  return read.ok ? { ...read, rules: plainRules(read.rules) } : read;
}

serveWork(works);
