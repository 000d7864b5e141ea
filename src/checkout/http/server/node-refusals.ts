import { randomUUID } from 'node:crypto';
import { type IncomingMessage, type Server, type ServerResponse, STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import { createIncompleteBodyProblem } from '#checkout/http/request/body.ts';
import type { HttpProblem } from '#checkout/http/request/problems.ts';
import {
  HEADERS_TOO_LARGE,
  NOT_HTTP,
  REQUEST_TIMED_OUT,
  toProblemBody,
  UNKNOWN_EXPECTATION,
} from '#checkout/http/request/refusals.ts';
import { findOpenAnswer } from './half-close.ts';
import { createSharedHeaders, getRequestId } from './request-log.ts';

/**
 * Sends a problem for each request that Node itself refuses: not HTTP or broken off (400), too slow (408), unknown
 * `Expect` (417), headers too large (431). The server must be made with `requireHostHeader: false`, because
 * `hasSingleHostOrAnswers` refuses a request without a Host.
 */
export function answerNodeRefusals(server: Server): void {
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Duplex) => {
    const answer = findOpenAnswer(socket);
    // An answer that has begun cannot be followed by another one.
    const canAnswer = socket.writable && answer?.headersSent !== true && error.code !== 'ECONNRESET';
    if (!canAnswer) socket.destroy(error);
    else {
      const requestId = answer === null ? randomUUID() : getRequestId(answer.req);
      const isWithinBody = answer !== null && !answer.req.complete;
      socket.end(formatRawAnswer(toProblem(error.code, isWithinBody), requestId), () => socket.destroy());
    }
  });
  server.on('checkExpectation', (req, res) => answerWithProblem(req, res, UNKNOWN_EXPECTATION.problem()));
}

/**
 * Refuses an HTTP/1.1 request that does not name exactly one host, as RFC 9112 demands. Returns false if it refused
 * the request.
 */
export function hasSingleHostOrAnswers(req: IncomingMessage, res: ServerResponse): boolean {
  const hosts = req.headersDistinct['host'] ?? [];
  if (req.httpVersion !== '1.1' || hosts.length === 1) return true;
  answerWithProblem(req, res, NOT_HTTP.problem());
  return false;
}

function toProblem(code: string | undefined, isWithinBody: boolean): HttpProblem {
  switch (code) {
    case 'HPE_INVALID_EOF_STATE':
      return isWithinBody ? createIncompleteBodyProblem() : NOT_HTTP.problem();
    case 'HPE_HEADER_OVERFLOW':
      return HEADERS_TOO_LARGE.problem();
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return REQUEST_TIMED_OUT.problem();
    default:
      return NOT_HTTP.problem();
  }
}

/** Answers with a problem before any other code sees the request. Nothing is logged. */
export function answerWithProblem(req: IncomingMessage, res: ServerResponse, problem: HttpProblem): void {
  const requestId = getRequestId(req);
  const body = JSON.stringify(toProblemBody(problem, requestId));
  res.writeHead(problem.status, createProblemHeaders(problem, requestId, body));
  res.end(body);
}

/** Formats a whole answer as text. It is written to the socket, because Node may have created no response. */
function formatRawAnswer(problem: HttpProblem, requestId: string): string {
  const body = JSON.stringify(toProblemBody(problem, requestId));
  const headers = { ...createProblemHeaders(problem, requestId, body), Connection: 'close' };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  const start = `HTTP/1.1 ${problem.status} ${STATUS_CODES[problem.status]}`;
  return `${[start, ...lines].join('\r\n')}\r\n\r\n${body}`;
}

function createProblemHeaders(problem: HttpProblem, requestId: string, body: string): Record<string, string> {
  return {
    ...problem.headers,
    ...createSharedHeaders(requestId),
    'Content-Type': 'application/problem+json',
    'Content-Length': String(Buffer.byteLength(body)),
  };
}
