import { once } from 'node:events';
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import { listening } from './listening.ts';

/** What is done to a request: it passes, or with an answer that ends in the middle, or is refused with an error of S3. */
export type Treatment = 'pass' | 'cut' | { readonly status: number; readonly code: string };

export interface S3Proxy {
  readonly port: number;
  /** What was asked for: `GET /years/archive/log/..`. */
  readonly asked: readonly string[];
  /** From now on. */
  treat(treatment: (asked: string) => Treatment): void;
  stop(): Promise<void>;
}

/** Stands between nodes and a server that speaks S3. */
export async function startS3Proxy(serverPort: number): Promise<S3Proxy> {
  let treatmentOf: (asked: string) => Treatment = () => 'pass';
  const asked: string[] = [];
  const server = createServer((req, res) => {
    const what = `${req.method} ${decodeURIComponent(req.url ?? '').split('?')[0]}`;
    asked.push(what);
    const treatment = treatmentOf(what);
    if (typeof treatment === 'object') return refuse(req, res, treatment);
    pass(serverPort, req, res, treatment === 'cut');
  });
  const { port } = new URL(await listening(server));
  return {
    port: Number(port),
    asked,
    treat: (treatment) => {
      treatmentOf = treatment;
    },
    stop: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

function refuse(
  req: IncomingMessage,
  res: ServerResponse,
  { status, code }: { readonly status: number; readonly code: string },
): void {
  req.resume();
  res.writeHead(status, { 'Content-Type': 'application/xml' });
  res.end(`<?xml version="1.0"?><Error><Code>${code}</Code><Message>as the test wants it</Message></Error>`);
}

function pass(port: number, req: IncomingMessage, res: ServerResponse, isCut: boolean): void {
  const { method, url, headers } = req;
  const forwarded = request({ host: '127.0.0.1', port, method, path: url, headers }, (answer) => {
    res.writeHead(answer.statusCode ?? 500, answer.headers);
    if (!isCut) answer.pipe(res);
    else
      answer.once('data', (piece: Buffer) => {
        res.write(piece.subarray(0, piece.length >> 1), () => res.destroy());
      });
  });
  forwarded.on('error', () => res.destroy());
  req.pipe(forwarded);
}
