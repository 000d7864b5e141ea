import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';

/**
 * Loaded before the service: as long as the file REFUSING_DISK exists, the disk refuses every sync. A real disk that
 * does needs a kernel module and root.
 */
const { fdatasync } = fs;
const refusal = Object.assign(new Error('EIO: i/o error, fdatasync'), { code: 'EIO' });

const refusable = (file: number, done: fs.NoParamCallback) => {
  if (fs.existsSync(String(process.env['REFUSING_DISK']))) setImmediate(done, refusal);
  else fdatasync(file, done);
};

Object.assign(fs, { fdatasync: refusable });
syncBuiltinESMExports();
