import { setTimeout as delay } from 'node:timers/promises';

/**
 * The searching tenant of busy-searches, in a process of its own, so that reading megabytes of answers holds up no
 * sample: `searcher.ts URL PATH..` asks for all paths over and over, each on its own, and prints a line for each
 * status that it meets. It ends when it is killed.
 */
const [url = '', ...paths] = process.argv.slice(2);
const key = process.env['SEARCH_KEY'] ?? '';
const REFUSED_PAUSE_MS = 100;

await Promise.all(
  paths.map(async (path) => {
    for (;;) {
      const answer = await fetch(`${url}/v1/platform/${path}`, { headers: { 'X-KA-Access-Key': key } });
      await answer.arrayBuffer();
      console.log(answer.status);
      if (!answer.ok) await delay(REFUSED_PAUSE_MS);
    }
  }),
);
