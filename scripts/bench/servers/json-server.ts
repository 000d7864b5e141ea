import { createServer, type IncomingMessage } from 'node:http';
import Router from '@koa/router';
import Koa from 'koa';
import { listening } from '../../../test/servers/listening.ts';

/** The members of a verdict request that the compared servers use. */
export interface PeerVerdictRequest {
  readonly clientIdKey: string;
  readonly orderRef: string;
}

/** Serves one route for verdicts with Koa, a router and JSON bodies. A service like this one cannot cost less. */
export async function serveVerdictRoute(
  answer: (body: PeerVerdictRequest) => Promise<object>,
): Promise<void> {
  const router = new Router();
  router.post('/v1/client/verdict', async (ctx) => {
    ctx.body = await answer(await readJson(ctx.req));
  });
  const app = new Koa();
  app.use(router.routes());
  console.log(`callers ${await listening(createServer(app.callback()))}, no platform`);
}

function readJson(req: IncomingMessage): Promise<PeerVerdictRequest> {
  const { promise, resolve, reject } = Promise.withResolvers<PeerVerdictRequest>();
  const chunks: Buffer[] = [];
  req.on('data', (chunk: Buffer) => chunks.push(chunk));
  req.on('error', reject);
  req.on('end', () => {
    try {
      resolve(JSON.parse(Buffer.concat(chunks).toString()));
    } catch (error) {
      reject(error);
    }
  });
  return promise;
}
