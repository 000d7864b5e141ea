import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** A file of an append-only file of Redis that is not whole. */
export interface FileFault {
  readonly file: string;
  /** Where the entry begins that is not whole; null: the file cannot be read at all. */
  readonly goodBytes: number | null;
  /** How many bytes there are from there on. */
  readonly lostBytes: number | null;
}

/** As redis-check-aof ends its look at a file. */
const ANALYZED = /^AOF analyzed: filename=(.*), size=\d+, ok_up_to=(\d+),.* diff=(\d+)$/gm;

/** A file that was begun and in which nothing was written yet is not analyzed. */
const EMPTY = /^(?:BASE|INCR) AOF (.*) is empty$/gm;

const MANIFEST = 'appendonly.aof.manifest';

/** Beside the checked files' names it says little of each, whatever their size. */
const OUTPUT_BYTES_MAX = 16 << 20;

/**
 * The first file in an `appendonlydir` that is not whole, by redis-check-aof, which opens files for writing and changes
 * none; null: all are. Throws when that program is not installed.
 */
export async function findAppendOnlyFault(folder: string): Promise<FileFault | null> {
  const { isFine, output } = await checkByRedis(join(folder, MANIFEST));
  if (isFine) return null;
  const analyzed = [...output.matchAll(ANALYZED)].map(([, file = '', good, lost]) => ({
    file,
    goodBytes: Number(good),
    lostBytes: Number(lost),
  }));
  const cut = analyzed.find(({ lostBytes }) => lostBytes > 0);
  const looked = new Set([...analyzed.map(({ file }) => file), ...filesIn(output, EMPTY)]);
  const file = filesOf(folder).find((name) => !looked.has(name)) ?? MANIFEST;
  return cut === undefined || cut.file.endsWith(MANIFEST)
    ? { file: join(folder, file), goodBytes: null, lostBytes: null }
    : { ...cut, file: join(folder, cut.file) };
}

function checkByRedis(manifest: string): Promise<{ readonly isFine: boolean; readonly output: string }> {
  const { promise, resolve, reject } = Promise.withResolvers<{ isFine: boolean; output: string }>();
  execFile('redis-check-aof', [manifest], { maxBuffer: OUTPUT_BYTES_MAX }, (error, output) => {
    if (error !== null && typeof error.code !== 'number') reject(error);
    else resolve({ isFine: error === null, output });
  });
  return promise;
}

/** The files of the manifest, in the order in which they are read. */
function filesOf(folder: string): readonly string[] {
  try {
    return filesIn(readFileSync(join(folder, MANIFEST), 'utf8'), /^file (\S+) seq /gm);
  } catch {
    return [];
  }
}

function filesIn(text: string, pattern: RegExp): readonly string[] {
  return [...text.matchAll(pattern)].map(([, file = '']) => file);
}
