import { parseArgs } from 'node:util';
import {
  NoAnswerError,
  PlatformClient,
  ScoringClient,
  ScoringError,
  secondsUntil,
  sleepUntil,
  type Verdict,
  waitUntil,
} from '#sdk/client.ts';

/**
 * A checkout from the payer's arrival to the outcome, against a running service:
 *
 * npm run -s example -- --key KEY --owner-key KEY
 *
 * In a project of your own the import is `client-scoring-client`. Issue both keys for the platform `sandbox`, whose
 * ladder has waits of seconds.
 */

const USAGE = `npm run -s example -- --key KEY --owner-key OWNER_KEY [--url URL] [--platform-url URL]
KEY: an access key with score and verdict; OWNER_KEY: one with outcomes and clients; both of the platform sandbox.`;

const { values } = parseArgs({
  options: {
    url: { type: 'string', default: 'http://127.0.0.1:8080' },
    'platform-url': { type: 'string', default: 'http://127.0.0.1:8081' },
    key: { type: 'string', default: '' },
    'owner-key': { type: 'string', default: '' },
    help: { type: 'boolean', default: false },
  },
});

if (values.help) {
  console.log(USAGE);
  process.exit();
}

if (values.key === '' || values['owner-key'] === '') {
  console.error(USAGE);
  process.exit(2);
}

const checkout = new ScoringClient({ baseUrl: values.url, accessKey: values.key });
const owner = new PlatformClient({ baseUrl: values['platform-url'], accessKey: values['owner-key'] });

const clientIdKey = `payer-${crypto.randomUUID()}`;
const payment = { sellPointKey: 'shop-1', clientIdKey, amountRequested: '25.00', toPayCurrency: 'EUR' };

/** Shows the timer until the verdict may be asked for again. */
async function waitOut(moment: Date): Promise<void> {
  console.log(`  the page shows a timer of ${secondsUntil(moment)} s`);
  await sleepUntil(moment);
}

const PRESS_TRIES_MAX = 5;

/** Sends one press of the button. All tries have the same key, so that the service decides once. */
async function pressButton(orderRef: string): Promise<Verdict> {
  const idempotencyKey = crypto.randomUUID();
  for (let number = 1; ; number += 1) {
    try {
      return await checkout.verdict({ ...payment, method: 'card', orderRef }, { idempotencyKey });
    } catch (error) {
      if (!(error instanceof NoAnswerError) || number === PRESS_TRIES_MAX) throw error;
      console.log(`  no answer (${error.message}); the same press is asked about again`);
      await sleepUntil(new Date(Date.now() + number * 1000));
    }
  }
}

/** Asks before a requisite is shown, and again after every wait. Returns the answer to show. */
async function askForRequisite(orderRef: string): Promise<Verdict> {
  for (;;) {
    const answer = await pressButton(orderRef);
    console.log(
      `verdict for ${orderRef}: ${answer.verdict}, "${answer.reason}" (decision ${answer.decisionId})`,
    );
    const moment = waitUntil(answer);
    if (moment === null) return answer;
    await waitOut(moment);
  }
}

async function main(): Promise<void> {
  const score = await checkout.score({ ...payment, selectedMethodKey: 'card', clientHints: { jsOk: true } });
  console.log(`score: ${score.clientGroup}, payment score ${score.paymentScore}, bot ${score.isBot}`);
  if (score.clientGroup === 'BLOCKED' || score.isBot) return console.log('  no payment is offered');

  await askForRequisite('order-1');
  console.log('  a requisite is shown; the payer leaves it unpaid and tries again');
  const { verdict } = await askForRequisite('order-2');
  if (verdict === 'BLOCK') return console.log('  the page shows the support contact');
  console.log('  a requisite is shown, and paid');

  const { result } = await owner.reportOutcome({ clientIdKey, orderRef: 'order-2', outcome: 'PAID' });
  const { clientGroup, paymentScore } = await owner.client(clientIdKey);
  console.log(`outcome ${result}: the payer is ${clientGroup} now, payment score ${paymentScore}`);
}

main().catch((error: unknown) => {
  console.error(error instanceof ScoringError ? `${error.name}: ${error.message}` : error);
  process.exitCode = 1;
});
