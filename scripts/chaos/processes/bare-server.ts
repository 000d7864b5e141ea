import { once } from 'node:events';
import { createServer } from 'node:http';
import {
  cutOffSlowReaders,
  HEADERS_TIMEOUT_MS,
  REQUEST_TIMEOUT_MS,
  TIMEOUT_CHECK_MS,
  UNREAD_TIMEOUT_MS,
} from '../../../src/http/server/listener.ts';

/**
 * The control of slow-clients, in a process of its own: a bare node:http server that keeps slow sockets just
 * as long as the service does (`src/http/server/listener.ts`), and does nothing else. It takes whatever is posted,
 * and answers with ANSWER_BYTES.
 */
const answer = Buffer.alloc(Number(process.env['ANSWER_BYTES']), 'x');
const timeouts = {
  headersTimeout: HEADERS_TIMEOUT_MS,
  requestTimeout: REQUEST_TIMEOUT_MS,
  connectionsCheckingInterval: TIMEOUT_CHECK_MS,
};
const server = createServer(timeouts, (req, res) => {
  // As the service does with its documents, the only large answers.
  if (req.method === 'GET') res.setHeader('Connection', 'close');
  req.resume().once('end', () => res.end(answer));
});
cutOffSlowReaders(server, UNREAD_TIMEOUT_MS);
server.listen(0, '127.0.0.1');
await once(server, 'listening');
const address = server.address();
if (address === null || typeof address === 'string') throw new Error('no port');
console.log(`callers http://127.0.0.1:${address.port}, no platform`);
