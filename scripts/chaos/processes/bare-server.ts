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
 * The control of hostile-tenant: a bare node:http server with the service's limits for slow sockets
 * (`src/http/server/listener.ts`). It takes any POST, and answers with ANSWER_BYTES.
 */
const answer = Buffer.alloc(Number(process.env['ANSWER_BYTES']), 'x');
const timeouts = {
  headersTimeout: HEADERS_TIMEOUT_MS,
  requestTimeout: REQUEST_TIMEOUT_MS,
  connectionsCheckingInterval: TIMEOUT_CHECK_MS,
};
const server = createServer(timeouts, (req, res) => {
  // Like the service for its documents, which are its only large answers.
  if (req.method === 'GET') res.setHeader('Connection', 'close');
  req.resume().once('end', () => res.end(answer));
});
cutOffSlowReaders(server, UNREAD_TIMEOUT_MS);
server.listen(0, '127.0.0.1');
await once(server, 'listening');
const address = server.address();
if (address === null || typeof address === 'string') throw new Error('no port');
console.log(`callers http://127.0.0.1:${address.port}, no platform`);
