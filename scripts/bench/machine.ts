import { spawnSync } from 'node:child_process';
import { availableParallelism, cpus, loadavg } from 'node:os';
import type { LoadTool } from './load.ts';

/** What the figures were measured on; without it they say little. */
export interface Machine {
  readonly cpu: string;
  readonly cores: number;
  /** Processes that wanted to run over the last minute, before the bench began. */
  readonly load: number;
  readonly node: string;
  readonly redis: string;
  readonly loadTool: LoadTool;
  readonly date: string;
}

export function thisMachine(loadTool: LoadTool): Machine {
  const printed = spawnSync('redis-server', ['--version'], { encoding: 'utf8' }).stdout ?? '';
  return {
    cpu: cpus()[0]?.model ?? 'unknown',
    cores: availableParallelism(),
    load: Math.round((loadavg()[0] ?? 0) * 100) / 100,
    node: process.version,
    redis: /v=(\S+)/.exec(printed)?.[1] ?? 'not installed',
    loadTool,
    date: new Date().toISOString().slice(0, 10),
  };
}

export function describeMachine({ cpu, cores, load, node, redis, loadTool, date }: Machine): string {
  return `${date}, ${cpu}, ${cores} cores (load ${load} before), node ${node}, redis ${redis}, load by ${loadTool}`;
}
