import { readFileSync } from 'node:fs';

/** The processes that a process has started and that have not ended, the oldest first; Linux tells them. */
export function childIds(pid: number): readonly number[] {
  const text = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8');
  return text.split(' ').filter(Boolean).map(Number);
}
