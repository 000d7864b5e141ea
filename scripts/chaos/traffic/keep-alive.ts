import { connect, type Socket } from 'node:net';

/** An HTTP answer as far as the fault tests read it. */
export interface RawAnswer {
  readonly status: number;
  /** The headers, with names in lower case. */
  readonly headers: ReadonlyMap<string, string>;
  readonly body: string;
}

/**
 * The result of a request. `no answer` means that the request may have been sent, and `not sent` that it certainly
 * was not.
 */
export type RawAnswerOrFailure = RawAnswer | 'no answer' | 'not sent';

const END_OF_HEAD = Buffer.from('\r\n\r\n');

interface Waiting {
  readonly resolve: (exchange: RawAnswerOrFailure) => void;
  readonly timer: NodeJS.Timeout;
}

/**
 * A connection that carries one request after the other, and reconnects after it was lost. It writes HTTP by hand,
 * because a load generator that costs more than the service would mostly measure itself.
 */
export class KeepAliveConnection {
  readonly #host: string;
  readonly #port: number;
  #socket: Socket | null = null;
  #received: Buffer = Buffer.alloc(0);
  #waiting: Waiting | null = null;

  constructor(url: string) {
    const { hostname, port } = new URL(url);
    this.#host = hostname;
    this.#port = Number(port);
  }

  /**
   * Sends the request and waits up to `timeoutMs` for the answer. If no answer has come by then, closes the
   * connection.
   */
  async ask(request: string | Buffer, timeoutMs: number): Promise<RawAnswerOrFailure> {
    const socket = this.#socket ?? (await this.#open());
    if (socket === null) return 'not sent';
    const { promise, resolve } = Promise.withResolvers<RawAnswerOrFailure>();
    const timer = setTimeout(() => this.close(), timeoutMs);
    this.#waiting = { resolve, timer };
    socket.write(request);
    return promise;
  }

  /** Closes the connection, also in the middle of a request. */
  close(): void {
    const socket = this.#socket;
    this.#socket = null;
    socket?.destroy();
    this.#received = Buffer.alloc(0);
    this.#settle('no answer');
  }

  #open(): Promise<Socket | null> {
    const { promise, resolve } = Promise.withResolvers<Socket | null>();
    const socket = connect({ host: this.#host, port: this.#port, noDelay: true });
    socket.once('connect', () => {
      this.#socket = socket;
      resolve(socket);
    });
    socket.on('data', (chunk) => this.#receive(typeof chunk === 'string' ? Buffer.from(chunk) : chunk));
    socket.on('error', () => resolve(null));
    socket.on('close', () => {
      resolve(null);
      if (this.#socket === socket) this.close();
    });
    return promise;
  }

  #receive(chunk: Buffer): void {
    this.#received = this.#received.length === 0 ? chunk : Buffer.concat([this.#received, chunk]);
    const answer = parseAnswer(this.#received);
    if (answer === null) return;
    this.#received = Buffer.alloc(0);
    if (answer.headers.get('connection') === 'close') this.#forget();
    this.#settle(answer);
  }

  /** Forgets a connection that the server closes. The next request opens another. */
  #forget(): void {
    this.#socket?.end();
    this.#socket = null;
  }

  #settle(exchange: RawAnswerOrFailure): void {
    const waiting = this.#waiting;
    this.#waiting = null;
    if (waiting === null) return;
    clearTimeout(waiting.timer);
    waiting.resolve(exchange);
  }
}

/**
 * Parses an answer. Returns null until it is complete. Every answer of the service to a POST or GET has a
 * Content-Length.
 */
export function parseAnswer(received: Buffer): RawAnswer | null {
  const headEnd = received.indexOf(END_OF_HEAD);
  if (headEnd === -1) return null;
  const [statusLine = '', ...lines] = received.toString('latin1', 0, headEnd).split('\r\n');
  const headers = new Map(
    lines.map((line) => {
      const colon = line.indexOf(':');
      return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
    }),
  );
  const bodyStart = headEnd + END_OF_HEAD.length;
  const length = Number(headers.get('content-length') ?? 0);
  if (received.length < bodyStart + length) return null;
  return {
    status: Number(statusLine.split(' ')[1]),
    headers,
    body: received.toString('utf8', bodyStart, bodyStart + length),
  };
}
