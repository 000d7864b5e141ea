import type { AbsentHint, AbsentReason } from '#decision/body-hints.ts';
import type { AttributeFault } from '#decision/payer/attributes.ts';
import type { PlatformName } from '#decision/payer/client-key.ts';
import type { ClientState } from '#decision/payer/client-state.ts';

/** Is told of grants, of reports and of what requests say, to notice when a platform stops reporting. */
export interface ReportsSeen {
  /** A verdict let a requisite be shown; `state` is the one after it. */
  granted(platform: PlatformName, state: ClientState): void;
  /** Something was reported of an order; `state` is the one before it. */
  reported(platform: PlatformName, state: ClientState, orderRef: string, now: number): void;
  /** A request told something of its payer. */
  sent(platform: PlatformName, label: HintLabel, now: number): void;
}

type Field = AbsentHint['field'];

/** A label that is counted: requests, a field or an attribute that was sent, or one that says nothing and why. */
export type HintLabel =
  | 'requests'
  | 'placeholderClients'
  | 'undeclaredAttributes'
  | Field
  | `${Field} ${AbsentReason}`
  | `attribute ${string}`
  | `attribute ${string} ${AttributeFault}`;
