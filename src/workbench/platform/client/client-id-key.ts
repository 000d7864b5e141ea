import {
  type DeclaredOperation,
  declareOperation,
  type GrantedRequest,
  type KeyedOperationSpec,
} from '#checkout/http/operation/operation.ts';
import {
  type ApprovalOperationSpec,
  declareApprovalOperation,
  type ProposerParts,
} from '#workbench/platform/approval-operation.ts';
import { requiredTextParameter } from '#workbench/platform/parameters.ts';

/**
 * The parameter for the client that a request is about. The client is in the query, because an id may be `..` or
 * contain a slash, which no path carries unchanged.
 */
const CLIENT_ID_KEY = requiredTextParameter('clientIdKey', 'As the caller chose it');

export type GrantedClientRequest<Body> = GrantedRequest<Body> & { readonly clientIdKey: string };

/** An operation about one client. The parameter for the client is added to it. */
interface ClientSpec<Parts, Body> extends Omit<KeyedOperationSpec<Parts, Body>, 'answer'> {
  readonly answer: (asked: GrantedClientRequest<Body>, parts: Parts) => Promise<unknown>;
}

interface GatedClientSpec<Parts, Body> extends ClientSpec<Parts, Body> {
  readonly gate: (
    asked: GrantedClientRequest<Body>,
    parts: Parts,
  ) => ReturnType<ApprovalOperationSpec<Parts, Body>['readChange']>;
}

/** Declares an operation about the client that the query names. */
export function declareClientOperation<Parts, Body = never>(
  spec: ClientSpec<Parts, Body>,
): DeclaredOperation<Parts> {
  return declareOperation(addClientParameter(spec));
}

/** Declares an operation about a client whose change another person may have to approve. */
export function declareClientApprovalOperation<Parts extends ProposerParts, Body = never>({
  gate,
  ...spec
}: GatedClientSpec<Parts, Body>): DeclaredOperation<Parts> {
  return declareApprovalOperation({
    ...addClientParameter(spec),
    readChange: async (asked: GrantedRequest<Body>, parts: Parts) => gate(addClientIdKey(asked), parts),
  });
}

function addClientParameter<Parts, Body>({
  parameters = [],
  answer,
  ...rest
}: ClientSpec<Parts, Body>): KeyedOperationSpec<Parts, Body> {
  return {
    ...rest,
    parameters: [CLIENT_ID_KEY, ...parameters],
    answer: async (asked, parts) => answer(addClientIdKey(asked), parts),
  };
}

function addClientIdKey<Body>(asked: GrantedRequest<Body>): GrantedClientRequest<Body> {
  return { ...asked, clientIdKey: CLIENT_ID_KEY.read(asked.ctx) };
}
