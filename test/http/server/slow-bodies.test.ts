import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { expect } from 'chai';
import { type RunningService, startService } from '../../service/running-service.ts';

/** More than may be under way at once. */
const SLOW_CALLERS = 400;

describe('callers who send their bodies slowly', () => {
  let service: RunningService;
  const sockets: Socket[] = [];

  beforeEach(async () => {
    service = await startService();
  });

  afterEach(async () => {
    for (const socket of sockets.splice(0)) socket.destroy();
    await service.stop();
  });

  it('do not keep others out', async () => {
    const tenant = await service.tenant();
    const { hostname, port } = new URL(tenant.callerUrl);
    for (let n = 0; n < SLOW_CALLERS; n++) {
      const socket = connect(Number(port), hostname);
      socket.on('error', () => {
        // Cut off at the end of the test.
      });
      sockets.push(socket);
      await once(socket, 'connect');
      socket.write(
        `POST /v1/client/verdict HTTP/1.1\r\nHost: x\r\nX-KA-Access-Key: ${tenant.key}\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{`,
      );
    }
    const answer = await tenant.verdict();
    expect(answer.status).to.equal(200);
  });
});
