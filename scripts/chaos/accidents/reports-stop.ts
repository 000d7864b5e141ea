import { setTimeout as delay } from 'node:timers/promises';
import { PLATFORM_SILENCE_LIMITS } from '#decision/payer/platform-silence.ts';
import { call } from '../../../test/service/http-call.ts';
import { atLeast, atMost, never } from '../figure.ts';
import { type ServiceNode, startServiceNode } from '../processes/service-node.ts';
import type { Scenario } from '../scenario.ts';

/**
 * The number of orders that are reported, which is a little higher than the number from which the usual pace is
 * known. As many again are not reported.
 */
const ORDERS = PLATFORM_SILENCE_LIMITS.ordersMin + 10;
const SILENT_SECONDS = (PLATFORM_SILENCE_LIMITS.times * PLATFORM_SILENCE_LIMITS.finestMs) / 1000;
/** Nodes share once a minute what they saw. */
const NOTICED_SECONDS_MAX = SILENT_SECONDS + 65;
const GIVE_UP_MS = 300_000;

/** Lets the platform's own program stop reporting, while callers go on asking and nobody looks. */
export const reportsStop: Scenario = {
  name: 'reports-stop',
  does: "Stops the reports of outcomes while requisites are still granted. The alert's metric must show it after three times the usual time and no earlier, and must clear once reports come again.",
  limitSeconds: 420,
  run: async ({ report }) => {
    const service = await startServiceNode();
    report('every order is reported');
    await placeOrder(service, 'usual', true);
    const early = await stopped(service);
    report('no order is reported any more');
    await placeOrder(service, 'silent', false);
    const noticedSeconds = (await waitForAlert(service, true)) / 1000;
    await placeOrder(service, 'again', true);
    const quietSeconds = (await waitForAlert(service, false)) / 1000;
    return [
      never('alerts while every order is reported', early ? 1 : 0),
      atLeast('time until the alert', noticedSeconds, SILENT_SECONDS - 15, 's'),
      atMost('time until the alert', noticedSeconds, NOTICED_SECONDS_MAX, 's'),
      atMost('time until the alert clears', quietSeconds, 65, 's'),
    ];
  },
};

async function placeOrder({ shop }: ServiceNode, name: string, isReported: boolean): Promise<void> {
  for (let number = 0; number < ORDERS; number++) {
    const [clientIdKey, orderRef] = [`${name}-${number}`, `${name}-${number}`];
    await shop.verdict({ clientIdKey, orderRef });
    if (isReported) await shop.outcome(clientIdKey, orderRef, 'PAID');
  }
}

/** Waits until the metric of the alert has the wanted value. Returns the time that this took, in ms. */
async function waitForAlert(service: ServiceNode, wanted: boolean): Promise<number> {
  const startedMs = performance.now();
  while ((await stopped(service)) !== wanted) {
    if (performance.now() - startedMs > GIVE_UP_MS) return Number.POSITIVE_INFINITY;
    await delay(1_000);
  }
  return performance.now() - startedMs;
}

async function stopped({ platformUrl }: ServiceNode): Promise<boolean> {
  const { body } = await call<string>('GET', `${platformUrl}/metrics`, {});
  return /^scoring_reports_stopped\{platform="[^"]+"\} 1$/m.test(body);
}
