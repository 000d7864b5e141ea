import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** A damaged file of a Redis append-only file (AOF), which consists of several files. */
export interface AppendOnlyFault {
  readonly file: string;
  /** The offset of the first entry that is not whole. Null if the file cannot be read at all. */
  readonly goodBytes: number | null;
  /** The number of bytes from that offset on. */
  readonly lostBytes: number | null;
}

/** The line with which redis-check-aof reports a file that it has read. */
const ANALYZED = /^AOF analyzed: filename=(.*), size=\d+, ok_up_to=(\d+),.* diff=(\d+)$/gm;

/** Matches the line about a new file in which nothing was written yet. Such a file is not analyzed. */
const EMPTY = /^(?:BASE|INCR) AOF (.*) is empty$/gm;

const MANIFEST = 'appendonly.aof.manifest';

/**
 * The most bytes of output that are read from redis-check-aof. The output has the files' names and little else,
 * whatever the files' size.
 */
const OUTPUT_BYTES_MAX = 16 << 20;

/**
 * Finds the first file in an `appendonlydir` that is not whole. Returns null if all files are whole. The check is
 * made by redis-check-aof, which opens the files for writing but changes none. Throws if that program is not
 * installed.
 */
export async function findAppendOnlyFault(folder: string): Promise<AppendOnlyFault | null> {
  const { isFine, output } = await checkByRedis(join(folder, MANIFEST));
  if (isFine) return null;
  const analyzed = [...output.matchAll(ANALYZED)].map(([, file = '', good, lost]) => ({
    file,
    goodBytes: Number(good),
    lostBytes: Number(lost),
  }));
  const cut = analyzed.find(({ lostBytes }) => lostBytes > 0);
  const looked = new Set([...analyzed.map(({ file }) => file), ...findFileNames(output, EMPTY)]);
  const file = listManifestFiles(folder).find((name) => !looked.has(name)) ?? MANIFEST;
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

/** Lists the files of the manifest, in the sequence in which Redis reads them. */
function listManifestFiles(folder: string): readonly string[] {
  try {
    return findFileNames(readFileSync(join(folder, MANIFEST), 'utf8'), /^file (\S+) seq /gm);
  } catch {
    return [];
  }
}

function findFileNames(text: string, pattern: RegExp): readonly string[] {
  return [...text.matchAll(pattern)].map(([, file = '']) => file);
}
