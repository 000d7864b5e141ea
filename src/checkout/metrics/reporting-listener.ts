import type { UnusableHint, UnusableHintReason } from '#decision/body-hints.ts';
import type { AttributeFault } from '#decision/payer/attributes.ts';
import type { PlatformName } from '#decision/payer/client-key.ts';
import type { ClientState } from '#decision/payer/client-state.ts';

/** Listens to attempts, outcome reports and the fields of requests, to notice when a platform stops reporting. */
export interface ReportingListener {
  /** Is called when a verdict let a requisite be shown. `state` is the state after the verdict. */
  granted(platform: PlatformName, state: ClientState): void;
  /** Is called when an outcome of an order was reported. `state` is the state before the report. */
  reported(platform: PlatformName, state: ClientState, orderRef: string, now: number): void;
  /** Is called when a request sent a field about its payer. */
  sent(platform: PlatformName, label: RequestCountLabel, now: number): void;
}

type Field = UnusableHint['field'];

/**
 * What is counted: all requests, a field or attribute that was sent, or a field or attribute whose value said
 * nothing. In the last case the label also names the reason.
 */
export type RequestCountLabel =
  | 'requests'
  | 'placeholderClients'
  | 'undeclaredAttributes'
  | Field
  | `${Field} ${UnusableHintReason}`
  | `attribute ${string}`
  | `attribute ${string} ${AttributeFault}`;
