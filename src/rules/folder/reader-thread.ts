import { parentPort } from 'node:worker_threads';
import type { ThreadReply } from '../../limited-thread.ts';
import { plainRules } from './plain-rules.ts';
import { readRuleSet } from './rule-folder.ts';
import type { PlainReadResult, ReadReply, ReadTask } from './rule-reader.ts';
import { scanRuleFolders } from './scan.ts';

/** The thread of `ThreadedReader`. */
parentPort?.on('message', (task: ReadTask) => parentPort?.postMessage(answer(task)));

function answer(task: ReadTask): ThreadReply<ReadReply> {
  try {
    return { result: done(task) };
  } catch (error) {
    return { thrown: error instanceof Error ? error.message : String(error) };
  }
}

function done(task: ReadTask): ReadReply {
  switch (task.kind) {
    case 'scan':
      return { kind: 'scan', folders: scanRuleFolders(task.rulesDir) };
    case 'load':
      return { kind: 'load', read: plain(task.folder) };
    default:
      return task satisfies never;
  }
}

function plain(folder: string): PlainReadResult {
  const read = readRuleSet(folder);
  return read.ok ? { ...read, rules: plainRules(read.rules) } : read;
}
