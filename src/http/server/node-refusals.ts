import { randomUUID } from 'node:crypto';
import { type IncomingMessage, type Server, ServerResponse, STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import type { HttpProblem } from '../request/problems.ts';
import {
  HEADERS_TOO_LARGE,
  NO_HTTP,
  problemBody,
  TOO_SLOW,
  UNKNOWN_EXPECTATION,
} from '../request/refusals.ts';
import { requestIdOf, sharedHeaders } from './request-log.ts';

/**
 * Gives the refusals that Node answers by itself a problem like all others: what is not HTTP (400), comes too
 * slowly (408), expects what nobody offers (417), or has headers too large (431). The server must be made with
 * `requireHostHeader: false`; a request without its Host is refused by `hasOneHost`.
 */
export function answerNodeRefusals(server: Server): void {
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Duplex) => {
    const canAnswer = socket.writable && !isBeingAnswered(socket) && error.code !== 'ECONNRESET';
    if (canAnswer) socket.end(rawAnswer(problemOf(error.code)), () => socket.destroy());
    else socket.destroy(error);
  });
  server.on('checkExpectation', (req, res) => refuse(req, res, UNKNOWN_EXPECTATION.problem()));
}

/** Refuses a request of HTTP/1.1 that does not name one host, as RFC 9112 demands; false then. */
export function hasOneHost(req: IncomingMessage, res: ServerResponse): boolean {
  const hosts = req.headersDistinct['host'] ?? [];
  if (req.httpVersion !== '1.1' || hosts.length === 1) return true;
  refuse(req, res, NO_HTTP.problem());
  return false;
}

function problemOf(code: string | undefined): HttpProblem {
  switch (code) {
    case 'HPE_HEADER_OVERFLOW':
      return HEADERS_TOO_LARGE.problem();
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return TOO_SLOW.problem();
    default:
      return NO_HTTP.problem();
  }
}

/** An answer that has begun cannot be followed by another one. */
function isBeingAnswered(socket: Duplex): boolean {
  const answer: unknown = Reflect.get(socket, '_httpMessage');
  return answer instanceof ServerResponse && answer.headersSent;
}

/** Answers with a problem where nothing else has looked at the request, and nothing is to be logged of it. */
export function refuse(req: IncomingMessage, res: ServerResponse, problem: HttpProblem): void {
  const requestId = requestIdOf(req);
  const body = JSON.stringify(problemBody(problem, requestId));
  res.writeHead(problem.status, headersOf(problem, requestId, body));
  res.end(body);
}

/** There may be no request to read an id from, and no response to write to. */
function rawAnswer(problem: HttpProblem): string {
  const requestId = randomUUID();
  const body = JSON.stringify(problemBody(problem, requestId));
  const lines = Object.entries(headersOf(problem, requestId, body)).map(
    ([name, value]) => `${name}: ${value}`,
  );
  const start = `HTTP/1.1 ${problem.status} ${STATUS_CODES[problem.status]}`;
  return `${[start, ...lines].join('\r\n')}\r\n\r\n${body}`;
}

function headersOf(problem: HttpProblem, requestId: string, body: string): Record<string, string> {
  return {
    ...problem.headers,
    ...sharedHeaders(requestId),
    'Content-Type': 'application/problem+json',
    'Content-Length': String(Buffer.byteLength(body)),
  };
}
