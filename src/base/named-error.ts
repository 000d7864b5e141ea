/** What is expected to go wrong, with a message for people; it is called after its class. A bug is any other error. */
export class NamedError extends Error {
  override get name(): string {
    return this.constructor.name;
  }
}
