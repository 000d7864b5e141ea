import type { AbsentHint, AbsentReason } from '#decision/body-hints.ts';
import type { AttributeFault } from '#decision/payer/attributes.ts';
import type { PlatformName } from '#decision/payer/client-key.ts';
import type { ClientState } from '#decision/payer/client-state.ts';

/** Gets grants, outcome reports and the fields of requests, to notice when a platform stops reporting. */
export interface ReportsSeen {
  /** A verdict let a requisite be shown. `state` is the state after it. */
  granted(platform: PlatformName, state: ClientState): void;
  /** An outcome of an order was reported. `state` is the state before it. */
  reported(platform: PlatformName, state: ClientState, orderRef: string, now: number): void;
  /** A request sent a field about its payer. */
  sent(platform: PlatformName, label: HintLabel, now: number): void;
}

type Field = AbsentHint['field'];

/**
 * A label to count: requests, a field or an attribute that was sent, or a field or an attribute whose value says
 * nothing, with the reason.
 */
export type HintLabel =
  | 'requests'
  | 'placeholderClients'
  | 'undeclaredAttributes'
  | Field
  | `${Field} ${AbsentReason}`
  | `attribute ${string}`
  | `attribute ${string} ${AttributeFault}`;
