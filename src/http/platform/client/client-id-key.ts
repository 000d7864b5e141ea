import {
  type Asked,
  type Gated,
  type KeyedSpec,
  type Operation,
  operation,
} from '../../operation/operation.ts';
import { requiredText } from '../../operation/parameters.ts';
import type { Grant } from '../../request/authenticate.ts';

/** The client that a request is about. Its id may be `..` or hold a slash, which no path carries unchanged. */
const CLIENT_ID_KEY = requiredText('clientIdKey', 'As the caller chose it');

/** A request about one client. */
export type AskedAboutClient<Body> = Asked<Body> & { readonly clientIdKey: string };

/** An operation about one client; its path and its parameter for the client are added. */
interface ClientSpec<Parts, Body>
  extends Omit<KeyedSpec<Parts, Body>, 'path' | 'tag' | 'answer' | 'gate' | 'grant'> {
  readonly below: '' | '/history' | '/links' | '/export' | '/binding' | '/override' | '/wait/end';
  readonly grant: Grant;
  readonly gate?: (asked: AskedAboutClient<Body>, parts: Parts) => Promise<Gated>;
  readonly answer: (asked: AskedAboutClient<Body>, parts: Parts) => Promise<unknown>;
}

/** Declares an operation about the client that the query names. */
export function clientOperation<Parts, Body = never>(spec: ClientSpec<Parts, Body>): Operation<Parts> {
  const { below, parameters = [], answer, gate, ...rest } = spec;
  const aboutClient = (asked: Asked<Body>) => ({ ...asked, clientIdKey: CLIENT_ID_KEY.read(asked.ctx) });
  return operation<Parts, Body>({
    ...rest,
    path: `/v1/platform/client${below}`,
    tag: 'Clients',
    parameters: [CLIENT_ID_KEY, ...parameters],
    ...(gate === undefined
      ? {}
      : { gate: async (asked: Asked<Body>, parts: Parts) => gate(aboutClient(asked), parts) }),
    answer: async (asked, parts) => answer(aboutClient(asked), parts),
  });
}
