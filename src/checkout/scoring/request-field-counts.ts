import type { Metrics } from '#checkout/metrics/metrics.ts';
import type { ReportingListener } from '#checkout/metrics/reporting-listener.ts';
import { type BodyDevice, isPlaceholderClient } from '#decision/body-hints.ts';
import { summarizeSentAttributes } from '#decision/payer/attributes.ts';
import type { PlatformName } from '#decision/payer/client-key.ts';
import type { ScoreBody, VerdictBody } from '#decision/requests.ts';
import type { RuleSet } from '#decision/rules/rule-set.ts';

interface RequestFieldParts {
  readonly metrics: Pick<Metrics, 'count'>;
  readonly reporting?: Pick<ReportingListener, 'sent'>;
  /** Epoch ms. */
  readonly clock: () => number;
}

type Operation = 'score' | 'verdict';

/** Counts which fields requests send, and which values say nothing about the payer. */
export class RequestFieldCounts {
  readonly #parts: RequestFieldParts;

  constructor(parts: RequestFieldParts) {
    this.#parts = parts;
  }

  verdict(platform: PlatformName, body: VerdictBody, rules: RuleSet): void {
    this.#request('verdict', platform, body.clientIdKey);
    if (body.attributes !== undefined) this.#attributes('verdict', platform, body.attributes, rules);
  }

  score(platform: PlatformName, body: ScoreBody, device: BodyDevice, rules: RuleSet): void {
    this.#request('score', platform, body.clientIdKey);
    this.#device(platform, body, device);
    if (body.attributes !== undefined) this.#attributes('score', platform, body.attributes, rules);
  }

  #request(operation: Operation, platform: PlatformName, clientIdKey: string): void {
    const { metrics, reporting, clock } = this.#parts;
    const now = clock();
    reporting?.sent(platform, 'requests', now);
    if (!isPlaceholderClient(clientIdKey)) return;
    metrics.count('scoring_placeholder_clients_total', { operation });
    reporting?.sent(platform, 'placeholderClients', now);
  }

  #device(platform: PlatformName, { fingerprint, ip }: ScoreBody, { unusableHints }: BodyDevice): void {
    const { metrics, reporting, clock } = this.#parts;
    const now = clock();
    if (ip !== undefined) reporting?.sent(platform, 'ip', now);
    if (fingerprint !== undefined) reporting?.sent(platform, 'fingerprint', now);
    for (const { field, why } of unusableHints) {
      metrics.count('scoring_absent_hints_total', { field, why });
      reporting?.sent(platform, `${field} ${why}`, now);
    }
  }

  /**
   * Counts attributes. The labels are the names that the rule set declares, so that callers cannot create further
   * labels.
   */
  #attributes(
    operation: Operation,
    platform: PlatformName,
    sent: NonNullable<ScoreBody['attributes']>,
    { attributes: declared }: RuleSet,
  ): void {
    const { metrics, reporting, clock } = this.#parts;
    const now = clock();
    const checked = summarizeSentAttributes(declared, sent);
    for (const [attribute, why] of checked.declared) {
      reporting?.sent(platform, `attribute ${attribute}`, now);
      if (why === null) continue;
      metrics.count('scoring_unknown_attributes_total', { attribute, why });
      reporting?.sent(platform, `attribute ${attribute} ${why}`, now);
    }
    for (let other = 0; other < checked.undeclared; other++) {
      metrics.count('scoring_undeclared_attributes_total', { operation });
      reporting?.sent(platform, 'undeclaredAttributes', now);
    }
  }
}
