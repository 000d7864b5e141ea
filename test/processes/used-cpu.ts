import { readFileSync } from 'node:fs';

/** Linux counts CPU time in hundredths of a second, whatever its own clock. */
const TICKS_A_SECOND = 100;

/** CPU seconds of all threads of a process; NaN where there is no /proc. */
export function usedCpuSeconds(pid: number): number {
  try {
    // The second field is the program's name in brackets, which may hold blanks.
    const [, fields = ''] = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ');
    const [userTicks, systemTicks] = fields.split(' ').slice(11, 13);
    return (Number(userTicks) + Number(systemTicks)) / TICKS_A_SECOND;
  } catch {
    return Number.NaN;
  }
}
