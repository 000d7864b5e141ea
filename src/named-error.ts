/** An error that is called after its class, in stacks and wherever it is told by name. */
export class NamedError extends Error {
  override get name(): string {
    return this.constructor.name;
  }
}
