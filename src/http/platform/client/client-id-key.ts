import {
  type Asked,
  type Declared,
  type Gated,
  type KeyedSpec,
  operation,
} from '../../operation/operation.ts';
import { requiredText } from '../../operation/parameters.ts';

/** The client that a request is about. Its id may be `..` or hold a slash, which no path carries unchanged. */
const CLIENT_ID_KEY = requiredText('clientIdKey', 'As the caller chose it');

export type AskedAboutClient<Body> = Asked<Body> & { readonly clientIdKey: string };

/** An operation about one client; its parameter for the client is added. */
interface ClientSpec<Parts, Body> extends Omit<KeyedSpec<Parts, Body>, 'answer' | 'gate'> {
  readonly gate?: (asked: AskedAboutClient<Body>, parts: Parts) => Promise<Gated>;
  readonly answer: (asked: AskedAboutClient<Body>, parts: Parts) => Promise<unknown>;
}

/** Declares an operation about the client that the query names. */
export function clientOperation<Parts, Body = never>(spec: ClientSpec<Parts, Body>): Declared<Parts> {
  const { parameters = [], answer, gate, ...rest } = spec;
  const aboutClient = (asked: Asked<Body>) => ({ ...asked, clientIdKey: CLIENT_ID_KEY.read(asked.ctx) });
  return operation<Parts, Body>({
    ...rest,
    parameters: [CLIENT_ID_KEY, ...parameters],
    ...(gate === undefined
      ? {}
      : { gate: async (asked: Asked<Body>, parts: Parts) => gate(aboutClient(asked), parts) }),
    answer: async (asked, parts) => answer(aboutClient(asked), parts),
  });
}
