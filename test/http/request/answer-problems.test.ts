import { once } from 'node:events';
import { connect } from 'node:net';
import { expect } from 'chai';
import { serviceOfSuite } from '../../service/running-service.ts';
import { rawStatus } from '../raw-exchange.ts';

const BLOCK = 'x'.repeat(64 * 1024);
/** Far more than the system buffers between two sockets. */
const UPLOAD_BLOCKS = 2_000;

describe('a refusal while the body is still being sent', () => {
  const { service } = serviceOfSuite();

  /** Sends an endless body in chunks for as long as it is read; gives the answer, and how much was sent. */
  const upload = async (url: string, path: string, headers: readonly string[]) => {
    const { hostname, port } = new URL(url);
    const socket = connect(Number(port), hostname);
    let answer = '';
    let ended = false;
    socket.setEncoding('utf8').on('data', (text: string) => {
      answer += text;
    });
    // A reset ends the upload as a close does.
    socket.on('error', () => {});
    const closed = new Promise<void>((resolve) => {
      socket.once('close', () => {
        ended = true;
        resolve();
      });
    });
    const head = [`POST ${path} HTTP/1.1`, 'Host: x', 'Transfer-Encoding: chunked', ...headers];
    socket.write(`${head.join('\r\n')}\r\n\r\n`);
    let blocks = 0;
    for (; blocks < UPLOAD_BLOCKS && !ended; blocks++) {
      const taken = socket.write(`${BLOCK.length.toString(16)}\r\n${BLOCK}\r\n`);
      if (!taken) await Promise.race([new Promise((resolve) => socket.once('drain', resolve)), closed]);
    }
    socket.destroy();
    return { answer, blocks, ended };
  };

  it('reads no further when the key is unknown', async () => {
    const { platformUrl } = service.application;
    const { answer, blocks, ended } = await upload(platformUrl, '/v1/platform/outcomes', [
      'Content-Type: application/x-ndjson',
      'X-KA-Access-Key: wrong',
    ]);
    expect(ended, `${blocks} blocks`).to.equal(true);
    expect(blocks).to.be.below(UPLOAD_BLOCKS);
    expect([401, null]).to.include(rawStatus(answer));
  });

  it('says in the answer that the connection is closed', async () => {
    const { hostname, port } = new URL(service.application.platformUrl);
    const socket = connect(Number(port), hostname);
    socket.write('POST /v1/platform/outcomes HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n{');
    const [answer]: Buffer[] = await once(socket, 'data');
    expect(rawStatus(String(answer))).to.equal(401);
    expect(String(answer)).to.match(/\r\nConnection: close\r\n/i);
    socket.destroy();
  });

  it('keeps the connection for the next request when little is missing', async () => {
    const { hostname, port } = new URL(service.application.platformUrl);
    const socket = connect(Number(port), hostname);
    socket.write('POST /v1/platform/outcomes HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n');
    const [first]: Buffer[] = await once(socket, 'data');
    expect(rawStatus(String(first))).to.equal(401);
    socket.write('{}GET /livez HTTP/1.1\r\nHost: x\r\n\r\n');
    const [second]: Buffer[] = await once(socket, 'data');
    expect(rawStatus(String(second))).to.equal(200);
    socket.destroy();
  });
});
