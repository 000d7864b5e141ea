import { serveWork } from '#base/work/serve-work.ts';
import { readRuleSet } from './rule-folder.ts';
import { scanRuleFolders } from './scan.ts';

const jobs = { scan: scanRuleFolders, load };

/** The functions that the reader thread runs for other threads, by name. */
export type ReaderJobs = typeof jobs;

/**
 * Reads a rule set for another thread. Functions cannot be sent to a thread, so the facts are sent without them.
 * `restoreFacts` adds the functions again.
 */
function load(folder: string) {
  const read = readRuleSet(folder);
  if (read.ok) for (const ref of read.rules.facts) Reflect.deleteProperty(ref, 'fact');
  return read;
}

serveWork(jobs);
