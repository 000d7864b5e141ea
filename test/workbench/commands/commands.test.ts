import { writeFileSync } from 'node:fs';
import { hostname, userInfo } from 'node:os';
import { join } from 'node:path';
import { removeDirectory, temporaryDirectory } from '../../servers/temporary-directory.ts';
import { scoring } from './scoring.ts';
import { itPrints } from './transcript.ts';

describe('a command on a new store:', () => {
  itPrints(new URL('commands.txt', import.meta.url), (given) => {
    const folder = temporaryDirectory();
    for (const line of given) {
      const [, name = '', text = ''] = /^- (\S+) = (.*)$/.exec(line) ?? [];
      writeFileSync(join(folder, name), JSON.parse(`"${text.replaceAll('"', '\\"')}"`));
    }
    return {
      run: (args) => scoring(args, { DATA_DIR: join(folder, 'data'), ARCHIVE_DIR: join(folder, 'archive') }),
      named: {
        DIR: folder,
        WHO: `user ${userInfo().username} on ${hostname()}`,
        TIME: /2\d{3}-\d\d-\d\dT[\d:.]+Z/g,

        ID: /(?<="id":")[^"]+/g,
        KEY: /ka_[\w-]+/g,
      },
      end: () => removeDirectory(folder),
    };
  });
});
