import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import { NoAnswerError, PlatformClient, ScoringClient, type Verdict } from '#sdk/client.ts';
import { listening } from '../servers/listening.ts';
import { type RunningService, startService } from '../service/running-service.ts';
import { REQUEST } from './verdict-request.ts';

interface Exchange {
  readonly res: ServerResponse;
  /** Passes the request to the service, once per call. */
  readonly ask: () => Promise<Response>;
}

type Treatment = (exchange: Exchange) => unknown;

const pass: Treatment = async ({ res, ask }) => {
  const answer = await ask();
  const text = await answer.text();
  res.writeHead(answer.status, [...answer.headers].filter(([name]) => !HOP_BY_HOP.includes(name)).flat());
  res.end(text);
};
const HOP_BY_HOP = ['connection', 'keep-alive', 'transfer-encoding', 'content-length'];

const drop: Treatment = ({ res }) => res.socket?.destroy();
const refuse: Treatment = ({ res }) => res.writeHead(503, { 'Retry-After': '0' }).end();

/** The faults, each before or after the service has decided. */
const TROUBLES: readonly Treatment[] = [
  drop,
  async (exchange) => {
    await exchange.ask();
    drop(exchange);
  },
  // Decides and hangs.
  ({ ask }) => ask(),
  async ({ res, ask }) => {
    const text = await (await ask()).text();
    res.writeHead(200, { 'Content-Type': 'application/json', 'Content-Length': text.length });
    res.write(text.slice(0, text.length / 2), () => res.socket?.destroy());
  },
  refuse,
  async (exchange) => {
    await exchange.ask();
    refuse(exchange);
  },
  // The network sends it twice.
  async (exchange) => {
    await exchange.ask();
    await pass(exchange);
  },
];

/** Three of ten requests meet a fault, all kinds in turn. */
function treatmentOf(number: number): Treatment {
  const trouble = [2, 5, 8].indexOf(number % 10);
  if (trouble === -1) return pass;
  return TROUBLES[(Math.floor(number / 10) * 3 + trouble) % TROUBLES.length] ?? pass;
}

/** A network between a client and one listener of the service. */
class Network {
  readonly #server: Server;
  requests = 0;

  constructor(target: () => string, treatments: (number: number) => Treatment) {
    this.#server = createServer(async (req, res) => {
      const body = await bodyOf(req);
      const treatment = treatments(this.requests++);
      const headers = Object.entries(req.headersDistinct).flatMap(([name, values = []]) =>
        name === 'host' || HOP_BY_HOP.includes(name)
          ? []
          : values.map((value): [string, string] => [name, value]),
      );
      const ask = () => fetch(target() + req.url, { method: req.method ?? 'GET', headers, body });
      // Some treatments close the connection.
      await Promise.resolve(treatment({ res, ask })).catch(() => res.socket?.destroy());
    });
  }

  open(): Promise<string> {
    return listening(this.#server);
  }

  close(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }
}

async function bodyOf(req: IncomingMessage): Promise<string> {
  const parts: Buffer[] = [];
  for await (const part of req) parts.push(part);
  return Buffer.concat(parts).toString();
}

const IMPATIENT = { timeoutMs: 1200, attemptTimeoutMs: 400, requestsPerSecondMax: 0 };

describe('a network that fails three of ten requests', () => {
  let service: RunningService;
  let key: string;
  let callers: Network;
  let owners: Network;
  let scoring: ScoringClient;
  let platform: PlatformClient;
  before(async () => {
    service = await startService();
    key = (await service.tenant()).key;
    callers = new Network(() => service.application.callerUrl, treatmentOf);
    owners = new Network(() => service.application.platformUrl, treatmentOf);
    scoring = new ScoringClient({ ...IMPATIENT, accessKey: key, baseUrl: await callers.open() });
    platform = new PlatformClient({ ...IMPATIENT, accessKey: key, baseUrl: await owners.open() });
  });
  after(async () => {
    callers.close();
    owners.close();
    await service.stop();
  });

  /** One press of the button: repeated with the same key until there is an answer. */
  async function press(clientIdKey: string, idempotencyKey: string): Promise<Verdict> {
    for (;;) {
      try {
        return await scoring.verdict({ ...REQUEST, clientIdKey }, { idempotencyKey });
      } catch (error) {
        if (!(error instanceof NoAnswerError)) throw error;
        expect(error.idempotencyKey).to.equal(idempotencyKey);
        await sleep(100);
      }
    }
  }

  it('climbs one step of the ladder per press, and loses no verdict', async () => {
    const presses = Array.from({ length: 60 }, (_, number) => ({ payer: `payer-${number % 20}`, number }));
    const answers = await Promise.all(presses.map(({ payer, number }) => press(payer, `press-${number}`)));
    const told = answers.map(({ decisionId }) => decisionId);
    expect(new Set(told).size).to.equal(presses.length);
    const payers = [...new Set(presses.map(({ payer }) => payer))];
    const tenant = new PlatformClient({ accessKey: key, baseUrl: service.application.platformUrl });
    const views = await Promise.all(payers.map((payer) => tenant.client(payer)));
    expect(views.map(({ decisionCount }) => decisionCount)).to.deep.equal(payers.map(() => 3));
    const decided = views.flatMap(({ decisions }) => decisions.map(({ decisionId }) => decisionId));
    expect(decided.toSorted()).to.deep.equal(told.toSorted());
    expect(callers.requests).to.be.above(presses.length);
  });

  it('loses no report of a payment', async () => {
    const reports = Array.from({ length: 6000 }, (_, number) => ({
      clientIdKey: `buyer-${number % 20}`,
      orderRef: `order-${number}`,
      outcome: 'PAID' as const,
    }));
    let told = 0;
    while (told < reports.length) {
      try {
        for await (const reported of platform.reportOutcomes(reports.slice(told), { timeoutMs: 1000 })) {
          expect(reported).to.have.property('result');
          told += 1;
        }
      } catch (error) {
        if (!(error instanceof NoAnswerError)) throw error;
      }
    }
    const tenant = new PlatformClient({ accessKey: key, baseUrl: service.application.platformUrl });
    const counts = Array.from({ length: 20 }, async (_, number) => {
      const { outcomes } = await tenant.client(`buyer-${number}`);
      return outcomes.paidCount;
    });
    expect(await Promise.all(counts)).to.deep.equal(counts.map(() => 300));
  });
});
